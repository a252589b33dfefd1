"""Trees of episodes: what leaves share is sampled once, trained on once, and lived through once."""

import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolenvs
from toolenvs import loop, sandbox
from toolenvs.agents.engine import Engine, EngineAgent, GenerateRequest, Generation, Sampling
from toolenvs.blueprint import Blueprint
from toolenvs.codec import TokenCodec
from toolenvs.episode import Episode
from toolenvs.errors import ConfigError, InfrastructureError, SandboxError
from toolenvs.rollout import Trajectory
from toolenvs.rollout.agent import Action
from toolenvs.rollout.tree import RULES, Shape, grow
from toolenvs.tokens import Mask

_CALL = "<search>a mayor of a town</search>"
_PIECES = [_CALL, _CALL, "hm ", "<answer>x</answer>", "<search>", "<information>forged</information>", "é漢😀"]


class Noise(Engine):
    """Samples pieces at random, each token with a probability of its own."""

    def __init__(self, codec: TokenCodec) -> None:
        self.codec = codec
        self.batches: list[list[Any]] = []

    def generate(self, requests: Sequence[GenerateRequest]) -> list[Generation]:
        self.batches.append([request.key for request in requests])
        return [self._one(request) for request in requests]

    def _one(self, request: GenerateRequest) -> Generation:
        rng = np.random.default_rng(request.seed)
        text = "".join(_PIECES[rng.integers(len(_PIECES))] for _ in range(rng.integers(1, 4)))
        ids = self.codec.encode(text)[: request.max_new_tokens]
        return Generation(ids=ids, logprobs=(-rng.random(len(ids))).tolist(), finish="stop")

    def push_weights(self, state_dict: Any, version: int) -> None: ...


def trees(codec: TokenCodec, shape: Shape, seed: int, n: int = 2, page: str = "SearchR1-v0", **keys: Any) -> Any:
    blueprint = toolenvs.load(page, tokenizer=codec, user="{question}", **{"max_turns": 4, **keys})
    engine = Noise(codec)
    agent = EngineAgent(engine, Sampling(max_turn_tokens=80))
    tasks = [blueprint.tasks[index] for index in range(2)]
    return loop.run(grow(blueprint, agent, tasks, shape, n=n, seed=seed)), engine


def own_tokens(leaf: Trajectory) -> dict[int, list[int]]:
    """The ids of each turn that the leaf is trained on, by turn."""
    found: dict[int, list[int]] = defaultdict(list)
    for tokens in leaf.sequences:
        for span in tokens.spans:
            chosen = tokens.mask[span.start : span.end] == Mask.POLICY
            if chosen.any():
                assert span.turn not in found  # not twice within an episode
                found[span.turn] = tokens.ids[span.start : span.end][chosen].tolist()
    return found


shapes = st.builds(
    Shape,
    points=st.integers(1, 2),
    branches=st.integers(1, 2),
    rounds=st.integers(1, 2),
    rule=st.sampled_from(sorted(RULES)),
)


@settings(max_examples=12, deadline=None)
@given(shape=shapes, seed=st.integers(0, 1000), page=st.sampled_from(["SearchR1-v0", "ASearcherLocal-v0"]))
def test_no_token_is_trained_on_twice(shape: Shape, seed: int, page: str, byte_codec: TokenCodec) -> None:
    leaves, _ = trees(byte_codec, shape, seed, page=page)
    assert len(leaves) == 2 * 2 * shape.leaves
    assert Counter(leaf.group for leaf in leaves) == {"0": 2 * shape.leaves, "1": 2 * shape.leaves}
    by_key = {leaf.key: leaf for leaf in leaves}
    assert len(by_key) == len(leaves)
    for leaf in leaves:
        owners = leaf.sampled_by or (leaf.key,) * len(leaf.turn_rewards)
        assert len(owners) == len(leaf.turn_rewards)
        trained = own_tokens(leaf)
        for turn, owner in enumerate(owners, start=1):
            if owner == leaf.key:
                scored = leaf.transcript.policy_text(turn)
                assert bool(trained.get(turn)) == bool(scored) or "forged" in scored
            else:  # sampled elsewhere: read here, and trained on there
                assert turn not in trained
                said, there = (one.transcript.policy_text(turn) for one in (leaf, by_key[owner]))
                assert said == there
        assert len(set(owners)) == len(dict.fromkeys(owners))
        assert leaf.tokens is not None
        if any(trained.values()):
            placed = sum(float(tokens.token_rewards(leaf.turn_rewards).sum()) for tokens in leaf.sequences[-1:])
            assert placed == pytest.approx(leaf.reward)


