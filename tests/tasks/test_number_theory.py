"""The number theory generator: all kinds occur, and their golds agree with sympy's."""

import re
from collections import Counter

import sympy
from sympy.ntheory.modular import crt

from toolenvs import tasks


def by_kind(kind: str, count: int = 400) -> list[tuple[list[int], int]]:
    found = [task for task in tasks.load("number_theory", difficulty=3, size=count) if task.extra["kind"] == kind]
    assert found
    return [([int(n) for n in re.findall(r"\d+", task.question)], int(task.gold)) for task in found]


def test_kinds_are_about_equally_frequent():
    shares = Counter(task.extra["kind"] for task in tasks.load("number_theory", size=1600))
    assert len(shares) == 8
    assert min(shares.values()) > 100


def test_totients_agree_with_sympy():
    for (_, n, _, _), gold in by_kind("totient"):
        assert sympy.totient(n) == gold


def test_divisor_sums_agree_with_sympy():
    for (n,), gold in by_kind("divisor_sum"):
        assert sympy.divisor_sigma(n, 2) == gold


def test_congruences_agree_with_sympy():
    for (a, p, b, q, c, r), gold in by_kind("congruences"):
        assert crt([p, q, r], [a, b, c])[0] == gold


def test_numerals_are_written_in_the_base_they_say():
    for (numeral, start, end), gold in by_kind("base_conversion"):
        assert start != end
        assert int(str(numeral), start) == int(str(gold), end)
