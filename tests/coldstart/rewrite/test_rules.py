from collections.abc import Callable

import pytest

from toolenvs.blueprint import Blueprint
from toolenvs.coldstart import Reason, Recording, Rejection, Rules, Source, build, from_tasks
from toolenvs.protocols.base import Call
from toolenvs.tasks.rows import from_rows
from toolenvs.tasks.task import Task


def source(solution: str, gold: str = "91") -> Source:
    return Source(task=Task(id="t", question="q", golds=(gold,)), solution=solution)


async def test_the_words_stay_and_the_calculation_goes_to_the_interpreter(retool: Blueprint) -> None:
    recording = await Rules().rewrite(source("We add: 34 + 57 = 91. The answer is 91."), retool.protocol)
    call = retool.protocol.write_call(Call("python", {"code": "print(34 + 57)"}))
    assert isinstance(recording, Recording)
    assert [(step.turn, step.output) for step in recording.steps] == [
        (f"We add: 34 + 57\n{call}", "91"),
        ("= 91. The answer is 91.\n<answer>\n\\boxed{91}\n</answer>", None),
    ]


async def test_all_words_of_every_generated_solution_are_kept_in_order(env: Blueprint) -> None:
    for task in (env.tasks[index] for index in range(50)):
        (given,) = from_tasks([task])
        recording = await Rules(min_digits=1).rewrite(given, env.protocol)
        assert isinstance(recording, Recording)
        words = [
            step.turn.removesuffix(env.protocol.write_call(env.protocol.parse(step.turn).calls[0]))
            for step in recording.steps[:-1]
        ]
        final = recording.steps[-1].turn.removesuffix(env.protocol.write_answer(f"\\boxed{{{task.gold}}}"))
        assert " ".join(" ".join([*words, final]).split()) == given.solution


@pytest.mark.parametrize(
    ("solution", "reason"),
    [
        ("  ", Reason.NO_SOLUTION),
        ("Clearly the answer is 91.", Reason.NO_CALCULATION),
        ("3 + 4 = 7. The answer is 7.", Reason.NO_CALCULATION),
    ],
)
async def test_what_cannot_be_rewritten_is_named(retool: Blueprint, solution: str, reason: Reason) -> None:
    rejection = await Rules().rewrite(source(solution), retool.protocol)
    assert isinstance(rejection, Rejection)
    assert rejection.reason is reason


def test_a_wrong_step_is_found_by_running_it(retool: Blueprint) -> None:
    report = build(retool, [source("34 + 57 = 92. The answer is 91.")], Rules())
    assert {reason: entry.count for reason, entry in report.rejected.items()} == {Reason.WRONG_OUTPUT: 1}
    assert "'91'; recorded is '92'" in report.rejected[Reason.WRONG_OUTPUT].examples[0][1]


def test_the_gold_answer_is_never_written_for_the_solution(retool: Blueprint, recorded: Callable[..., Source]) -> None:
    report = build(retool, [source("34 + 57 = 91. The answer is 19.")], Rules())
    assert list(report.rejected) == [Reason.WRONG_ANSWER]


def test_a_gsm8k_row_loses_its_annotations_and_answers_with_its_last_value(retool: Blueprint) -> None:
    solution = (
        "Ann picks 48/2 = <<48/2=24>>24 pears on Monday, and eats 3.\n"
        "Of 48+24 = <<48+24=72>>72 pears, 72 - 3 = <<72-3=69>>69 are left.\n#### 69"
    )
    tasks = from_rows([{"question": "How many pears are left?", "answer": solution}])
    (row,) = build(retool, from_tasks(tasks), Rules()).rows
    assert "<<" not in row.transcript.response
    programs = [
        retool.protocol.parse(row.transcript.policy_text(turn)).calls[0].arguments["code"] for turn in (1, 2, 3)
    ]
    assert programs == ["print(round(48 / 2, 6))", "print(48 + 24)", "print(72 - 3)"]
    assert row.transcript.policy_text(4) == "= 69 are left.\n<answer>\n\\boxed{69}\n</answer>"


def test_a_solution_that_is_one_calculation_answers_with_its_value(retool: Blueprint) -> None:
    (row,) = build(retool, [source("34 + 57 = 91 pears")], Rules()).rows
    assert row.transcript.policy_text(2).endswith("\\boxed{91}\n</answer>")
