"""Reading recordings: what is the page's own stays as it was, other forms arrive in the page's protocol."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs import blueprint
from toolenvs.blueprint import Blueprint
from toolenvs.coldstart import Reason, Recording, Rejection, Step
from toolenvs.coldstart.format import check_form
from toolenvs.coldstart.parse import read_messages, read_text
from toolenvs.protocols.base import Call

_PAGES = {page: blueprint.load(page) for page in ("ReTool-v0", "ReToolChat-v0", "ToRL-v0")}
_CALLING = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"code": "print(1)"}}}]}
_words = st.text(alphabet="abc é.\n1+", max_size=20).map(lambda text: " ".join(text.split()))


def call(env: Blueprint, code: str = "print(12 * 34)") -> str:
    return env.protocol.write_call(Call("python", {"code": code}))


@given(st.sampled_from(sorted(_PAGES)), st.lists(st.tuples(_words, _words, _words), max_size=4), _words)
def test_a_response_in_the_page_s_own_protocol_is_read_back_turn_by_turn(
    page: str, calls: list[tuple[str, str, str]], answer: str
) -> None:
    protocol = _PAGES[page].protocol
    steps = [Step(f"{words}\n{call(_PAGES[page], code or '1')}".strip(), output) for words, code, output in calls]
    text = ""
    for step in steps:
        around = protocol.observation(None, step.output or "")
        text += step.turn + around.opening + around.content + around.closing
    final = protocol.write_answer(f"\\boxed{{{answer}}}")
    assert read_text(text + final, protocol) == Recording((*steps, Step(final)))


def test_retool_s_text_form_arrives_in_every_protocol(env: Blueprint, retool_text: Callable[..., str]) -> None:
    recording = read_text(retool_text(), env.protocol)
    assert isinstance(recording, Recording)
    first, last = recording.steps
    reply = env.protocol.parse(first.turn)
    assert reply.calls == (Call("python", {"code": "print(12 * 34)"}),)
    assert first.turn.startswith("I multiply.")
    assert first.output == "408"
    assert "\\boxed{408}" in last.turn
    assert last.output is None


@pytest.mark.parametrize("as_json", [False, True])
def test_chat_messages_with_tool_calls_arrive_in_every_protocol(env: Blueprint, as_json: bool) -> None:
    arguments: Any = {"code": "print(12 * 34)"}
    function = {"name": "code_interpreter", "arguments": json.dumps(arguments) if as_json else arguments}
    messages = [
        {"role": "assistant", "content": "I multiply.", "tool_calls": [{"type": "function", "function": function}]},
        {"role": "tool", "content": "408\n", "tool_calls": None},
        {"role": "assistant", "content": "<answer>\n\\boxed{408}\n</answer>", "tool_calls": None},
    ]
    recording = read_messages(messages, env.protocol)
    final = "<answer>\n\\boxed{408}\n</answer>" + env.protocol.turn_end
    assert recording == Recording((Step(f"I multiply.\n{call(env)}", "408"), Step(final)))


def test_an_output_that_nobody_recorded_is_none(env: Blueprint) -> None:
    text = "<code>\n```python\nprint(12 * 34)\n```\n</code>\n\nSo.\n<answer>\n\\boxed{408}\n</answer>"
    recording = read_text(text, env.protocol)
    assert isinstance(recording, Recording)
    assert [step.output for step in recording.steps] == [None, None]


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([{"role": "tool", "content": "408"}, {"role": "assistant", "content": "x"}], Reason.UNFINISHED),
        ([_CALLING, {"role": "tool", "content": "1"}, {"role": "tool", "content": "2"}], Reason.UNFINISHED),
        ([{"role": "user", "content": "go on"}, {"role": "assistant", "content": "x"}], Reason.UNFINISHED),
        ([{"role": "assistant", "content": "", "tool_calls": [{}, {}]}], Reason.LEFTOVER),
        ([{"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]}], Reason.MALFORMED),
        ([{"role": "assistant", "tool_calls": [{"function": {"arguments": "{"}}]}], Reason.MALFORMED),
        ([{"role": "assistant", "tool_calls": [{"function": {"name": "search", "arguments": {}}}]}],
         Reason.UNKNOWN_TOOL),
    ],
)  # fmt: skip
def test_conversations_that_cannot_be_read_are_named(
    retool: Blueprint, messages: list[dict[str, Any]], reason: Reason
) -> None:
    rejection = read_messages(messages, retool.protocol)
    assert isinstance(rejection, Rejection)
    assert rejection.reason is reason


@given(
    st.sampled_from(sorted(_PAGES)),
    st.permutations(
        [
            "z",
            "w\n",
            "<code>",
            "</code>",
            "```python\n",
            "\n```",
            "<interpreter>",
            "</interpreter>",
            "```output",
            "<|im_end|>",
        ]
    ),
)
def test_any_text_is_read_and_none_of_its_words_lost(page: str, pieces: list[str]) -> None:
    recording = read_text("".join(pieces), _PAGES[page].protocol)
    assert isinstance(recording, Recording)
    kept = "".join(step.turn + (step.output or "") for step in recording.steps)
    assert (kept.count("z"), kept.count("w")) == (1, 1)
    check_form(recording, _PAGES[page])
