"""Rollouts over a server: the trajectories are those that would have been collected here."""

import random
from collections.abc import Mapping
from typing import Any

import pytest

import toolenvs
from toolenvs import remote
from toolenvs.agents.engine import Engine, EngineAgent, GenerateRequest, Generation, Sampling
from toolenvs.agents.scripted import FromFunction, Oracle
from toolenvs.codec import TokenCodec
from toolenvs.errors import ConfigError
from toolenvs.rollout import Trajectory, collect

PIECES = [
    "<code>\n```python\nprint(6 * 7)\n```\n</code>", "<code>", "</code>", "<interpreter>\n", "let me ", "é漢😀",
    "<answer>\n\\boxed{4}\n</answer>", "<|im_end|>", "<code>\n```python\nprint('</interpreter>' * 3)\n```\n</code>",
]  # fmt: skip


class Noise(Engine):
    """Samples pieces of the protocol, by the request's seed."""

    def __init__(self, codec: TokenCodec) -> None:
        self.codec = codec

    def generate(self, requests: Any) -> list[Generation]:
        return [self._one(request) for request in requests]

    def _one(self, request: GenerateRequest) -> Generation:
        rng = random.Random(request.seed)
        ids: list[int] = []
        for _ in range(rng.randint(1, 5)):
            ids += self.codec.encode(self.codec.fit(rng.choice(PIECES)))
        ids = ids[: request.max_new_tokens]
        return Generation(ids=ids, logprobs=[-rng.random() for _ in ids], finish=rng.choice(["stop", "eos", "length"]))

    def push_weights(self, state_dict: Mapping[str, Any], version: int) -> None:
        self.version = version


def timeless(trajectory: Trajectory) -> dict[str, Any]:
    data = trajectory.to_json()
    for clock in ("seconds", "agent_seconds"):
        data.pop(clock, None)
    data["usage"].pop("seconds")
    for call in data["calls"]:
        call.pop("seconds")
    return data


async def test_tokens_masks_spans_and_rewards_are_equal(byte_codec: TokenCodec, serve: Any) -> None:
    overrides = {"max_turns": 4, "max_response_tokens": 400}
    local = toolenvs.load("ReTool-v0", tokenizer=byte_codec, **overrides)
    agent = EngineAgent(Noise(byte_codec), Sampling(max_turn_tokens=120))
    here = await collect(local, agent, [local.tasks[i] for i in range(20)], n=2, seed=7)
    with serve(byte_codec) as served:
        far = remote.load(served.url, "ReTool-v0", tokenizer=byte_codec, **overrides)
        there = await collect(far, agent, [far.tasks[i] for i in range(20)], n=2, seed=7)
        assert served.sessions == 0
    for one, other in zip(here, there, strict=True):
        assert timeless(one) == timeless(other)
        assert one.transcript == other.transcript
        assert one.tokens is not None
        assert one.tokens == other.tokens
        assert one.tokens.spans == (other.tokens.spans if other.tokens else None)
    assert len({trajectory.ending for trajectory in here}) >= 2
    assert any(trajectory.calls for trajectory in here)


@pytest.mark.parametrize("page", ["SQL-v0", "Search-v0", "ASearcherLocal-v0"])
async def test_text_trajectories_are_equal(served: Any, page: str) -> None:
    local, far = toolenvs.load(page), remote.load(served.url, page)
    tasks = [local.tasks[i] for i in range(3)]
    here, there = await collect(local, Oracle(local), tasks), await collect(far, Oracle(local), tasks)
    assert list(map(timeless, here)) == list(map(timeless, there))
    assert [trajectory.calls for trajectory in there] != [(), (), ()]


async def test_256_episodes_share_one_connection(served: Any) -> None:
    far = remote.load(served.url, "ReTool-v0")
    code = "<code>\n```python\nprint(6 * 7)\n```\n</code>"
    agent = FromFunction(lambda request: code if request.turn == 1 else "<answer>\\boxed{1}</answer>")
    sockets: set[float] = set()

    def seen(_: Trajectory) -> None:
        sockets.add(served.metric("sockets"))

    tasks = [far.tasks[i] for i in range(256)]
    trajectories = await collect(far, agent, tasks, concurrency=256, on_trajectory=seen)
    assert [trajectory.calls[0].result.strip() for trajectory in trajectories] == ["42"] * 256
    assert sockets == {1.0}


def test_tokenizers_of_both_sides_must_be_one(byte_codec: TokenCodec, serve: Any, served: Any) -> None:
    with pytest.raises(ConfigError, match="the server has none"):
        remote.load(served.url, "ReTool-v0", tokenizer=byte_codec)
    other = TokenCodec(type(byte_codec._special).from_str(byte_codec._special.to_str()))
    assert other.fingerprint == byte_codec.fingerprint
    other.tokenizer.add_special_tokens(["<extra>"])
    with serve(TokenCodec(other.tokenizer)) as another, pytest.raises(ConfigError, match="the server has another"):
        remote.load(another.url, "ReTool-v0", tokenizer=byte_codec)
