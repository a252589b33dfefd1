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
        ("WHERE a - 1 > 2 AND a < b - 1", [("a", 3)]),
        ("WHERE a + 2 <= 1 AND b * 4 = 6 AND CAST(c AS REAL) / 12 > 200", [("a", -1), ("b", 1.5), ("c", 2400)]),
        ("WHERE 2 + 3 > a AND a * 0 = 0 AND a + b > 3", [("a", 3), ("b", 3)]),
        ("HAVING max(t.a) > 5 AND avg(b) BETWEEN 1 AND 2", [("a", 5), ("b", 1), ("b", 2)]),
        ("WHERE lower(a) = 'late' AND UPPER(b) IN ('X')", [("a", "late"), ("a", "LATE"), ("b", "x"), ("b", "X")]),
        ("WHERE length(a) = 1 AND length(a) > 'x'", [("a", "q"), ("a", "qq")]),
        ("WHERE length(a) > 1000000000", []),
        (
            "WHERE strftime('%Y', d) = '2022' AND CAST(strftime('%Y', e) AS INTEGER) > 1999",
            [("d", "2022"), ("e", "1999")],
        ),
        ("WHERE date(d) = '2022-01-05' AND substr(d, 1, 7) < '2023-02'", [("d", "2022-01-05"), ("d", "2023-02")]),
        ("WHERE coalesce(a, 0) < 5 AND round(b, 1) > 2.5", [("a", 5), ("b", 2.5)]),
        ("WHERE (SELECT max(a) FROM t) > 5 AND (CASE WHEN a THEN 1 END) = 1 AND julianday(d) > 5", []),
        ("WHERE b / 1e300 > 1e300 AND c < 1e999", [("c", float("inf"))]),
        (") > 5 AND () = 1 OR f(1) < 2", []),
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
