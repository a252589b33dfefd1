"""Trees, drafts, hints and prefixes through baselines/grpo.py: a few steps of each, and what they report."""

import pytest

from toolenvs.errors import ConfigError
from toolenvs.rollout import read_trajectories
from toolenvs.tokens import Mask
from toolenvs.train.metrics import read_metrics

SETTINGS = {
    "steps": 2,
    "prompts": 3,
    "samples": 3,
    "lr": 1e-3,
    "muon_lr": 0.006,
    "checkpoint_every": 1,
    "test_every": 2,
    "trajectories_every": 1,
}
HINTS = {"template": "{question}\n{hint}\n", "least_chars": 1}


@pytest.fixture
def run(training, small):
    """`run(name, **changes)`: train on three tasks, and give the folder."""
    return training("grpo", **SETTINGS, env=small["env"] | {"tasks.size": 3})


def steps_of(folder):
    return read_metrics(folder)[1:]


def episodes_of(folder, step):
    return list(read_trajectories(folder / f"trajectories/step-{step:06d}.jsonl"))


@pytest.mark.parametrize("estimator", ["tree_rl", "segment"])
def test_trees(run, estimator):
    options = {"points": 1, "branches": 2, "rule": "uniform"}
    folder = run("tree", rollout="tree", rollout_options=options, estimator=estimator, filter="every", samples=2)
    for line in steps_of(folder):
        assert line["leaves"] == 3 * 2 * 3
        assert line["gradient_norm"] > 0
        assert line["groups"] == 3
    leaves = [leaf for step in (1, 2) for leaf in episodes_of(folder, step)]
    shared = [leaf for leaf in leaves if leaf.sampled_by]
    assert all((Mask.UNSCORED in leaf.tokens.mask) for leaf in shared)
    assert bool(shared) == any(line["shared_tokens"] > 0 for line in steps_of(folder))


def test_drafts_save_tokens_and_a_resumed_run_gives_the_same_numbers(run, resumed):
    settings = {"rollout": "spec_rl", "steps": 3, "checkpoint_every": 2, "filter": "every"}
    whole, _ = resumed(run, **settings)
    first, *later = steps_of(whole)
    assert first["drafted"] == first["reused_tokens"] == 0
    for line in later:
        assert line["drafted"] == 1
        assert 0 < line["reused_share"] <= 1
        assert line["gradient_norm"] > 0


def test_questa(run):
    folder = run("questa", guidance="questa", guidance_options={"solutions": "extra:program", **HINTS}, filter="every")
    assert [line["hint_share"] for line in steps_of(folder)] == [0.5, 0.25]
    for line in steps_of(folder):
        assert line["hinted"] == line["helped"] == 1
        assert "success" not in line
        assert 0 <= line["hinted_success"] <= 1
        assert line["gradient_norm"] > 0
    assert {one.guidance for one in episodes_of(folder, 1)} == {"hint"}


def test_guide(run):
    options = {"solutions": "extra:program", **HINTS}
    folder = run("guide", guidance="guide", guidance_options=options, samples=1, filter="every", prompts=6)
    lines = steps_of(folder)
    assert any(0 < line["hinted"] < 1 for line in lines)
    assert all(line["hinted"] == line["unsolved"] for line in lines)
    for step, line in enumerate(lines, start=1):
        episodes = episodes_of(folder, step)
        helped = [one for one in episodes if one.guidance]
        assert len(episodes) == 6 + len(helped)
        assert len(helped) == round(6 * line["hinted"])
        assert line.get("helped", 0) == pytest.approx(len(helped) / len(episodes))
        assert line["success"] == pytest.approx(1 - line["unsolved"])  # one episode of each without a hint
        prompts = {one.group: one.transcript.segments[0].text for one in episodes if not one.guidance}
        assert all(one.transcript.segments[0].text == prompts[one.group] for one in helped)


def test_prefix_rl(run):
    options = {"solutions": "scripted", "prefixed": 1.0}
    folder = run("prefix", guidance="prefix_rl", guidance_options=options, filter="every")
    for line in steps_of(folder):
        assert line["prefixed"] == 1
        assert line["prefix_tokens"] > 0
        assert line["gradient_norm"] > 0
    for one in episodes_of(folder, 2):
        assert one.guidance == "prefix"
        assert Mask.UNSCORED in one.tokens.mask


def test_a_name_that_is_none_is_refused(run):
    with pytest.raises(ConfigError, match="there is no 'trees'.*did you mean 'tree'"):
        run("wrong", rollout="trees")
    with pytest.raises(ConfigError, match="points = 0 is out of range"):
        run("wrong", rollout="tree", rollout_options={"points": 0})
    with pytest.raises(ConfigError, match="takes prefixes"):
        run("wrong", rollout="spec_rl", guidance="prefix_rl")
