"""The engine server and its client, with the transformers engine behind them."""

import asyncio
import copy
import threading

import httpx
import pytest

from toolenvs.agents.engine import EngineAgent
from toolenvs.errors import ConfigError, EngineError
from toolenvs.train.engines import remote
from toolenvs.train.engines.remote import RemoteEngine
from toolenvs.train.engines.sync import push
from toolenvs.train.engines.transformers import TransformersEngine


@pytest.fixture
def local(trainer, tokenizer):
    return TransformersEngine(copy.deepcopy(trainer), tokenizer)


@pytest.fixture
def engine(served, local):
    engine = RemoteEngine(served(local))
    yield engine
    engine.close()


def test_tokens_and_numbers_come_through_unchanged(engine, local, asked, alike):
    requests = asked(stop=("5", "</code>"))
    alike(engine.generate(requests), local.generate(requests))
    assert engine.continuous
    assert engine.alive()


def test_weights_are_pushed_over_http(engine, local, trainer, disturb):
    disturb(trainer)
    told = push(engine, trainer, 7)
    assert told["engine_mismatch"] < 1e-4
    assert (engine.version, local.version) == (7, 7)


def test_weights_of_another_model_are_refused_and_the_old_ones_answer(engine, trainer, asked, alike):
    before = engine.generate(asked(2))
    state = trainer.state_dict()
    state.pop("model.norm.weight")
    with pytest.raises(EngineError, match=r"(?s)not this model's.*norm"):
        engine.push_weights(state, 1)
    assert engine.version == 0
    alike(engine.generate(asked(2)), before)


def test_a_released_episode_is_forgotten(engine, local, asked):
    engine.generate(asked(3))
    assert set(local._caches) == {"e0", "e1", "e2"}
    engine.release("e1")
    engine._thread.run(asyncio.sleep(0))
    for _ in range(200):
        if "e1" not in local._caches:
            break
        engine._thread.run(asyncio.sleep(0.02))
    assert set(local._caches) == {"e0", "e2"}


def test_requests_that_wait_are_generated_together(engine, local, asked, alike, monkeypatch):
    sizes, gate = [], threading.Event()
    generate = TransformersEngine.generate

    def slow(self, requests):
        sizes.append(len(requests))
        if len(sizes) == 1:
            gate.wait()
        return generate(self, requests)

    monkeypatch.setattr(TransformersEngine, "generate", slow)

    async def all_of_them():
        first = asyncio.ensure_future(engine.sample(asked(1)[0]))
        while not sizes:
            await asyncio.sleep(0.01)
        rest = [asyncio.ensure_future(engine.sample(request)) for request in asked(6)[1:]]
        running = 0
        async with httpx.AsyncClient() as client:
            while running < 6:
                running = (await client.get(f"{engine._url}/health")).json()["running"]
        gate.set()
        return await asyncio.gather(first, *rest)

    answers = asyncio.run(all_of_them())
    assert sizes == [1, 5]
    alike(answers, generate(local, asked(6)))


def test_a_caller_that_is_cancelled_takes_its_request_back(engine, asked, monkeypatch):
    gate = threading.Event()
    generate = TransformersEngine.generate
    seen = []

    def slow(self, requests):
        seen.append([request.key for request in requests])
        gate.wait()
        return generate(self, requests)

    monkeypatch.setattr(TransformersEngine, "generate", slow)

    async def give_up():
        held = asyncio.ensure_future(engine.sample(asked(1)[0]))
        while not seen:
            await asyncio.sleep(0.01)
        waiting = asyncio.ensure_future(engine.sample(asked(2)[1]))
        async with httpx.AsyncClient() as client:

            async def until(count):
                while (await client.get(f"{engine._url}/health")).json()["running"] != count:
                    await asyncio.sleep(0.01)

            await until(2)
            waiting.cancel()
            await until(1)
        gate.set()
        await held
        assert waiting.cancelled()

    asyncio.run(give_up())
    assert seen == [["e0"]]