@settings(max_examples=4, deadline=None)
@given(shape=shapes, seed=st.integers(0, 1000))
def test_equal_seeds_grow_equal_trees_in_equal_batches(shape: Shape, seed: int, byte_codec: TokenCodec) -> None:
    (one, first), (other, second) = (trees(byte_codec, shape, seed) for _ in range(2))
    assert first.batches == second.batches
    for left, right in zip(one, other, strict=True):
        assert (left.key, left.tokens, left.transcript) == (right.key, right.tokens, right.transcript)
        assert left.sampled_by == right.sampled_by


class Written(Engine):
    """Writes what a function of the episode's key and the turn says, with a log-probability for each of its tokens."""

    def __init__(self, codec: TokenCodec, write: Callable[[str, int], tuple[str, float]]) -> None:
        self.codec, self.write = codec, write
        self.turns: Counter[Any] = Counter()
        self.begun: dict[Any, int] = {}

    def generate(self, requests: Sequence[GenerateRequest]) -> list[Generation]:
        made = []
        for request in requests:
            turn = self.codec.decode(list(request.ids)).count("</code>") + 1
            text, logprob = self.write(str(request.key), turn)
            ids = self.codec.encode(text)
            made.append(Generation(ids=ids, logprobs=[logprob] * len(ids), finish="stop"))
        return made

    def push_weights(self, state_dict: Any, version: int) -> None: ...


def code(program: str) -> str:
    return f"<code>\n```python\n{program}\n```\n</code>"


_ANSWER = "<answer>\n\\boxed{4}\n</answer>"


def grown(codec: TokenCodec, engine: Engine, shape: Shape, **keys: Any) -> list[Trajectory]:
    blueprint = toolenvs.load("ReTool-v0", tokenizer=codec, user="{question}", **keys)
    return loop.run(grow(blueprint, EngineAgent(engine), [blueprint.tasks[0]], shape))


def test_branches_go_on_from_the_live_interpreter(byte_codec: TokenCodec) -> None:
    def write(key: str, turn: int) -> tuple[str, float]:
        return [code("import os\nx = os.urandom(8).hex()\nprint(x)"), code("print(x)"), _ANSWER][turn - 1], -turn / 10

    live = any(tier.works for tier in sandbox.probe() if tier.tier != "fork")
    with warnings.catch_warnings():
        if not live:
            warnings.simplefilter("ignore")  # the calls before a branch are run again there, with a warning
        leaves = grown(byte_codec, Written(byte_codec, write), Shape(points=2), session="stateful")
    assert [len(leaf.turn_rewards) for leaf in leaves] == [3] * 5
    assert [len(set(leaf.sampled_by)) for leaf in leaves] == [0, 2, 2, 2, 2]
    shown = {leaf.calls[-1].result.strip() for leaf in leaves}
    assert len(shown) == 1 or not live  # drawn once, and read by every branch


@pytest.mark.parametrize(("rule", "turn"), [("surprisal", 3), ("mean_surprisal", 3)])
def test_the_least_likely_turn_is_branched_at(rule: str, turn: int, byte_codec: TokenCodec) -> None:
    logprobs = {1: -9.0, 2: -0.1, 3: -2.0, 4: -0.5}

    def write(key: str, turn: int) -> tuple[str, float]:
        return (code("print(1)") if turn < 4 else _ANSWER), logprobs[turn]

    leaves = grown(byte_codec, Written(byte_codec, write), Shape(points=1, branches=2, rule=rule))
    chain = leaves[0].key
    assert leaves[0].sampled_by == ()
    assert [leaf.sampled_by for leaf in leaves[1:]] == [
        (chain,) * (turn - 1) + (leaf.key,) * (5 - turn) for leaf in leaves[1:]
    ]


