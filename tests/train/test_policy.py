import pytest

from toolenvs.errors import ConfigError
from toolenvs.train.policy import load_policy
from toolenvs.train.tiny import base


@pytest.fixture
def brief_base(monkeypatch, tmp_path):
    """A base phase of one step, in an empty cache; gives the list of folders that were trained into."""
    trained = []
    train = base.train_base

    def brief(folder, **options):
        trained.append(folder)
        return train(folder, steps=1, **options)

    monkeypatch.setattr(base, "train_base", brief)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return trained


def test_tiny_is_trained_once_and_kept_whole(brief_base, tmp_path):
    steps = []
    model, tokenizer = load_policy("tiny", progress=lambda step, loss: steps.append(step))
    load_policy("tiny")
    assert len(brief_base) == 1
    assert steps == [1]
    assert model.config.vocab_size == len(tokenizer)
    # Trained under another name and renamed: what stands in the cache is never half a policy.
    assert [path.name for path in (tmp_path / "toolenvs").iterdir()] == [f"tiny-base-{base.fingerprint()}"]
    assert not brief_base[0].exists()


def test_a_folder_without_a_policy_is_refused_by_name(tmp_path):
    with pytest.raises(ConfigError, match="no policy can be loaded from"):
        load_policy(str(tmp_path))
