"""What golden transcripts cannot show: faults, deadlines, replay, forks, exact turns."""

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolenvs
from toolenvs import loop
from toolenvs.blueprint import Blueprint
from toolenvs.codec import TokenCodec
from toolenvs.episode import Episode
from toolenvs.errors import ForkError, JudgeError, SandboxError, TaskError, ToolError
from toolenvs.rewards.verdict import Reason, Verdict
from toolenvs.tasks.task import Task
from toolenvs.tools.base import ToolResult
from toolenvs.transcript import Author

TASK = Task(id="t", question="6 * 7?", golds=("42",))
ANSWER = "<answer>\n\\boxed{42}\n</answer>"


def call(code: str) -> str:
    return f"<code>\n```python\n{code}\n```\n</code>"


class Counter:
    """A tool that counts its calls; some arguments make it misbehave."""

    name: ClassVar[str] = "python"
    description = "counts"
    parameters: ClassVar[Mapping[str, Any]] = {"type": "object", "properties": {"code": {"type": "string"}}}

    def __init__(self) -> None:
        self.opened: list[tuple[int, float]] = []
        self.closed = 0

    async def check(self) -> None: ...

    async def close(self) -> None: ...

    async def open(self, task: Task, *, seed: int, progress: float) -> "Session":
        self.opened.append((seed, progress))
        return Session(self)


class Session:
    def __init__(self, tool: Counter, count: int = 0) -> None:
        self.tool = tool
        self.count = count

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        code = arguments["code"]
        if code == "die":
            raise SandboxError("the sandbox is gone")
        if code == "bug":
            raise ZeroDivisionError("in the tool itself")
        if code == "late":
            raise TimeoutError("of the tool's own")
        if code == "refuse":
            raise ToolError("not like this")
        if code == "hang":
            await asyncio.sleep(60)
        self.count += 1
        return ToolResult(text=f"call {self.count}")

    async def fork(self) -> "Session":
        if self.count > 2:
            raise ForkError("too many calls to copy")
        return Session(self.tool, self.count)

    async def close(self) -> None:
        self.tool.closed += 1


@pytest.fixture
def blueprint() -> Blueprint:
    made = toolenvs.load("ReTool-v0")
    made.tools["python"] = Counter()
    return made


async def test_infrastructure_is_never_the_models_failure(blueprint: Blueprint) -> None:
    episode = Episode(blueprint, TASK)
    turn = await episode.step(call("die"))
    assert (turn.ending, turn.terminated, turn.truncated) == ("infrastructure", False, True)
    assert turn.reward == 0
    assert not turn.reward_terms
    assert turn.fault == "the sandbox is gone"
    assert turn.calls[0].status == "infrastructure"
    assert episode.verdict is None


@pytest.mark.parametrize(("code", "fault"), [("bug", "ZeroDivisionError: in the"), ("late", "TimeoutError: of the")])
async def test_any_other_failure_of_a_tool_is_infrastructure_too(blueprint: Blueprint, code: str, fault: str) -> None:
    turn = await Episode(blueprint, TASK).step(call(code))
    assert turn.ending == "infrastructure"
    assert fault in str(turn.fault)


async def test_a_wrong_set_up_is_raised() -> None:
    no_gold = Episode(toolenvs.load("ReTool-v0"), Task(id="t", question="q"))
    with pytest.raises(TaskError, match="no gold answer"):
        await no_gold.step(ANSWER)


@pytest.mark.parametrize("how", ["verdict", "raises", "breaks"])
async def test_a_judge_that_fails_is_no_zero(blueprint: Blueprint, how: str) -> None:
    async def judge(moment: Any) -> Verdict:
        if how == "raises":
            raise JudgeError("no verdict")
        if how == "breaks":
            raise ZeroDivisionError("in the judge")
        return Verdict(False, Reason.JUDGE_ERROR)

    blueprint.judge = judge
    turn = await Episode(blueprint, TASK).step(ANSWER)
    assert turn.ending == "infrastructure"
    assert turn.truncated
    assert turn.reward == 0
    assert turn.fault