def test_a_second_round_branches_at_what_is_left_and_at_branches(byte_codec: TokenCodec) -> None:
    def write(key: str, turn: int) -> tuple[str, float]:
        surprise = {2: 3.0, 3: 1.0}.get(turn, 0.0) + (5.0 if "/" in key and turn == 3 else 0.0)
        return (code("print(1)") if turn < 3 else _ANSWER), -surprise

    leaves = grown(byte_codec, Written(byte_codec, write), Shape(points=1, branches=1, rounds=2))
    chain, first, second = (leaf.key for leaf in leaves)
    assert leaves[1].sampled_by == (chain, first, first)
    assert leaves[2].sampled_by == (chain, first, second)


def test_episodes_of_one_turn_branch_at_their_prompt(byte_codec: TokenCodec) -> None:
    leaves = grown(byte_codec, Written(byte_codec, lambda key, turn: (_ANSWER, -1.0)), Shape())
    assert len(leaves) == 5
    assert {leaf.sampled_by for leaf in leaves} == {()}
    assert all(Mask.POLICY in leaf.sequences[0].mask for leaf in leaves)


def test_a_branch_whose_tools_died_is_a_failed_leaf(byte_codec: TokenCodec, monkeypatch: pytest.MonkeyPatch) -> None:
    forks = Counter[str]()
    fork = Episode.fork

    async def dying(self: Episode) -> Episode:
        forks["all"] += 1
        if forks["all"] == 3:
            raise SandboxError("the sandbox died")
        return await fork(self)

    monkeypatch.setattr(Episode, "fork", dying)
    leaves = grown(
        byte_codec,
        Written(byte_codec, lambda key, turn: (code("print(1)") if turn < 2 else _ANSWER, -1.0)),
        Shape(points=1, branches=3),
    )
    assert [leaf.failed for leaf in leaves] == [False, False, True, False]
    assert leaves[2].fault == "the sandbox died"


def test_a_tree_whose_first_episode_failed_is_begun_again(byte_codec: TokenCodec) -> None:
    class Failing(Written):
        failures = 0

        def generate(self, requests: Sequence[GenerateRequest]) -> list[Generation]:
            if self.failures == 0:
                self.failures += 1
                raise SandboxError("gone")
            return super().generate(requests)

    leaves = grown(byte_codec, Failing(byte_codec, lambda key, turn: (_ANSWER, -1.0)), Shape())
    assert [leaf.key for leaf in leaves] == ["0.1", *(f"0.1/{number}" for number in range(4))]
    assert not any(leaf.failed for leaf in leaves)


def test_an_environment_that_never_begins_makes_failed_leaves_and_nobody_waits_for_them(
    byte_codec: TokenCodec, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = Counter[str]()

    async def begin(self: Blueprint, task: Any, *, seed: int, progress: float) -> Episode:
        begun["all"] += 1
        if begun["all"] == 3:
            raise InfrastructureError("the server is gone")
        return Episode(self, task, seed=seed, progress=progress)

    monkeypatch.setattr(Blueprint, "begin", begin, raising=False)
    leaves = grown(byte_codec, Written(byte_codec, lambda key, turn: (_ANSWER, -1.0)), Shape())
    assert sorted(leaf.failed for leaf in leaves) == [False] * 4 + [True]
    assert begun["all"] == 5


def test_trees_need_tokens_and_a_shape() -> None:
    with pytest.raises(ConfigError, match="build the environment with a tokenizer"):
        loop.run(grow(toolenvs.load("ReTool-v0"), EngineAgent(Noise(None)), [], Shape()))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="points = 0 is out of range"):
        Shape(points=0)
    with pytest.raises(ValueError, match="did you mean 'uniform'"):
        Shape(rule="unifrom")


def test_rules_read_the_turn() -> None:
    action = Action(ids=(1, 2, 3), logprobs=(-1.0, -4.0, -1.0))
    assert {name: rule(action, 0.25) for name, rule in RULES.items()} == {
        "surprisal": 4.0,
        "mean_surprisal": 2.0,
        "uniform": 0.25,
    }
    assert RULES["surprisal"](Action(ids=()), 0.5) == RULES["mean_surprisal"](Action(ids=()), 0.5) == 0
