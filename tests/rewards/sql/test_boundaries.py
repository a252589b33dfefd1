"""What a query compares its columns with."""

import pytest

from toolenvs.rewards.sql.boundaries import Boundary, boundaries


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a FROM t WHERE b > 5", [("b", 5)]),
        ("WHERE t.b>=-5 AND 3.5 < s.C", [("b", -5), ("c", 3.5)]),
        ("WHERE \"Big Name\" <> 'it''s' OR [x] != 1e3", [("big name", "it's"), ("x", 1e3)]),
        ("WHERE a BETWEEN 1 AND 9 AND b NOT BETWEEN 2 AND 3", [("a", 1), ("a", 9), ("b", 2), ("b", 3)]),
        ("WHERE a IN ('x', 'y') AND b NOT IN (1, 2)", [("a", "x"), ("a", "y"), ("b", 1), ("b", 2)]),
        ("WHERE a = b AND c = (SELECT 1)", []),
        ("WHERE a - 1 > 2 AND a < b - 1", []),
        ("HAVING count(*) > 5", []),
        ("WHERE 5 < length(a)", []),
        ("WHERE x = 5 -- and y = 6", [("x", 5)]),
        ("WHERE note = 'a > 5'", [("note", "a > 5")]),
        ("", []),
        ("= = =", []),
        ("a IN (", []),
    ],
)
def test_boundaries(sql: str, expected: list[tuple[str, int | float | str]]) -> None:
    assert list(boundaries(sql)) == [Boundary(*pair) for pair in expected]


def test_patterns() -> None:
    found = boundaries("WHERE a LIKE 'x%' AND b NOT LIKE '%y_'")
    assert found == (Boundary("a", "x%", pattern=True), Boundary("b", "%y_", pattern=True))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a.x, count(*) FROM a GROUP BY a.x HAVING count(*) >= 3", [("x", 3)]),
        ("GROUP BY x, y HAVING 4 < count(DISTINCT z) AND min(x) > 7 ORDER BY 1", [("x", 4), ("y", 4)]),
        ('GROUP BY "Big Id" HAVING count(*) BETWEEN 2 AND 5 LIMIT 3', [("big id", 2), ("big id", 5)]),
        ("HAVING count(*) > 5", []),
        ("GROUP BY x ORDER BY count(*) > 5", []),
        ("GROUP BY x HAVING count(*) > (SELECT 5)", []),
        ("GROUP BY x HAVING count(", []),
    ],
)
def test_counts_of_groups(sql: str, expected: list[tuple[str, int]]) -> None:
    assert [(b.column, b.value) for b in boundaries(sql) if b.counted] == expected
