"""A training run whose episodes are rolled out by Ray workers, next to one that does it itself."""

import pytest

from toolenvs.errors import ConfigError
from toolenvs.train.metrics import read_metrics, without_times
from toolenvs.train.record import read_settings

SETTINGS = {"steps": 2, "prompts": 4, "samples": 2, "filter": "every", "lr": 1e-4, "test_tasks": 8, "test_every": 2}


@pytest.fixture
def run(load_script, folder, spec, tmp_path):
    """`run(name, **changes)`: train, and give the folder."""
    grpo = load_script("grpo")

    def train(name, **changes):
        output = tmp_path / name
        own = {"output": str(output), "model": folder, "page": spec.page, "env": spec.env, "max_turn_tokens": 8}
        grpo.main(grpo.Args(**{**SETTINGS, **own, **changes}))
        return output

    return train


@pytest.mark.heavy
@pytest.mark.filterwarnings("default")
def test_a_run_with_workers_has_the_numbers_of_one_without(run):
    alone = [without_times(line) for line in read_metrics(run("alone"))]
    folder = run("workers", workers=1, worker_episodes=4)
    lines = [without_times(line) for line in read_metrics(folder)]
    assert [line["step"] for line in lines] == [0, 1, 2]
    for one, other in zip(lines, alone, strict=True):
        assert one.pop("workers_replaced", 0) == 0
        pushed = {name: one.pop(name) for name in ("engine_mismatch", "engine_mismatch_max") if name in one}
        assert one == pytest.approx(other, abs=1e-3)
        assert all(value < 1e-3 for value in pushed.values())
    assert read_settings(folder)["versions"]["ray"]
    assert (folder / "model/model.safetensors").exists()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"workers": 2, "engine_url": "http://127.0.0.1:1"}, "engine_url = .* are both set"),
        ({"workers": -1}, "workers is -1"),
        ({"workers": 1, "worker_episodes": 0}, "worker_episodes 0"),
        ({"workers": 1, "engine": "vlm"}, "did you mean 'vllm'"),
    ],
)
def test_settings_that_do_not_go_together_are_told_before_anything_starts(run, changes, told):
    with pytest.raises(ConfigError, match=told):
        run("wrong", **changes)


def test_a_missing_ray_is_named_with_its_extra(run, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"toolenvs\[ray\]"):
        run("without", workers=1)
