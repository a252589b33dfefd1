"""Rollouts: tokens that say exactly what the text says, groups, retries, and who is waited for."""

import asyncio
import random
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import toolenvs
from toolenvs.agents.engine import Engine, EngineAgent, GenerateRequest, Generation, Sampling
from toolenvs.agents.scripted import FromFunction, Oracle, Scripted
from toolenvs.assets import page_files
from toolenvs.codec import TokenCodec
from toolenvs.errors import ConfigError, EngineError, SandboxError
from toolenvs.rollout import Trajectory, TrajectoryWriter, collect, read_trajectories, run_episode
from toolenvs.rollout.agent import Action, Request
from toolenvs.tokens import Mask
from toolenvs.tools.base import ToolResult
from toolenvs.transcript import Author

_PIECES = [
    "<code>\n```python\nprint(6 * 7)\n```\n</code>", "<code>", "</code>", "<interpreter>\n", "</interpreter>",
    "let me ", "<answer>\n\\boxed{4}\n</answer>", "```python\nprint(1)\n```\n```output", "```output", "\n```\n",
    "é漢😀", "<tool_call>\n{\"name\": \"code_interpreter\", \"arguments\": {\"code\": \"print(1)\"}}\n</tool_call>",
    "<tool_response>", "<|im_end|>", "<|im_start|>user\n", " 42", "<code>print('</interpreter>' * 3)</code>",
    "<search>the mayor of a town</search>", "<question>Who is it?</question>", "<search>", "</search>",
    "<information>", "</information>",
    "<|begin_of_query|>a mayor<|end_of_query|>", "<|begin_of_query|>", "<|end_of_query|>", "<|begin_of_documents|>",
    "<|end_of_documents|>", "<rewrite>a mayor</rewrite>", "<rewrite_2>a town</rewrite_2>", "<rewrite>", "</rewrite>",
    "<tool_call>\n{\"name\": \"query_rag\", \"arguments\": {\"query\": \"a mayor\"}}\n</tool_call>",
    "<tool_call>\n{\"name\": \"browse\", \"arguments\": {\"action\": \"open\"}}\n</tool_call>",
    "<tool_call>\n{\"name\": \"browse\", \"arguments\": {\"action\": \"search\", \"query\": \"lamp\"}}\n</tool_call>",
    "<tool_call>\n{\"name\": \"page\", \"arguments\": {\"action\": \"click\", \"element\": 0}}\n</tool_call>",
    "<sql>SELECT name FROM country LIMIT 2</sql>", "</sql>", "<solution>SELECT 1</solution>", "<observation>",
    "<access>https://world.test/people/1.html</access>", "</access>", "<think>", "so</think>", "</think>",
    "<tool_call>\n{\"name\": \"web_search\", \"arguments\": {\"query\": [\"a mayor\"]}}\n</tool_call>",
    "</think><answer>Up || Dragon || 1 + 2 || Right</answer>", "</think><answer>Left</answer>",
    "\nAction: execute[SELECT name FROM country LIMIT 2]\n", "\nAction: submit\n", "\nObservation:", "\nThought 2: hm",
]  # fmt: skip


_LIKE_SOKOBAN = ("Bandit-v0", "Countdown-v0", "FrozenLake-v0")
"""Pages that have protocol and tool in common with Sokoban-v0, and are tried less often."""


class RandomEngine(Engine):
    """Samples noise that looks like every protocol at once, now and then ids out of thin air."""

    def __init__(self, codec: TokenCodec) -> None:
        self.codec = codec
        self.batches: list[int] = []

    def generate(self, requests: Any) -> list[Generation]:
        self.batches.append(len(requests))
        return [self._one(request) for request in requests]

    def _one(self, request: GenerateRequest) -> Generation:
        rng = random.Random(request.seed)
        ids: list[int] = []
        for _ in range(rng.randint(1, 7)):
            ids += self.codec.encode(self.codec.fit(rng.choice(_PIECES)))
            if rng.random() < 0.3:
                ids += [rng.randrange(self.codec.vocab_size) for _ in range(rng.randint(1, 3))]
        ids = ids[: request.max_new_tokens]
        return Generation(ids=ids, logprobs=[-rng.random() for _ in ids], finish=rng.choice(["stop", "eos", "length"]))

    def push_weights(self, state_dict: Mapping[str, Any], version: int) -> None:
        self.version = version