async def test_a_tool_error_is_told_to_the_model(blueprint: Blueprint) -> None:
    episode = Episode(blueprint, TASK)
    turn = await episode.step(call("refuse"))
    assert "not like this" in turn.observation
    assert turn.calls[0].status == "error"
    assert turn.ending is None


async def test_the_deadline_cuts_a_hanging_tool(blueprint: Blueprint) -> None:
    limited = toolenvs.load("ReTool-v0", deadline_s=0.2)
    limited.tools["python"] = Counter()
    turn = await Episode(limited, TASK).step(call("hang"))
    assert (turn.ending, turn.truncated) == ("deadline", True)


async def test_an_ended_episode_takes_no_steps_and_has_closed_its_tools(blueprint: Blueprint) -> None:
    episode = Episode(blueprint, TASK)
    await episode.step(call("x"))
    await episode.step(ANSWER)
    assert blueprint.tools["python"].closed == 1
    with pytest.raises(TaskError, match="has ended"):
        await episode.step(ANSWER)
    await episode.close()


async def test_replay_gives_the_same_transcript_but_is_not_scored(blueprint: Blueprint) -> None:
    played, replayed = Episode(blueprint, TASK), Episode(blueprint, TASK)
    actions = [call("a"), call("b")]
    for action in actions:
        await played.step(action)
    text = await replayed.replay(actions)
    assert replayed.transcript.text == played.transcript.text == replayed.prompt + text
    assert replayed.transcript.policy_text() == ""
    await replayed.step(ANSWER)
    assert replayed.transcript.policy_text() == ANSWER
    with pytest.raises(TaskError, match="prefix action 2 of 2 ends the episode"):
        await Episode(blueprint, TASK).replay([call("a"), ANSWER])


async def test_forks_are_independent_and_carry_state(blueprint: Blueprint) -> None:
    episode = Episode(blueprint, TASK, seed=5, progress=0.5)
    await episode.step(call("a"))
    fork = await episode.fork()
    before = fork.transcript
    assert "call 2" in (await episode.step(call("b"))).observation
    assert fork.transcript == before
    assert fork.meter.calls == 1
    assert "call 2" in (await fork.step(call("c"))).observation
    assert (fork.seed, fork.progress) == (5, 0.5)
    assert blueprint.tools["python"].opened == [(5, 0.5)]


async def test_a_tool_that_cannot_fork_runs_its_calls_again_and_says_so(blueprint: Blueprint) -> None:
    episode = Episode(blueprint, TASK)
    for code in ("a", "refuse", "b", "c"):
        await episode.step(call(code))
    with pytest.warns(UserWarning, match="python cannot be copied .*run again"):
        fork = await episode.fork()
    assert "call 4" in (await fork.step(call("d"))).observation


async def test_an_exact_turn_stands_as_it_is(blueprint: Blueprint) -> None:
    episode = Episode(blueprint, TASK)
    turn = await episode.step(call("a") + "\n spill", exact=True)
    assert episode.transcript.policy_text(1).endswith("</code>\n spill")
    assert turn.calls
    turn = await episode.step("<code>\n```python\nopen call", exact=True)
    assert not turn.calls
    assert turn.ending == "answer"


async def test_a_turn_cut_short_ends_the_episode(blueprint: Blueprint) -> None:
    turn = await Episode(blueprint, TASK).step(call("a"), cut_short=True)
    assert (turn.ending, turn.truncated) == ("length", True)


