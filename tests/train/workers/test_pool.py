"""The pool's promises, over workers in threads: what comes back is the same, whoever rolled it out and died of it."""

import asyncio
import random

import numpy as np
import pytest
import torch

from toolenvs.agents.engine import GenerateRequest, Sampling
from toolenvs.errors import ConfigError, EngineError
from toolenvs.train.engines.sync import push
from toolenvs.train.engines.transformers import TransformersEngine
from toolenvs.train.policy import load_policy
from toolenvs.train.workers import worker
from toolenvs.train.workers.pool import Workers

TASKS, SAMPLES, SEED = 5, 3, 11


@pytest.fixture
def opened(spec, sampling):
    """`opened(cluster, count)`: workers, closed behind the test."""
    made = []

    def make(cluster, count=2, **options):
        made.append(Workers(cluster, spec, count, sampling=sampling, episodes=options.pop("episodes", 6), **options))
        return made[-1]

    yield make
    for workers in made:
        workers.close()


@pytest.fixture
def tasks(env):
    return [env.tasks[index] for index in range(TASKS)]


async def test_trajectories_are_the_same_with_any_number_of_workers(opened, threads, tasks, locally, plain):
    told, logprobs = plain(await locally(tasks, n=SAMPLES, seed=SEED))
    assert len({str(one["transcript"]) for one in told}) > TASKS  # samples differ
    found = {}
    for count in (1, 2, 3):
        found[count] = opened(threads(), count).collect(tasks, n=SAMPLES, seed=SEED)
        other, numbers = plain(found[count])
        assert other == told
        for some, others in zip(logprobs, numbers, strict=True):
            assert np.allclose(some, others, atol=1e-4)
    exact = [[trajectory.tokens.logprobs.tolist() for trajectory in found[count]] for count in (1, 2, 3)]
    assert exact[0] == exact[1] == exact[2]  # batches depend on the shares alone


@pytest.mark.parametrize("seed", range(3))
def test_workers_that_die_lose_and_double_nothing(opened, threads, tasks, seed, trainer, plain):
    undisturbed = opened(threads(), 2)
    undisturbed.push_weights(trainer.state_dict(), 1)
    told = plain(undisturbed.collect(tasks, n=SAMPLES, seed=SEED))
    rng = random.Random(seed)
    killed = []

    def dies(number, method, count):
        if method != "close" and len(killed) < 4 and rng.random() < 0.4:
            killed.append(number)
            return True
        return False

    cluster = threads(dies)
    workers = opened(cluster, 3)
    workers.push_weights(trainer.state_dict(), 1)
    found = plain(workers.collect(tasks, n=SAMPLES, seed=SEED))
    assert found[0] == told[0]
    assert all(map(np.array_equal, found[1], told[1]))
    assert [one["key"] for one in found[0]] == [f"{index:02d}.0" for index in range(TASKS * SAMPLES)]
    assert workers.replaced == len(killed) > 0
    assert len(cluster.started) == 3 + len(killed)


def test_a_share_is_rolled_out_once_where_nobody_dies(opened, threads, tasks):
    cluster = threads()
    opened(cluster, 3, episodes=SAMPLES).collect(tasks, n=SAMPLES)
    assert sum(method == "roll_out" for _, method in cluster.asked) == TASKS


def test_workers_that_only_die_end_in_an_error(opened, threads, tasks):
    workers = opened(threads(lambda number, method, count: method == "roll_out"), 2)
    with pytest.raises(EngineError, match=r"workers failed one after another.*died of roll_out"):
        workers.collect(tasks, n=SAMPLES)


def test_workers_that_never_start_end_in_an_error(opened, threads):
    cluster = threads(lambda number, method, count: method == "open")
    with pytest.raises(EngineError, match=r"one after another.*died of open"):
        opened(cluster)
    assert cluster.closed


def test_no_worker_within_the_time_ends_in_an_error(opened, threads, monkeypatch):
    cluster = threads()
    monkeypatch.setattr(cluster, "wait", lambda calls, timeout_s: [])
    with pytest.raises(EngineError, match=r"0 of 2 workers started within 3 s; .*worker_cpus"):
        opened(cluster, start_s=3.0)


def test_pushed_weights_reach_everyone_and_stand_in_the_tokens(opened, threads, tasks, trainer, plain):
    workers = opened(threads(), 2)
    before = workers.collect(tasks, n=SAMPLES, seed=SEED)
    with torch.no_grad():
        for parameter in trainer.parameters():
            parameter.mul_(1.1)
    found = push(workers, trainer, 7)
    assert found["engine_mismatch_max"] < 1e-3
    after = workers.collect(tasks, n=SAMPLES, seed=SEED)
    assert plain(before)[0] != plain(after)[0]
    assert {version for one in after for version in one.tokens.versions.tolist()} == {-1, 7}


def test_a_worker_that_did_not_take_the_weights_over_is_found(opened, threads, trainer):
    cluster = threads()
    workers = opened(cluster, 3)
    push(workers, trainer, 1)
    stubborn = cluster.started[1].host._worker.engine
    stubborn.push_weights = lambda state_dict, version: setattr(stubborn, "version", version)
    with torch.no_grad():
        for parameter in trainer.parameters():
            parameter.mul_(1.1)
    with pytest.raises(EngineError, match="the engine and the trainer disagree"):
        push(workers, trainer, 2)