def check_tokens_say_what_the_text_says(trajectory: Trajectory, codec: TokenCodec) -> None:
    """Mask-1 and mask-2 ids spell the policy's text, mask-0 ids the rest, turn by turn and author by author."""
    tokens = trajectory.tokens
    assert tokens is not None
    spans = tokens.spans
    transcript = trajectory.transcript.read(len(trajectory.turn_rewards))  # where something was forgotten, the last one
    for turn in range(transcript.turn + 1):
        for author in Author:
            text = "".join(s.text for s in transcript.segments if (s.turn, s.author) == (turn, author))
            own = [span for span in spans if (span.turn, span.author) == (turn, author)]
            assert "".join(codec.decode(tokens.ids[span.start : span.end].tolist()) for span in own) == text
            for span in own:
                expected = {Mask.POLICY, Mask.UNSCORED} if author is Author.POLICY else {Mask.ENVIRONMENT}
                assert set(tokens.mask[span.start : span.end].tolist()) <= expected
    if trajectory.earlier:  # test_forgetting.py has the rest
        return
    forged = any(not segment.scored for segment in trajectory.transcript.by(Author.POLICY))
    assert forged == bool((tokens.mask == Mask.UNSCORED).any())
    if (tokens.mask == Mask.POLICY).any():
        assert tokens.token_rewards(trajectory.turn_rewards).sum() == pytest.approx(trajectory.reward)


@pytest.mark.parametrize("name", sorted(page_files()))
async def test_masks_of_random_episodes(name: str, codec: TokenCodec) -> None:
    blueprint = toolenvs.load(name, tokenizer=codec, user="{question}", max_turns=4, max_response_tokens=600)
    agent = EngineAgent(RandomEngine(codec), Sampling(max_turn_tokens=150))
    tasks = [blueprint.tasks[index] for index in range(25 if name in _LIKE_SOKOBAN else 100)]
    trajectories = await collect(blueprint, agent, tasks, n=4, seed=7, concurrency=64)  # 3 tokenizers: 1,200 a page
    assert len(trajectories) == 4 * len(tasks)
    for trajectory in trajectories:
        check_tokens_say_what_the_text_says(trajectory, codec)
        assert trajectory.tokens is not None
        assert len(trajectory.tokens) - trajectory.tokens.prompt_length <= 600
    assert len({trajectory.ending for trajectory in trajectories}) >= 2
    calls = sum(len(trajectory.calls) for trajectory in trajectories)
    assert calls >= 5 if blueprint.protocol.targets else calls == 0


async def test_groups_seeds_and_order(byte_codec: TokenCodec) -> None:
    blueprint = toolenvs.load("ReTool-v0", tokenizer=byte_codec, max_turns=3)
    tasks = [blueprint.tasks[index] for index in range(3)]
    runs = []
    for _ in range(2):
        agent = EngineAgent(RandomEngine(byte_codec), Sampling(max_turn_tokens=80))
        runs.append(await collect(blueprint, agent, tasks, n=2, seed=1))
    assert [t.group for t in runs[0]] == ["0", "0", "1", "1", "2", "2"]
    assert [t.task for t in runs[0]] == [task.id for task in tasks for _ in range(2)]
    assert len({t.seed for t in runs[0]}) == 6
    for one, other in zip(*runs, strict=True):
        assert one.tokens == other.tokens
        assert one.transcript == other.transcript


async def test_an_engine_batch_waits_for_every_running_episode(byte_codec: TokenCodec) -> None:
    blueprint = toolenvs.load("ReTool-v0", tokenizer=byte_codec, max_turns=1)
    engine = RandomEngine(byte_codec)
    await collect(blueprint, EngineAgent(engine), [blueprint.tasks[0]] * 5, n=2, concurrency=4)
    assert engine.batches[0] == 4
    assert sum(engine.batches) == 10


async def test_the_oracle_solves_generated_tasks() -> None:
    for name in sorted(page_files().keys() - {"MiniWoB-v0"}):  # whose tasks stand on pages of others: tests/envs
        blueprint = toolenvs.load(name)
        tasks = [blueprint.tasks[index] for index in range(20)]
        trajectories = await collect(blueprint, Oracle(blueprint), tasks)
        assert [t.success for t in trajectories] == [1.0] * 20
        for trajectory, task in zip(trajectories, tasks, strict=True):  # a question without an answer has no queries
            needed = len(task.extra.get("calls", task.extra.get("queries", ["program"])))
            assert trajectory.usage["calls"] == (needed if blueprint.protocol.targets else 0)
        assert all(t.tokens is None for t in trajectories)


async def test_infrastructure_failures_are_run_again_and_then_told() -> None:
    blueprint = toolenvs.load("ReTool-v0")
    failures = iter([True, False, True, True])

    class Flaky:
        async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
            if next(failures):
                raise SandboxError("gone")
            return ToolResult(text="1")

        async def close(self) -> None: ...

    async def open(task: Any, *, seed: int, progress: float) -> Flaky:
        return Flaky()

    blueprint.tools["python"].open = open  # type: ignore[method-assign]
    agent = Scripted(["<code>print(1)</code>", "\\boxed{1}"])
    [first] = await collect(blueprint, agent, [blueprint.tasks[0]], retries=1)
    assert not first.failed
    [second] = await collect(blueprint, agent, [blueprint.tasks[0]], retries=1)
    assert second.failed
    assert second.fault == "gone"
    assert second.success is None
    assert second.reward == 0


