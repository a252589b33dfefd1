"""PrefixRL: what is given, what is trained on, and that the tools stand where the given turns led."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.agents.engine import Engine, Generation
from toolenvs.env import ToolEnv
from toolenvs.errors import ConfigError
from toolenvs.tokens import Mask
from toolenvs.tools.base import ToolResult
from toolenvs.train.guidance.prefix_rl import Guidance, Options, prefix
from toolenvs.train.guidance.solutions import Solution
from toolenvs.train.rollouts import independent, spec_rl, tree
from toolenvs.transcript import Author


@given(
    turns=st.lists(st.text(alphabet="ab 1é漢<>/", max_size=12), min_size=1, max_size=4),
    share=st.floats(0, 1),
    whole_turns=st.booleans(),
)
def test_a_prefix_is_the_first_tokens_and_never_all(turns, share, whole_turns, byte_codec):
    given_ = prefix(Solution(tuple(turns)), share, byte_codec, whole_turns=whole_turns)
    ids = [byte_codec.encode(turn) for turn in turns]
    total = sum(map(len, ids))
    flat = [token for turn in ids for token in turn]
    shown = [token for beginning in given_ for token in beginning.ids]
    assert shown == flat[: len(shown)]
    wanted = max(min(int(share * total), total - 1), 0)
    if whole_turns:
        assert len(shown) <= wanted
        assert all(beginning.whole for beginning in given_)
    elif all(ids):  # a turn without a token cannot be replayed, and ends the prefix
        assert len(shown) == wanted
    assert all(beginning.whole and not beginning.logprobs for beginning in given_[:-1])


class Answers(Engine):
    def __init__(self):
        self.codec = None

    def generate(self, requests):
        ids = self.codec.encode("<answer>\\boxed{1}</answer>")
        return [Generation(ids=ids, logprobs=[-0.5] * len(ids), finish="stop") for _ in requests]

    def push_weights(self, state_dict, version): ...


@pytest.fixture
def prefixed(host, monkeypatch):
    """`prefixed(rollout, options)`: a guidance over the oracle's solutions, and the calls that were run."""
    calls = []

    async def run_code(self, arguments):
        calls.append(arguments["code"])
        value = eval(arguments["code"].removeprefix("print(").removesuffix(")"))
        return ToolResult(text=str(value))

    monkeypatch.setattr("toolenvs.tools.python.Session.call", run_code)

    def make(rollout=independent, **options):
        engine = Answers()
        run = host(engine, env={"tasks.size": 6})
        engine.codec = run.env.codec
        guidance = Guidance(run, rollout.Rollout(run, rollout.Options()), Options(**options))
        return guidance, [run.env.tasks[index] for index in range(6)], calls

    return make


def test_given_turns_are_replayed_and_not_trained_on(prefixed):
    guidance, tasks, calls = prefixed(prefixed=1.0, shares=(0.9,), whole_turns=True)
    episodes = guidance.collect(tasks, n=2, seed=0)
    assert len(calls) == len(tasks) * 3  # the oracle's, and one in each episode
    for one in episodes:
        assert (one.guidance, one.ending, len(one.calls)) == ("prefix", "answer", 1)
        assert one.calls[0].status == "ok"
        policy = [span for span in one.tokens.spans if span.author is Author.POLICY]
        assert [set(one.tokens.mask[span.start : span.end].tolist()) for span in policy] == [
            {Mask.UNSCORED}, {Mask.POLICY},
        ]  # fmt: skip
        assert one.transcript.policy_text(1) == ""
    told = guidance.metrics()
    assert told["prefixed"] == 1
    assert "unprefixed_success" not in told


def test_the_environment_stands_where_a_reset_with_that_prefix_would_leave_it(prefixed):
    guidance, tasks, _ = prefixed(prefixed=1.0, shares=(0.9,), whole_turns=True)
    for one, task in zip(guidance.collect(tasks[:2], n=1, seed=0), tasks, strict=False):
        first = [segment for segment in one.transcript.segments if segment.turn <= 1]
        env = ToolEnv(guidance._run.env.page, tokenizer=guidance._run.env.codec)
        said = next(segment.text for segment in first if segment.author is Author.POLICY)
        text, info = env.reset(seed=0, options={"task": task, "prefix": [said]})
        assert tuple(first) == info["transcript"].segments
        assert text == "".join(segment.text for segment in first)
        env.close()


def test_some_prompts_get_a_prefix_and_the_same_ones_for_the_same_seed(prefixed):
    guidance, tasks, _ = prefixed(prefixed=0.5)
    rolls = [guidance.collect(tasks, n=2, seed=seed) for seed in (3, 3, 4)]
    helped = [[one.guidance for one in episodes] for episodes in rolls]
    assert helped[0] == helped[1] != helped[2]
    assert {"prefix", ""} == set(helped[0])
    for one, other in zip(rolls[0], rolls[1], strict=True):
        assert one.tokens == other.tokens
    for one in rolls[0]:
        assert (Mask.UNSCORED in one.tokens.mask) == (one.guidance == "prefix")
        groups = {other.guidance for other in rolls[0] if other.group == one.group}
        assert len(groups) == 1  # a group is compared within one prefix


def test_a_tree_branches_behind_its_prefix(prefixed):
    guidance, tasks, _ = prefixed(rollout=tree, prefixed=1.0, shares=(0.9,), whole_turns=True)
    leaves = guidance.collect(tasks[:1], n=1, seed=0)
    assert len(leaves) == 5
    for leaf in leaves:
        assert leaf.tokens is not None
        assert 2 not in [turn for turn, owner in enumerate(leaf.sampled_by, start=1) if owner == "given"]
        assert Mask.POLICY in leaf.tokens.mask


def test_it_goes_with_rollouts_that_take_a_prefix(host):
    engine = Answers()
    run = host(engine)
    with pytest.raises(ConfigError, match="independent or tree"):
        Guidance(run, spec_rl.Rollout(run, spec_rl.Options()), Options())
    for wrong in ({"shares": (1.0,)}, {"shares": ()}, {"prefixed": 1.5}):
        with pytest.raises(ValueError, match="out of range|at least one"):
            Options(**wrong)