async def test_segments_author_observations(blueprint: Blueprint, codec: TokenCodec) -> None:
    tokenized = toolenvs.load("ReTool-v0", tokenizer=codec, user="{question}")
    tokenized.tools["python"] = Counter()
    episode = Episode(tokenized, TASK)
    turn = await episode.step(call("a"))
    assert "".join(s.text for s in turn.segments if s.author is not Author.POLICY) == turn.observation
    content = [segment for segment in turn.segments if segment.verbatim]
    assert [segment.text for segment in content] == ["call 1"]
    assert episode.usage()["response_tokens"].used == codec.count(call("a")) + codec.count(turn.observation)


async def test_messages_of_an_inline_protocol_are_one_assistant_message(blueprint: Blueprint) -> None:
    episode = Episode(blueprint, TASK)
    await episode.step(call("a"))
    assert [message["role"] for message in episode.messages] == ["user", "assistant"]
    assert episode.messages[-1]["content"] == episode.transcript.response


async def test_messages_of_a_chat_protocol_alternate() -> None:
    chat = toolenvs.load("ReToolChat-v0")
    chat.tools["python"] = Counter()
    episode = Episode(chat, TASK)
    await episode.step('<tool_call>\n{"name": "code_interpreter", "arguments": {"code": "a"}}\n</tool_call>')
    await episode.step("\\boxed{42}<|im_end|>")
    assert [message["role"] for message in episode.messages] == ["user", "assistant", "tool", "assistant"]
    assert episode.messages[2]["content"] == "call 1"
    assert episode.messages[3]["content"] == "\\boxed{42}"


