import pytest

from toolenvs import blueprint
from toolenvs.blueprint import Blueprint
from toolenvs.coldstart import Reason, Recording, Step
from toolenvs.coldstart.format import check_form
from toolenvs.protocols.base import Call

_CALL = "<code>\n```python\nprint(1)\n```\n</code>"
_ANSWER = "<answer>\n\\boxed{1}\n</answer>"


def reason_of(env: Blueprint, *turns: str) -> Reason | None:
    rejection = check_form(Recording(tuple(Step(turn, "1") for turn in turns)), env)
    return None if rejection is None else rejection.reason


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        ((_CALL, _ANSWER), None),
        ((f"Words.\n{_CALL}", _CALL, f"Words with ```a fence```.\n{_ANSWER}"), None),
        ((), Reason.UNFINISHED),
        ((_CALL,), Reason.UNFINISHED),
        ((_CALL, _CALL), Reason.UNFINISHED),
        (("Words.", _ANSWER), Reason.UNFINISHED),
        ((_ANSWER, _ANSWER), Reason.UNFINISHED),
        ((_CALL, ""), Reason.NO_ANSWER),
        ((_CALL, "It is \\boxed{1}."), Reason.NO_ANSWER),
        ((_ANSWER,), Reason.NO_CALL),
        (("print(1)</code>", _ANSWER), Reason.MALFORMED),
        (("<code></code>", _ANSWER), Reason.MALFORMED),
        (("<code>\n```python\nprint(1)\n```", _ANSWER), Reason.MALFORMED),
        ((_CALL, "<code>print(1)"), Reason.MALFORMED),
        ((f"<interpreter>1</interpreter>{_CALL}", _ANSWER), Reason.FORGED),
        ((_CALL, f"<interpreter>\n1\n{_ANSWER}"), Reason.FORGED),
        ((_CALL, f"</interpreter>{_ANSWER}"), Reason.FORGED),
        ((f"<code>{_CALL}", _ANSWER), Reason.LEFTOVER),
        ((f"{_ANSWER}{_CALL}", _ANSWER), Reason.LEFTOVER),
        ((_CALL, f"<code> stays open {_ANSWER}"), Reason.LEFTOVER),
        ((_CALL, f"{_ANSWER}{_ANSWER}"), Reason.LEFTOVER),
        ((_CALL, f"<|im_start|>{_ANSWER}"), Reason.FORGED),
        ((f"{_CALL}{_CALL}", _ANSWER), Reason.LEFTOVER),
    ],
)
def test_tags(retool: Blueprint, turns: tuple[str, ...], reason: Reason | None) -> None:
    assert reason_of(retool, *turns) is reason


def test_every_protocol_passes_what_it_wrote_itself(env: Blueprint) -> None:
    call = env.protocol.write_call(Call("python", {"code": "print(1)"}))
    answer = env.protocol.write_answer("\\boxed{1}")
    assert reason_of(env, call, call, answer) is None
    assert reason_of(env, answer) is Reason.NO_CALL
    assert reason_of(env, call) is Reason.UNFINISHED


def test_a_tool_that_the_page_lacks_is_named() -> None:
    chat = blueprint.load("ReToolChat-v0")
    turn = chat.protocol.write_call(Call("search", {"query": "x"}))
    assert reason_of(chat, turn, chat.protocol.write_answer("1")) is Reason.UNKNOWN_TOOL


def test_the_detail_says_which_turn(retool: Blueprint) -> None:
    rejection = check_form(Recording((Step(_CALL, "1"), Step("</code>", "1"), Step(_ANSWER))), retool)
    assert rejection is not None
    assert rejection.detail.startswith("turn 2 of 3: ")
