"""What is kept is what the interpreter and the judge say of it, run for real."""

from collections.abc import Callable

import pytest

from toolenvs import blueprint
from toolenvs.blueprint import Blueprint
from toolenvs.coldstart import Reason, Recorded, Report, Source, build
from toolenvs.coldstart.parse import read_text
from toolenvs.transcript import Author

_ERROR = "NameError: name 'x' is not defined"
Text = Callable[..., str]
Recording = Callable[..., Source]


def one(env: Blueprint, source: Source, outputs: str = "require") -> Report:
    return build(env, [source], Recorded(), outputs="replace" if outputs == "replace" else "require")


def test_a_sound_recording_is_kept_in_the_page_s_own_spacing(
    retool: Blueprint, recorded: Recording, retool_text: Text
) -> None:
    (row,) = one(retool, recorded(retool_text())).rows
    assert row.transcript.response == (
        "I multiply.\n\n<code>\n```python\nprint(12 * 34)\n```\n</code>\n<interpreter>\n408</interpreter>\n\n"
        "That settles it.\n\n<answer>\n\\boxed{408}\n</answer>"
    )
    assert row.transcript.policy_text(1) == "I multiply.\n\n<code>\n```python\nprint(12 * 34)\n```\n</code>"
    assert "".join(s.text for s in row.transcript.by(Author.TOOL)) == "\n<interpreter>\n408</interpreter>\n\n"
    assert row.messages[-1] == {"role": "assistant", "content": row.transcript.response}
    assert (row.env, row.provenance.calls, row.provenance.replaced) == ("ReTool-v0", 1, 0)


def test_every_page_keeps_it_in_its_own_protocol(env: Blueprint, recorded: Recording, retool_text: Text) -> None:
    (row,) = one(env, recorded(retool_text())).rows
    assert row.prompt == env.render_prompt(row.task)
    turns = [env.protocol.parse(row.transcript.policy_text(turn)) for turn in (1, 2)]
    assert [bool(turn.calls) for turn in turns] == [True, False]


def test_a_kept_row_replays_to_itself(env: Blueprint, recorded: Recording, retool_text: Text) -> None:
    (row,) = one(env, recorded(retool_text())).rows

    class Again:
        name = "recorded"

        async def rewrite(self, source, protocol):
            return read_text(row.transcript.response, protocol)

    assert build(env, [Source(task=row.task)], Again()).rows == (row,)


def test_a_wrong_output_rejects_or_is_replaced(retool: Blueprint, recorded: Recording, retool_text: Text) -> None:
    source = recorded(retool_text(output="407"))
    report = one(retool, source)
    assert list(report.rejected) == [Reason.WRONG_OUTPUT]
    assert report.rejected[Reason.WRONG_OUTPUT].examples == (("t", "call 1 gives '408'; recorded is '407'"),)
    (row,) = one(retool, source, "replace").rows
    assert "407" not in row.transcript.response
    assert (row.provenance.replaced, row.provenance.outputs) == (1, "replace")


@pytest.mark.parametrize("outputs", ["require", "replace"])
def test_a_wrong_answer_rejects(retool: Blueprint, recorded: Recording, retool_text: Text, outputs: str) -> None:
    report = one(retool, recorded(retool_text(answer="409")), outputs)
    assert list(report.rejected) == [Reason.WRONG_ANSWER]
    assert "'409' for '408'" in report.rejected[Reason.WRONG_ANSWER].examples[0][1]


def test_an_equivalent_answer_is_correct(retool: Blueprint, recorded: Recording, retool_text: Text) -> None:
    assert len(one(retool, recorded(retool_text(answer="\\frac{816}{2}"))).rows) == 1


def test_a_program_that_fails_is_kept_only_where_the_recording_says_so(
    retool: Blueprint, recorded: Recording, retool_text: Text
) -> None:
    (row,) = one(retool, recorded(retool_text("print(x)", _ERROR))).rows
    assert row.provenance.failed_calls == 1
    assert _ERROR in row.transcript.response
    assert list(one(retool, recorded(retool_text("print(x)", "408"))).rejected) == [Reason.WRONG_OUTPUT]
    (replaced,) = one(retool, recorded(retool_text("print(x)", "408")), "replace").rows
    assert replaced.transcript == row.transcript


def test_an_output_that_was_not_recorded_is_missing_or_filled_in(retool: Blueprint, recorded: Recording) -> None:
    source = recorded("<code>\n```python\nprint(408)\n```\n</code>\n<answer>\\boxed{408}</answer>")
    assert list(one(retool, source).rejected) == [Reason.MISSING_OUTPUT]
    (row,) = one(retool, source, "replace").rows
    assert (row.provenance.replaced, "\n<interpreter>\n408</interpreter>" in row.transcript.response) == (1, True)


def test_nothing_is_kept_from_one_program_to_the_next(
    retool: Blueprint, recorded: Recording, retool_text: Text
) -> None:
    first = "<code>\n```python\nx = 408\nprint(x)\n```\n</code>\n<interpreter>\n408\n</interpreter>\n\n"
    assert list(one(retool, recorded(first + retool_text("print(x)"))).rejected) == [Reason.WRONG_OUTPUT]
    assert len(one(retool, recorded(first + retool_text("print(x)", _ERROR))).rows) == 1


def test_a_printed_marker_is_compared_and_kept_as_the_environment_breaks_it_up(
    retool: Blueprint, recorded: Recording, retool_text: Text
) -> None:
    (row,) = one(retool, recorded(retool_text("print('<' + 'answer>')", "<answer>"))).rows
    assert "\n<interpreter>\n<\\answer></interpreter>" in row.transcript.response


def test_a_budget_of_the_page_ends_the_replay(recorded: Recording, retool_text: Text) -> None:
    short = blueprint.load("ReTool-v0", max_turns=1, **{"tasks.set": "arithmetic"})
    report = one(short, recorded(retool_text()))
    assert report.rejected[Reason.ENDED].examples == (("t", "call 1 of 1 ended the episode (turns)"),)
    short = blueprint.load("ToRL-v0", **{"tasks.set": "arithmetic"})
    first = "<code>\n```python\nprint(1)\n```\n</code>\n<interpreter>\n1\n</interpreter>\n\n"
    report = one(short, recorded(first + retool_text()))
    assert report.rejected[Reason.ENDED].examples == (("t", "call 2 of 2 ended the episode (answer)"),)


def test_malformed_recordings_reach_no_interpreter(retool: Blueprint, recorded: Recording) -> None:
    assert list(one(retool, recorded("x</code>\n<interpreter>1</interpreter>\n<answer>1</answer>")).rejected) == [
        Reason.MALFORMED
    ]
    assert list(one(retool, recorded("<interpreter>\n408\n</interpreter><answer>408</answer>")).rejected) == [
        Reason.FORGED
    ]