async def test_a_cancelled_turn_ends_the_episode_and_frees_its_tools(blueprint: Blueprint) -> None:
    episode = Episode(blueprint, TASK)
    await episode.step(call("a"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await episode.step(call("hang"))
    assert episode.ending == "infrastructure"
    assert blueprint.tools["python"].closed == 1
    with pytest.raises(TaskError, match=r"has ended \(infrastructure\)"):
        await episode.step(call("b"))


async def test_any_of_the_golds_is_right(blueprint: Blueprint) -> None:
    for answer, correct in (("1/2", True), ("7", True), ("0.5", True), ("3", False)):
        episode = Episode(blueprint, Task(id="t", question="q", golds=("0.5", "7")))
        await episode.step(f"<answer>\\boxed{{{answer}}}</answer>")
        assert episode.verdict is not None
        assert episode.verdict.correct is correct


async def test_each_turn_is_a_message_even_where_a_malformed_one_is_ignored() -> None:
    chat = toolenvs.load("ReToolChat-v0", malformed="ignore", max_turns=2, when_spent="notice")
    episode = Episode(chat, TASK)
    await episode.step("<tool_call>{</tool_call><|im_end|>")
    await episode.step("<tool_call>[</tool_call><|im_end|>")
    await episode.step("\\boxed{42}<|im_end|>")
    roles = [message["role"] for message in episode.messages]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert [episode.messages[i]["content"] for i in (2, 4)] == ["", "\nNo turns left. Give the final answer now."]


async def test_a_call_of_a_spent_tool_is_answered_while_others_have_calls_left() -> None:
    name = "toolenvs.tools.corrupted:Tool"
    made = toolenvs.load(
        "ReTool-v0", tools={name: {}}, when_spent="free_text", max_calls_per_tool={"python": 0, name: 1},
        **{"protocol.calls.lie": {"tool": name, "argument": "code"}},
    )  # fmt: skip
    made.tools["python"], made.tools[name] = Counter(), Counter()
    episode = Episode(made, TASK)
    turn = await episode.step(call("a"))
    assert "No calls left" in turn.observation
    assert episode.stop
    assert "call 1" in (await episode.step("<lie>b</lie>")).observation
    assert not episode.stop


@given(text=st.text(max_size=400), length=st.integers(130, 300), keep=st.sampled_from(["head", "tail", "middle"]))
def test_an_observation_fits_its_space(text: str, length: int, keep: str) -> None:
    made = toolenvs.load("ReTool-v0", observation_length=length, keep=keep, max_turns=1, when_spent="notice")
    made.tools["python"] = tool = Counter()

    async def say(self: Session, arguments: Any) -> ToolResult:
        return ToolResult(text=text)

    tool.open = lambda *_, **__: _opened(say)  # type: ignore[assignment,method-assign]
    turn = loop.run(Episode(made, TASK).step("<code>print(1)"))
    assert 0 < len(turn.observation) <= length
    assert turn.observation.startswith("</code>\n<interpreter>\n")
    assert turn.observation.endswith("</interpreter>\n\n")


async def _opened(say: Any) -> Any:
    return type("Saying", (Session,), {"call": say})(Counter())


@pytest.mark.parametrize("result", ["42", None, ToolResult(text=None), ToolResult(text=3)])  # type: ignore[arg-type]
async def test_a_tool_that_answers_with_something_else_is_infrastructure(blueprint: Blueprint, result: Any) -> None:
    async def answer(self: Session, arguments: Any) -> Any:
        return result

    blueprint.tools["python"].open = lambda *_, **__: _opened(answer)  # type: ignore[method-assign]
    turn = await Episode(blueprint, TASK).step(call("x"))
    assert turn.ending == "infrastructure"
    assert "not a ToolResult with text" in str(turn.fault)


@pytest.mark.parametrize("value", [None, float("nan"), "1", ZeroDivisionError("in the term")])
async def test_a_term_without_a_number_is_infrastructure(blueprint: Blueprint, value: Any) -> None:
    def term(moment: Any) -> Any:
        if isinstance(value, Exception):
            raise value
        return value

    blueprint._terms["outcome"] = term
    turn = await Episode(blueprint, TASK).step(call("x"))
    assert (turn.ending, turn.reward) == ("infrastructure", 0)
    turn = await Episode(blueprint, TASK).step(ANSWER)
    assert (turn.ending, turn.reward) == ("infrastructure", 0)


async def test_a_session_that_does_not_close_changes_nothing(blueprint: Blueprint, caplog: Any) -> None:
    async def fail(self: Session) -> None:
        raise OSError("stuck")

    session = type("Stuck", (Session,), {"close": fail})(blueprint.tools["python"])

    async def opened(*_: Any, **__: Any) -> Session:
        return session

    blueprint.tools["python"].open = opened  # type: ignore[method-assign]
    episode = Episode(blueprint, TASK)
    await episode.step(call("x"))
    assert (await episode.step(ANSWER)).reward == 1
    assert "did not close" in caplog.text


@pytest.mark.parametrize("key", ["opening", "closing", "remind"])
async def test_wordings_may_be_empty(key: str) -> None:
    made = toolenvs.load("ReTool-v0", malformed="remind", **{key: ""})
    made.tools["python"] = Counter()
    episode = Episode(made, TASK)
    await episode.step(call("x"))
    await episode.step("<code></code>")
    assert (await episode.step(ANSWER)).reward == 1


async def test_an_answer_in_a_program_is_not_paid() -> None:
    for page, turn in (
        ("ReTool-v0", "<code>print('\\boxed{42}')</code>"),
        ("ReTool-v0", "<code>print('\\boxed{42}')"),
        ("ReToolChat-v0", '<tool_call>{"name": "python", "arguments": {"code": "# \\\\boxed{42}"}}</tool_call>'),
    ):
        made = toolenvs.load(page, max_turns=1, when_spent="end")
        made.tools["python"] = Counter()
        played = await Episode(made, TASK).step(turn)
        assert (played.ending, played.reward < 0) == ("turns", True)


async def test_a_filled_block_ends_at_its_fence_wherever_it_stands() -> None:
    made = toolenvs.load("ToRL-v0", max_calls=0)
    assert (await Episode(made, TASK).step("```output\n41```\nSo \\boxed{42}")).reward == 1
    assert (await Episode(made, TASK).step("```output\n\\boxed{42}```\nSo it is")).reward == -1
