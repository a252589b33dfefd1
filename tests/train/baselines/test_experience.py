"""Three steps of GRPO with each way to choose tasks, to replay episodes and to imitate what none of them solves."""

import pytest

from toolenvs.train.metrics import read_metrics
from toolenvs.train.policy import load_policy
from toolenvs.train.replay import names

SETTINGS = {"steps": 3, "prompts": 4, "samples": 2, "lr": 1e-3, "checkpoint_every": 2, "test_every": 3}
REPO = {"cache": 4, "min_cached": 2, "replays": 2}
ALIKE = [name for name in names() if name.startswith("repo_") and name != "repo_variance"]
"""They differ in what they pick only, which has tests of its own."""
ALL = {
    "selector": "dots",
    "selector_options": {"reference": 4, "interval": 2, "tau": 0.1},
    "replay": "exgrpo",
    "relift": True,
    "relift_options": {"size": 2, "lr": 1e-3},
    "filter": "every",
    "prompts": 8,
}


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def run(training, small):
    """`run(name, **changes)`: train on few tasks, and give the folder."""
    return training("grpo", **SETTINGS, env=small["env"] | {"tasks.size": 6}, test_tasks=2)


@pytest.mark.parametrize(
    "choice",
    [
        {"selector": "hard_focus", "selector_options": {"min_tasks": 3}, "filter": "band", "filter_low": 0.4},
        {"selector": "curriculum", "filter": "rest"},
        {"selector": "dots", "selector_options": {"reference": 3, "interval": 1}, "replay": "dots"},
        {"replay": "repo_variance", "replay_options": REPO, "filter": "every"},
        *(
            pytest.param({"replay": name, "replay_options": REPO, "filter": "every"}, marks=pytest.mark.heavy)
            for name in ALIKE
        ),
        {"replay": "exgrpo", "replay_options": {"share": 1.0}, "filter": "every", "recompute_logprobs": True},
    ],
    ids=lambda choice: "-".join(value for value in choice.values() if isinstance(value, str)),
)
def test_every_choice_trains(run, choice):
    lines = read_metrics(run("choice", **choice))[1:]
    assert [line["step"] for line in lines] == [1, 2, 3]
    assert any(line.get("gradient_norm", 0) > 0 for line in lines)
    if "replay" in choice:
        assert [line["replayed"] for line in lines][0] == 0
        assert sum(line["replayed"] for line in lines) > 0
        assert all(line["replay_age"] >= 1 for line in lines if line["replayed"])


def test_what_no_episode_solves_is_imitated(run, policy):
    """The judge that is lenient to all calls a demonstration right too, so that there is one of each task."""
    lines = read_metrics(run("relift", prompts=8, relift=True, relift_options={"size": 2, "lr": 1e-3}))[1:]
    passes = [line for line in lines if "imitation_loss" in line]
    assert passes
    assert all(line["imitation_loss"] > 0 and line["imitation_gradient_norm"] > 0 for line in passes)


def test_without_a_group_to_compare_the_hardest_tasks_are_learned_all_the_same(run, policy, monkeypatch):
    folder = run("hardest", samples=1, steps=2, relift=True, relift_options={"size": 1, "lr": 1e-3})
    lines = read_metrics(folder)[1:]
    assert all(line["groups"] == 0 for line in lines)
    assert any("imitation_loss" in line for line in lines)
    before, after = (load_policy(str(place))[0].state_dict() for place in (policy, folder / "model"))
    assert any((value != after[name]).any() for name, value in before.items())


def test_a_resumed_run_with_all_of_it_gives_the_same_numbers(run, resumed):
    whole, _ = resumed(run, **ALL)
    lines = read_metrics(whole)
    assert sum(line.get("replayed", 0) for line in lines) > 0
    assert any("imitation_loss" in line for line in lines)


@pytest.mark.heavy
def test_ppo_replays_and_imitates_too(training, small):
    choice = {
        "samples": 1,
        "prompts": 8,
        "env": {**small["env"], "tasks.size": 6},
        "replay": "repo_recent",
        "replay_options": REPO,
        "selector": "hard_focus",
        "relift": True,
        "relift_options": {"size": 1, "lr": 1e-3},
    }
    lines = read_metrics(training("ppo", **SETTINGS)("run", **choice))[1:]
    assert all(line["value_gradient_norm"] > 0 for line in lines)
    assert sum(line["replayed"] for line in lines) > 0
    assert any("imitation_loss" in line for line in lines)
