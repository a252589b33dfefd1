import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.coldstart.rewrite.calculations import find_calculations


@pytest.mark.parametrize(
    ("text", "program", "result"),
    [
        ("so 34 + 57 = 91. Then", "print(34 + 57)", "91"),
        ("(3 - 10) × 4 = -28", "print((3 - 10) * 4)", "-28"),
        (r"$12 \cdot 34 = 408$", "print(12 * 34)", "408"),
        ("12 - (-4) = 16", "print(12 - -4)", "16"),
        ("-5 * 3 = −15", "print(-5 * 3)", "-15"),
        ("2^10 = 1024", "print(2 ** 10)", "1024"),
        ("1,234 + 5 = 1,239, so", "print(1234 + 5)", "1239"),
        ("n = 3 + 4 = 7", "print(3 + 4)", "7"),
        ("1. 34 + 57 = 91", "print(34 + 57)", "91"),
        ("10 / 3 = 3.33", "print(round(10 / 3, 2))", "3.33"),
        ("12 ÷ 4 = 3", "print(round(12 / 4, 6))", "3.0"),
        ("0.1 + 0.2 = 0.3", "print(round(0.1 + 0.2, 1))", "0.3"),
        ("1.1 * 10 = 11", "print(round(1.1 * 10, 6))", "11.0"),
        ("34 + 57 = 92", "print(34 + 57)", "92"),
    ],
)
def test_a_calculation_becomes_a_program_and_what_the_text_states(text: str, program: str, result: str) -> None:
    (found,) = find_calculations(text)
    assert (found.program, found.result) == (program, result)
    assert text[found.end :].lstrip().startswith("=")


@pytest.mark.parametrize(
    "text",
    [
        "x - 3 * 4 = 5",
        "y + 12 * 3 = 40",
        "2x + 3 = 7",
        "f(3 + 4) = 7",
        "a_3 + 4 = 7",
        "5! + 3 = 123",
        "3 * 4 = 12x",
        "3 * 4 = 12%",
        "3 + 4 = 5 + 2",
        "3 + 4 == 7",
        "x = 7",
        "007 + 3 = 10",
        "3(4 + 1) = 15",
        "30 + \n4 = 34",
        "2023-05-06 = 3",
        "1" * 300 + " + 1 = 2",
        "1 + 1 = " + "2" * 5000,
        "(" * 150 + "1 + 1" + ")" * 20 + " = 2",
    ],
)
def test_what_is_no_whole_calculation_is_left_alone(text: str) -> None:
    assert find_calculations(text) == []


def test_of_a_chain_the_last_link_is_the_calculation() -> None:
    assert [found.program for found in find_calculations("2*3 + 4 = 6 + 4 = 10")] == ["print(6 + 4)"]


@given(
    st.lists(
        st.tuples(st.integers(0, 10**12), st.sampled_from("+-*"), st.integers(-(10**6), 10**12)), min_size=1, max_size=5
    )
)
def test_every_calculation_in_prose_is_found_with_its_value(calculations: list[tuple[int, str, int]]) -> None:
    sums = [f"{a} {operator} {f'({b})' if b < 0 else b}" for a, operator, b in calculations]
    values = [{"+": a + b, "-": a - b, "*": a * b}[operator] for a, operator, b in calculations]
    text = " Next, ".join(f"{left} = {value}." for left, value in zip(sums, values, strict=True))
    found = find_calculations(text)
    assert [calculation.result for calculation in found] == [str(value) for value in values]
    printed = [eval(calculation.program.removeprefix("print")) for calculation in found]
    assert printed == values


@given(st.text(alphabet="0123456789 .,+-*/^()=x$\\\n×−", max_size=200))
def test_any_text_gives_programs_that_only_print_arithmetic(text: str) -> None:
    for found in find_calculations(text):
        tree = ast.parse(found.program)
        assert {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} <= {"print", "round"}
        float(found.result)