def test_weights_are_refused_while_requests_run(engine, asked, trainer, monkeypatch):
    gate, begun = threading.Event(), threading.Event()
    generate = TransformersEngine.generate

    def slow(self, requests):
        begun.set()
        gate.wait()
        return generate(self, requests)

    monkeypatch.setattr(TransformersEngine, "generate", slow)
    other = RemoteEngine(engine._url)
    held = threading.Thread(target=engine.generate, args=(asked(1),))
    held.start()
    begun.wait()
    with pytest.raises(EngineError, match="two policies"):
        engine.push_weights(trainer.state_dict(), 1)
    with pytest.raises(EngineError, match="push between rollouts"):
        other.push_weights(trainer.state_dict(), 1)
    gate.set()
    held.join()
    other.push_weights(trainer.state_dict(), 1)
    other.close()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "'ids'"),
        ({"ids": "12"}, "ids"),
        ({"ids": [1, -1]}, "ids"),
        ({"ids": [1.5]}, "ids"),
        ({"ids": [True]}, "ids"),
        ({"ids": [1], "stop": "x"}, "stop"),
        ({"ids": [1], "stop": [""]}, "stop"),
        ({"ids": [1], "max_new_tokens": "3"}, "whole numbers"),
        ({"ids": [1], "temperature": -1}, "temperature"),
        ({"ids": [1], "temperature": None}, "temperature"),
        ({"ids": [1], "top_p": 0}, "top_p"),
        ({"ids": [1], "key": 3}, "key"),
        ({"ids": [1], "seed": -1}, "seed"),
        ({"ids": [1], "stops": []}, "'ids'"),
        ([], "'ids'"),
    ],
)
def test_a_wrong_body_is_told_what_is_wrong(engine, body, said):
    answer = httpx.post(f"{engine._url}/generate", json=body)
    assert answer.status_code == 400
    assert said in answer.json()["detail"]


@pytest.mark.parametrize("version", ["", "x", "-1", "1.5", "9" * 5000], ids=lambda version: version[:5])
def test_weights_need_a_version(engine, version):
    answer = httpx.put(f"{engine._url}/weights", params={"version": version}, content=b"")
    assert answer.status_code == 400


def test_weights_that_are_no_weights_are_refused(engine):
    answer = httpx.put(f"{engine._url}/weights?version=1", content=b"no weights")
    assert answer.status_code == 503
    assert "cannot be read" in answer.json()["detail"]


def test_errors_of_the_engine_keep_their_kind(engine, asked, monkeypatch):
    def refuse(self, requests):
        raise ConfigError("temperature is wrong")

    monkeypatch.setattr(TransformersEngine, "generate", refuse)
    with pytest.raises(ConfigError, match="temperature is wrong"):
        engine.generate(asked(1))

    def fail(self, requests):
        raise EngineError("it broke")

    monkeypatch.setattr(TransformersEngine, "generate", fail)
    with pytest.raises(EngineError, match="it broke"):
        engine.generate(asked(3))


def test_a_token_is_asked_for(served, local, asked):
    url = served(local, token="secret")
    with RemoteEngineClosing(url, token="wrong") as engine, pytest.raises(EngineError, match="wants its token"):
        engine.generate(asked(1))
    with RemoteEngineClosing(url, token="secret") as engine:
        assert len(engine.generate(asked(1))) == 1


class RemoteEngineClosing(RemoteEngine):
    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def test_nobody_there_is_an_engine_error(monkeypatch):
    monkeypatch.setattr(remote, "_FIRST_WAIT_S", 0.0)
    with pytest.raises(EngineError, match="cannot be reached"):
        RemoteEngine("http://127.0.0.1:9")


def test_a_closed_engine_says_so(engine, asked):
    engine.close()
    engine.close()
    with pytest.raises(EngineError, match="is closed"):
        engine.generate(asked(1))
    with pytest.raises(EngineError, match="is closed"):
        asyncio.run(engine.sample(asked(1)[0]))


def test_a_batch_engine_cannot_be_asked_one_by_one(local, asked):
    with pytest.raises(EngineError, match="whole batches"):
        asyncio.run(local.sample(asked(1)[0]))


def test_a_request_without_a_context_is_refused(engine, asked):
    with pytest.raises(EngineError, match="generate 0 tokens"):
        engine.generate(asked(1, max_new_tokens=0))


def test_an_agent_asks_a_continuous_engine_one_by_one(engine):
    assert EngineAgent(engine).engine.continuous
