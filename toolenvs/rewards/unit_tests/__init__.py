"""The judge that runs code: a program is held against tests that it never sees the answers of.

    >>> from toolenvs.rewards import unit_tests
    >>> tests = [{"call": "add", "args": [2, 3], "expected": 5}, {"call": "add", "args": [0, 0], "expected": 0}]
    >>> unit_tests.judge(code="def add(a, b): return a + b", tests=tests).passed  # doctest: +SKIP
    2

Each test is a fresh interpreter in a sandbox. Only its input goes in; what the program printed or returned comes out as
text, and is compared here. So a program may lie about its own process as it likes (end it, rewrite `print` or `json`,
return objects that equal everything): it gains nothing without the right values. Not covered: a program that holds
the answers itself, so keep tests out of what a policy can read.
"""

from .judging import Outcome, Report, ajudge, check_solution, extract, judge

__all__ = ["Outcome", "Report", "ajudge", "check_solution", "extract", "judge"]