def test_a_worker_that_dies_while_it_is_compared_ends_nothing(opened, threads, trainer):
    died = []

    def dies(number, method, count):
        if method == "generate" and not died:
            died.append(number)
            return True
        return False

    workers = opened(threads(dies), 2)
    assert push(workers, trainer, 1)["engine_mismatch"] < 1e-3
    assert workers.replaced == 1


def test_an_engine_that_died_is_loaded_again_and_its_share_is_not_lost(opened, threads, tasks, trainer, plain):
    cluster = threads()
    workers = opened(cluster, 1)
    workers.push_weights(trainer.state_dict(), 1)
    told = plain(workers.collect(tasks, n=SAMPLES, seed=SEED))
    engine = cluster.started[0].host._worker.engine
    generate, pushed = engine.generate, engine.push_weights
    calls = []

    def failing(requests):
        calls.append(len(requests))
        if len(calls) in (2, 3):
            raise EngineError("out of order")
        return generate(requests)

    engine.generate = failing
    engine.alive = lambda: not 1 < len(calls) < 4 or len(loads) > 0
    loads = []
    engine.push_weights = lambda state, version: (loads.append(version), pushed(state, version))
    found = plain(workers.collect(tasks, n=SAMPLES, seed=SEED))
    assert loads == [1]
    assert [one["ending"] for one in found[0]] == [one["ending"] for one in told[0]]
    assert workers.replaced == 0


def test_weights_are_not_pushed_into_a_rollout(opened, threads, tasks, trainer):
    cluster = threads()
    workers = opened(cluster, 1)
    cluster.wait, waiting = _interrupted, cluster.wait
    with pytest.raises(KeyboardInterrupt):
        workers.collect(tasks, n=SAMPLES)
    cluster.wait = waiting
    workers.push_weights(trainer.state_dict(), 1)  # nobody waits for the interrupted rollout any more
    assert len(workers.collect(tasks, n=SAMPLES)) == TASKS * SAMPLES


def _interrupted(calls, timeout_s):
    raise KeyboardInterrupt


def test_as_an_engine_it_answers_batches(opened, threads, folder):
    asked = [GenerateRequest(ids=[5, 6 + row], max_new_tokens=4, seed=row, key=f"e{row}") for row in range(9)]
    one, three = (opened(threads(), count, episodes=4).generate(asked) for count in (1, 3))
    assert one == three
    assert [len(generation.ids) for generation in one] == [len(generation.logprobs) for generation in one]


def test_evaluations_have_their_own_sampling(opened, threads, tasks):
    workers = opened(threads(), 2)
    greedy = Sampling(temperature=0, max_turn_tokens=4)
    one, other = (workers.collect(tasks, test=True, sampling=greedy, seed=seed) for seed in (1, 2))
    assert [len(each.tokens) for each in one] == [len(each.tokens) for each in other]
    assert max(len(call) for each in one for call in [each.tokens.spans]) > 0


def test_what_a_worker_cannot_open_is_told_by_its_own_error(threads, spec, sampling):
    from dataclasses import replace

    for wrong, told in (
        ({"engine": "wllm"}, "unknown engine 'wllm'"),
        ({"model": "/nowhere/at/all"}, "no tokenizer can be loaded"),
        ({"engine_options": {"bogus": 1}}, "engine_options"),
    ):
        cluster = threads()
        with pytest.raises(ConfigError, match=told):
            Workers(cluster, replace(spec, **wrong), 2, sampling=sampling)
        assert cluster.closed


def test_a_fault_in_a_worker_is_told_with_its_traceback(opened, threads, tasks):
    workers = opened(threads(), 1)
    with pytest.raises(EngineError, match=r"a worker failed: (.|\n)*TypeError"):
        workers.collect(tasks, n=SAMPLES, bogus=1)


def test_closed_workers_say_so(opened, threads, tasks):
    cluster = threads()
    workers = opened(cluster, 2)
    workers.close()
    workers.close()
    assert cluster.closed
    assert [method for _, method in cluster.asked if method == "close"] == ["close", "close"]
    with pytest.raises(EngineError, match="were closed"):
        workers.collect(tasks)


class Continuous(TransformersEngine):
    """Answers each request as it comes, one after the other."""

    continuous = True

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.turn = asyncio.Semaphore(1)

    async def sample(self, request):
        async with self.turn:
            return (await asyncio.to_thread(self.generate, [request]))[0]


async def test_an_engine_that_is_continuous_gets_the_next_share_before_the_last_is_done(
    opened, threads, tasks, locally, plain, monkeypatch
):
    monkeypatch.setattr(worker, "open_for", lambda name, model, **_: Continuous(*load_policy(model)))
    cluster = threads()
    found, numbers = plain(opened(cluster, 1).collect(tasks, n=SAMPLES, seed=SEED))
    told, logprobs = plain(await locally(tasks, n=SAMPLES, seed=SEED))
    assert found == told
    assert all(np.allclose(some, others, atol=1e-4) for some, others in zip(logprobs, numbers, strict=True))
    assert cluster.started[0].at_once == {"now": 0, "most": 2}
    batches = threads()
    monkeypatch.undo()
    opened(batches, 1).collect(tasks, n=SAMPLES, seed=SEED)
    assert batches.started[0].at_once["most"] == 1


def test_no_task_makes_no_episode(opened, threads):
    assert opened(threads(), 1).collect([]) == []
