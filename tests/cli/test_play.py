"""`toolenvs play`, with typed input."""

import re

_PROGRAM = "let me see\n<code>\nprint(6 * 7)\n</code>\n"


def test_a_person_plays_to_the_end(run) -> None:
    gold = re.search(r"gold: (\S+)", run("play", "ReTool-v0", typed="no\n.\n").output)
    assert gold is not None
    result = run("play", "ReTool-v0", typed=f"{_PROGRAM}it is\n\\boxed{{{gold[1]}}}\n.\n")
    assert result.exit_code == 0
    assert "<interpreter>\n42</interpreter>" in result.output
    assert "[python: ok," in result.output
    assert "stop: '</code>'" in result.output
    assert result.output.endswith(
        f"ending: answer\nsuccess: True\nreward: 1\nterms of the last turn: outcome 1\ngold: {gold[1]}\n"
    )


def test_keys_of_the_page_can_be_overridden(run) -> None:
    result = run("play", "ReTool-v0", "--set", "budget.max_calls=0", typed=_PROGRAM)
    assert result.exit_code == 0
    assert "42" not in result.output.split("let me see")[-1].split("gold")[0]
    assert "ending: calls" in result.output


def test_task_and_seed_choose_what_is_asked(run) -> None:
    def first(*arguments: str) -> str:
        return run("play", "ReTool-v0", *arguments, typed="").output

    assert first("--task", "3") == first("--seed", "3") != first()
    assert first("--task", "number_theory/train/0/3") == first("--task", "3")


def test_leaving_early_pays_nothing(run) -> None:
    result = run("play", "ReTool-v0", typed="half a turn\n")
    assert result.exit_code == 0
    assert "left before the end: no reward" in result.output
    assert "reward: " not in result.output


def test_unknown_task(run) -> None:
    result = run("play", "ReTool-v0", "--task", "nothing", typed="")
    assert result.exit_code == 2
    assert "nothing" in result.stderr


def test_budgets_that_do_not_bind_are_not_counted_down(run) -> None:
    result = run("play", "ReTool-v0", "--set", "budget.max_calls=2", typed="")
    (line,) = [line for line in result.output.splitlines() if line.startswith("[turn 1;")]
    assert "64 turns, 2 calls" in line
    assert "tokens" not in line
