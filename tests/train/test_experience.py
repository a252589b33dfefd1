"""The selector and the replay as a run uses them."""

from dataclasses import dataclass, replace

import pytest

from tests.rollout.trajectories import trajectory
from toolenvs.errors import ConfigError
from toolenvs.tasks.rows import from_rows
from toolenvs.train.experience import Experience, ExperienceSettings, outcomes


def episode(task, success, ending="answer"):
    return trajectory(task=task, turn_rewards=(9.0,), ending=ending, success=success)


@pytest.fixture
def tasks():
    return from_rows([{"id": f"t{index}", "question": f"{index}?", "answer": "1"} for index in range(8)])


@dataclass(frozen=True, kw_only=True)
class ScriptSettings(ExperienceSettings):
    """With what a script adds."""

    samples: int = 2
    rollout: str = "independent"


def experience(tasks, collect=None, **settings):
    return Experience(ScriptSettings(**settings), tasks, collect, seed=4, steps=10)


def test_outcomes_are_raw_correctness_without_what_infrastructure_ended():
    made = [episode("a", 1.0), episode("b", 0.5), episode("a", 0.0), episode("b", None, "infrastructure")]
    assert outcomes(made) == {"a": [1.0, 0.0], "b": [0.5]}
    assert outcomes([episode("c", None, "infrastructure")]) == {}


def test_a_reference_set_is_rolled_out_apart_with_its_own_seed(tasks):
    asked = []

    def collect(chosen, **options):
        asked.append((len(chosen), options))
        return [episode(task.id, 0.5) for task in chosen]

    run = experience(tasks, collect, selector="dots", selector_options={"reference": 3, "interval": 1})
    for step in (1, 2):
        assert run.begin(step, 2) == 2
        assert len({task.id for task in run.tasks(2, n=5)}) == 2
        run.observe([episode("t0", 1.0)])
    assert [count for count, _ in asked] == [3, 3]
    assert [options["n"] for _, options in asked] == [5, 5]
    assert [options["progress"] for _, options in asked] == [0.1, 0.2]
    assert asked[0][1]["seed"] != asked[1][1]["seed"]


def test_what_was_helped_is_no_outcome_and_nothing_to_remember(tasks):
    run = experience(tasks, selector="hard_focus", replay="dots")
    told = []
    run._selector.observe = told.append
    run._replay.observe = told.append
    run.observers.append(told.append)
    alone = episode("t0", 0.0)
    run.observe([alone, replace(episode("t0", 1.0), guidance="hint"), replace(alone, guidance="prefix")])
    assert told == [{"t0": [0.0]}, [alone], [alone]]


def test_whoever_observes_is_told_of_all_episodes(tasks):
    run = experience(tasks)
    seen = []
    run.observers.append(seen.extend)
    run.begin(1, 2)
    made = [episode("t0", 1.0), episode("t1", None, "infrastructure")]
    run.observe(made)
    assert seen == made


@pytest.mark.parametrize("replay", ["dots", "exgrpo"])
def test_a_replay_that_would_remember_nothing_is_refused_at_once(tasks, replay):
    with pytest.raises(ConfigError, match=rf"samples = 1.*replay '{replay}' compares.*at least 2"):
        experience(tasks, replay=replay, samples=1)
    experience(tasks, replay=replay, samples=2)
    experience(tasks, replay=replay, samples=1, rollout="tree")  # a stem has branches
    experience(tasks, replay="repo_recent", samples=1)  # its queue fills up over the epochs


def test_a_checkpoint_of_another_selector_is_refused_by_name(tasks):
    state = experience(tasks).state_dict()
    with pytest.raises(ConfigError, match=r"selector and replay are \['uniform', ''\], the run's \['hard_focus', ''\]"):
        experience(tasks, selector="hard_focus").load_state_dict(state)
    with pytest.raises(ConfigError, match="'dots'"):
        experience(tasks, replay="dots").load_state_dict(state)
    with pytest.raises(ConfigError, match="are None"):
        experience(tasks).load_state_dict(17)  # a position, as older checkpoints hold
    with pytest.raises(ConfigError, match="cannot be read"):
        experience(tasks).load_state_dict({**state, "selector": {}})