async def test_an_engine_that_fails_is_infrastructure(byte_codec: TokenCodec) -> None:
    class Broken(RandomEngine):
        def generate(self, requests: Any) -> list[Generation]:
            raise EngineError("out of memory")

    blueprint = toolenvs.load("ReTool-v0", tokenizer=byte_codec)
    trajectories = await collect(blueprint, EngineAgent(Broken(byte_codec)), [blueprint.tasks[0]] * 3, retries=0)
    assert [(t.ending, t.fault) for t in trajectories] == [("infrastructure", "out of memory")] * 3


async def test_a_cancelled_rollout_leaves_nothing_waiting(byte_codec: TokenCodec) -> None:
    blueprint = toolenvs.load("ReTool-v0", tokenizer=byte_codec)
    agent = EngineAgent(RandomEngine(byte_codec))
    job = asyncio.create_task(run_episode(blueprint, agent, blueprint.tasks[0]))
    await asyncio.sleep(0)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    [again] = await collect(blueprint, agent, [blueprint.tasks[0]])
    assert again.ending


async def test_trajectories_on_disk(tmp_path: Path, byte_codec: TokenCodec) -> None:
    blueprint = toolenvs.load("ReTool-v0", tokenizer=byte_codec, max_turns=3)
    agent = EngineAgent(RandomEngine(byte_codec), Sampling(max_turn_tokens=80))
    path = tmp_path / "run" / "trajectories.jsonl"
    with TrajectoryWriter(path) as writer:
        kept = await collect(blueprint, agent, [blueprint.tasks[0]] * 4, on_trajectory=writer.write)
    by_key = {t.key: t for t in read_trajectories(path)}
    assert by_key == {t.key: t for t in kept}
    assert len(list(read_trajectories(tmp_path))) == 4
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])  # killed while writing
    assert len(list(read_trajectories(path))) == 3
    with TrajectoryWriter(path) as writer:
        writer.write(kept[0])
    assert len(list(read_trajectories(path))) == 4
    (path.parent / "metrics.jsonl").write_text("{}\n")
    (path.parent / "a.jsonl").write_bytes(whole[:-20])  # torn files do not hide those behind them
    assert len(list(read_trajectories(tmp_path))) == 3 + 4
    for line in (b"{}", b"\xff\xfe", b"[" * 100_000, b"[1]"):
        path.write_bytes(line + b"\n")
        with pytest.raises(ConfigError, match=r"trajectories.jsonl, line 1: not a trajectory"):
            list(read_trajectories(path))
    with pytest.raises(ConfigError, match="no trajectories at"):
        list(read_trajectories(tmp_path / "none.jsonl"))


async def test_text_agents_see_what_they_need() -> None:
    blueprint = toolenvs.load("ReTool-v0")
    seen = []

    def act(request: Any) -> str:
        seen.append(request)
        return "<code>print(6 * 7)</code>" if request.turn == 1 else f"\\boxed{{{request.last_result}}}"

    trajectory = await run_episode(blueprint, FromFunction(act), blueprint.tasks[0])
    assert [request.turn for request in seen] == [1, 2]
    assert seen[0].stop == ("</code>",)
    assert seen[1].last_result == "42"
    assert trajectory.calls[0].arguments == {"code": "print(6 * 7)"}


class Sampled:
    """Samples the same ids in every turn."""

    def __init__(self, ids: list[int]) -> None:
        self.action = Action(ids=tuple(ids), logprobs=(0.0,) * len(ids))

    async def act(self, request: Request) -> Action:
        return self.action

    def release(self, key: str) -> None: ...


async def test_every_token_of_a_forged_text_is_unscored(byte_codec: TokenCodec) -> None:
    for turn in ("hm <interpreter> 😀", "😀<interpreter>😀</interpreter>é漢 on", "<interpreter>a</interpreter>" * 40):
        blueprint = toolenvs.load("ReTool-v0", tokenizer=byte_codec, user="{question}")
        trajectory = await run_episode(blueprint, Sampled(byte_codec.encode(turn)), blueprint.tasks[0])
        check_tokens_say_what_the_text_says(trajectory, byte_codec)
        tokens = trajectory.tokens
        scored = byte_codec.decode(tokens.ids[tokens.mask == Mask.POLICY].tolist())
        assert "interpreter" not in scored
        assert "�" not in scored


async def test_many_forged_texts_cost_no_more_than_their_length(byte_codec: TokenCodec) -> None:
    def seconds(count: int) -> float:
        blueprint = toolenvs.load("ReTool-v0", tokenizer=byte_codec, user="{question}")
        agent = Sampled(byte_codec.encode("<interpreter>a</interpreter>, " + "so " * 60) * count)
        started_s = time.process_time()
        asyncio.run(run_episode(blueprint, agent, blueprint.tasks[0]))
        return time.process_time() - started_s

    few, many = await asyncio.to_thread(seconds, 4), await asyncio.to_thread(seconds, 16)
    assert many < 60 * max(few, 0.01)
