"""Each published strategy against its rule written out."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolenvs.errors import ConfigError
from toolenvs.train.replay import Replay, exgrpo, names, repo_random, repo_recent, repo_reward, repo_variance
from toolenvs.train.replay._memory import Group, Memory
from toolenvs.train.trajectories import sequences_of_groups

SMALL = {"cache": 4, "min_cached": 3, "replays": 2}


def remembered(*groups):
    memory = Memory(100)
    for group in groups:
        memory.add(Group.of(group))
    return memory


def begin(replay, step, prompts):
    """A step whose predecessor changed the policy."""
    replay.renew(step - 1)
    return replay.begin(step, prompts)


def opened(module, **options):
    return module.Strategy(module.Options(**options))


def returns(episodes):
    return [episode.reward for episode in episodes]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rewards=st.lists(st.sampled_from([-1.0, -0.25, 0.0, 0.5, 1.0, 1.5]), min_size=2, max_size=8), data=st.data())
def test_the_subset_of_largest_variance_is_that_of_all_subsets(episode, rewards, data):
    count = data.draw(st.integers(1, len(rewards)))
    cached = [Group.of([episode(reward=reward)]).episodes[0] for reward in rewards]
    picked = opened(repo_variance).pick(cached, count, np.random.default_rng(0))
    assert not Counter(returns(picked)) - Counter(rewards)

    def merit(subset):
        return round(float(np.var(subset)), 9), sum(subset)

    best = max(map(merit, itertools.combinations(rewards, count)))
    assert merit(returns(picked)) == pytest.approx(best)


def test_repo_picks_by_reward_by_age_and_at_random(episode):
    cached = [Group.of([episode(reward=reward)]).episodes[0] for reward in (0.5, 1.0, 0.0, 1.0, 0.25)]
    rng = np.random.default_rng(0)
    assert returns(opened(repo_reward).pick(cached, 3, rng)) == [1.0, 1.0, 0.5]
    assert returns(opened(repo_recent).pick(cached, 2, rng)) == [1.0, 0.25]
    drawn = Counter(id(chosen) for _ in range(2_000) for chosen in opened(repo_random).pick(cached, 2, rng))
    assert len(drawn) == 5
    assert all(count / 2_000 == pytest.approx(2 / 5, abs=0.06) for count in drawn.values())


@pytest.mark.parametrize("name", [name for name in names() if name.startswith("repo_")])
def test_repo_replays_a_task_that_came_often_enough_beside_its_fresh_group(name, episode):
    replay = Replay(name, SMALL, seed=0)
    begin(replay, 1, 2)
    replay.observe([episode("a"), episode("a", 0.0), episode("b"), episode("b", 0.0)])
    begin(replay, 2, 2)
    assert replay.sequences([[episode("a")], [episode("b")]])[0] == []  # two of three
    replay.observe([episode("a", 0.0, version=1), episode("a", version=1)])
    begin(replay, 3, 2)
    made, told = replay.sequences([[episode("b"), episode("b")], [episode("a")]])
    assert told["replayed"] == len(made) == (4 if name == "repo_all" else 2)
    assert {sequence.group for sequence in made} == {2}
    assert [sequence.episode for sequence in made] == list(range(3, 3 + len(made)))


@pytest.mark.parametrize("name", ["repo_all", "exgrpo"])
def test_a_task_that_came_twice_in_a_step_is_replayed_once(name, episode):
    replay = Replay(name, {} if name == "exgrpo" else {"cache": 4, "min_cached": 2}, seed=0)
    begin(replay, 1, 2)
    replay.observe([episode("a", key="0", stem="0"), episode("a", 0.0, key="0/0", stem="0")])
    begin(replay, 2, 2)
    made, _ = replay.sequences([[episode("a")], [episode("a", 0.0)]])
    assert len(made) == (1 if name == "exgrpo" else 2)
    assert len({sequence.group for sequence in made}) == 1  # no node is in two groups


def test_dots_fills_up_with_mixed_groups_and_no_others(episode):
    replay = Replay("dots", {"share": 0.5}, seed=0)
    assert begin(replay, 1, 4) == 4
    replay.observe([episode("mixed"), episode("mixed", 0.0), episode("right"), episode("right")])
    replay.observe([episode("wrong", 0.0), episode("wrong", 0.0), episode("other"), episode("other", 0.0)])
    assert replay.sequences([[episode("new")]])[0] == []  # not in the step that they come from
    assert begin(replay, 2, 4) == 2
    made, told = replay.sequences([[episode("new")]])
    assert told == {"replayed": 4, "replay_age": 1}
    assert [sequence.group for sequence in made] == [1, 1, 2, 2]
    assert all(sequence.off_policy for sequence in made)
    assert begin(replay, 3, 3) == 2  # half of three, downwards


def test_exgrpo_draws_rates_by_a_normal_density_and_a_task_of_each_evenly(episode):
    def group(task, *successes):
        return [episode(task, success) for success in successes]

    memory = remembered(group("half", 1, 0), group("also", 0, 1), group("few", 1, 0, 0, 0), group("all", 1, 1))
    strategy = opened(exgrpo, share=0.25, deviation=0.2)
    rng = np.random.default_rng(0)
    drawn = Counter(task for _ in range(8_000) for task in strategy.tasks(memory, 4, rng))
    density = {rate: np.exp(-((rate - 0.5) ** 2) / (2 * 0.2**2)) for rate in (0.5, 0.25)}
    total = sum(density.values())
    expected = {"half": density[0.5] / total / 2, "also": density[0.5] / total / 2, "few": density[0.25] / total}
    assert sum(expected.values()) == pytest.approx(1)
    assert set(drawn) == set(expected)
    assert all(drawn[task] / 8_000 == pytest.approx(chance, abs=0.02) for task, chance in expected.items())
    assert sorted(opened(exgrpo, share=1.0).tasks(memory, 9, rng)) == ["also", "few", "half"]


def test_exgrpo_s_surest_right_episode_joins_the_fresh_group_until_the_task_is_retired(episode):
    replay = Replay("exgrpo", {"share": 1.0}, seed=0)
    begin(replay, 1, 2)
    replay.observe([episode("a", 1.0, logprob=-2.0), episode("a", 0.0, logprob=-0.1), episode("a", 1.0, logprob=-1.0)])
    begin(replay, 2, 2)
    assert replay.tasks(2, 0) == ["a"]
    made, told = replay.sequences([[episode("b")], [episode("a"), episode("a", 0.0)]])
    assert [(sequence.group, sequence.episode) for sequence in made] == [(1, 3)]
    assert made[0].logprobs.tolist() == [0, 0, -1.0, -0.5]
    assert told == {"replayed": 1, "replay_age": 1}
    replay.observe([episode("a", 0.0), episode("a", 0.0)])  # a failure is its rate, and not the end of it
    begin(replay, 3, 2)
    assert replay.tasks(2, 0) == ["a"]
    replay.observe([episode("a"), episode("a")])
    begin(replay, 4, 2)
    assert replay.tasks(2, 0) == []
    assert replay.sequences([[episode("a")]])[0] == []


OUTCOMES = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=4)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=st.lists(st.tuples(st.sampled_from("abc"), OUTCOMES), max_size=12), capacity=st.integers(1, 5))
def test_exgrpo_s_rate_is_that_of_the_task_s_latest_group(episode, history, capacity):
    replay = Replay("exgrpo", {"share": 1.0, "capacity": capacity}, seed=0)
    for step, (task, successes) in enumerate(history, start=1):
        begin(replay, step, 4)
        replay.observe([episode(task, success, version=step - 1) for success in successes])
    begin(replay, len(history) + 1, 4)
    mixed = [task for task, successes in history if 0 < sum(successes) < len(successes)]
    held = mixed[-capacity:]
    latest = {task: float(np.mean(successes)) for task, successes in history}
    assert {group.task: group.rate for group in replay._memory.groups} == {task: latest[task] for task in held}
    assert [group.task for group in replay._memory.groups] == held  # what says nothing new takes nobody's place
    assert sorted(replay.tasks(4, 0)) == sorted({task for task in held if latest[task] < 1})


def test_what_cannot_be_trained_on_is_not_remembered(episode):
    for name in names():
        replay = Replay(name, {"min_cached": 2} if name.startswith("repo") else {}, seed=0)
        begin(replay, 1, 1)
        replay.observe([episode("a", ending="infrastructure"), episode("a", ending="infrastructure")])
        begin(replay, 2, 1)
        assert replay.sequences([[episode("a")]]) == ([], {"replayed": 0})


def test_an_episode_comes_back_as_it_was_sampled_and_not_when_it_is_too_old(episode):
    replay = Replay("dots", {"max_age": 2}, seed=0)
    begin(replay, 1, 2)
    replay.observe([episode("a", logprob=-1.5, sequences=2), episode("a", 0.0, logprob=-0.25)])
    begin(replay, 2, 2)
    begin(replay, 3, 2)
    made, told = replay.sequences([])
    assert [sequence.logprobs[2] for sequence in made] == [-1.5, -1.5, -0.25]
    assert [sequence.episode for sequence in made] == [0, 0, 1]
    assert told == {"replayed": 2, "replay_age": 2}
    assert begin(replay, 4, 2) == 2
    assert replay.sequences([])[0] == []


def test_steps_that_changed_nothing_make_nothing_older(episode):
    replay = Replay("dots", {"max_age": 2}, seed=0)
    assert replay.begin(1, 2) == 2
    replay.observe([episode("a"), episode("a", 0.0)])
    for step, version, age in [(2, 0, 0), (5, 0, 0), (6, 5, 1), (7, 5, 1), (9, 8, 2)]:
        replay.renew(version)
        assert replay.begin(step, 2) == 1
        assert replay.sequences([])[1] == {"replayed": 2, "replay_age": age}
        resumed = Replay("dots", {"max_age": 2}, seed=0)
        resumed.load_state_dict(replay.state_dict())
        replay = resumed
        replay.renew(version)  # as a run does that goes on
    replay.renew(9)
    assert replay.begin(10, 2) == 2


@pytest.mark.parametrize("name", names())
def test_a_resumed_replay_goes_on_alike(name, episode):
    options = SMALL if name.startswith("repo") else {}

    def step(replay, number):
        fresh = begin(replay, number, 4)
        again = replay.tasks(fresh, 0)
        tasks = [*again, *(f"t{(number * 3 + place) % 5}" for place in range(fresh - len(again)))]
        groups = [
            [episode(task, float((number + member) % 2), version=number - 1, group=f"{place}") for member in range(3)]
            for place, task in enumerate(tasks)
        ]
        replay.observe([member for group in groups for member in group])
        made, told = replay.sequences(groups)
        return tasks, [(each.group, each.episode, each.logprobs.tolist(), each.success) for each in made], told

    whole, first, second = (Replay(name, options, seed=1) for _ in range(3))
    expected = [step(whole, number) for number in range(1, 9)]
    got = [step(first, number) for number in range(1, 5)]
    second.load_state_dict(first.state_dict())
    got += [step(second, number) for number in range(5, 9)]
    assert got == expected
    assert any(told["replayed"] for _, _, told in expected)


def test_no_node_of_a_tree_is_in_two_groups(episode):
    """The branches of a tree share the nodes of their stem, as they did when they were fresh."""
    replay = Replay("dots", {"share": 0.5}, seed=0)

    def tree(task):
        return [
            episode(task, success, key=f"{task}{place}", stem=f"{task}0") for place, success in enumerate((1.0, 0.0))
        ]

    for step in (1, 2):
        begin(replay, step, 6)
        replay.observe([*tree(f"a{step}"), *tree(f"b{step}")])
    begin(replay, 3, 6)
    fresh = sequences_of_groups([tree("c"), tree("d")])
    made, _ = replay.sequences([tree("c"), tree("d")])
    again = Replay("dots", {"share": 0.5}, seed=0)
    again.load_state_dict(replay.state_dict())
    begin(again, 3, 6)
    assert [one.nodes.tolist() for one in again.sequences([tree("c"), tree("d")])[0]] == [
        one.nodes.tolist() for one in made
    ]
    nodes = {}
    for one in (*fresh, *made):
        nodes.setdefault(one.group, set()).update(one.nodes[one.nodes > 0].tolist())
    assert len(nodes) == 5
    assert all(len(own) == 3 for own in nodes.values())  # the stem, and the end of each branch
    assert len(set().union(*nodes.values())) == 15


def test_what_is_wrong_is_said():
    with pytest.raises(ConfigError, match="did you mean 'exgrpo'"):
        Replay("exgrp", {}, 0)
    with pytest.raises(ConfigError, match="replay_options of 'dots': unknown key 'shares'; did you mean 'share'"):
        Replay("dots", {"shares": 0.5}, 0)
    with pytest.raises(ConfigError, match="share = 1 is out of range"):
        Replay("dots", {"share": 1.0}, 0)
    with pytest.raises(ConfigError, match="min_cached = 20 is out of range: a task has 16 episodes at most"):
        Replay("repo_recent", {"min_cached": 20}, 0)
    with pytest.raises(ConfigError, match="capacity = 0 is out of range"):
        Replay("exgrpo", {"capacity": 0}, 0)
