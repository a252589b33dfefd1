"""What a query may ask of DuckDB: a statement that selects, without functions that show or change the engine itself."""

from typing import Any

import duckdb

READS_FILES = ("glob", "parquet_scan", "sniff_csv", "read_")
"""How names of functions begin that the settings refuse, with a better message than one from here."""
TABLE_FUNCTIONS = frozenset(
    [
        *("duckdb_columns", "duckdb_constraints", "duckdb_indexes", "duckdb_keywords", "duckdb_schemas"),
        *("duckdb_tables", "duckdb_types", "duckdb_views", "generate_series", "json_each", "json_tree", "pragma_show"),
        *("pragma_table_info", "range", "repeat", "repeat_row", "summary", "unnest"),
    ]
)
"""Functions in place of a table that may be called; DuckDB has more, some of which take addresses of memory."""
SCALAR_FUNCTIONS = frozenset(
    ["current_setting", "currval", "nextval", "parse_duckdb_log_message", "setval", "write_log"]
)
"""Functions that show or change the engine's state, and may not be called."""
VIEWS = frozenset(["duckdb_databases", "duckdb_logs", "pg_prepared_statements", "pg_settings", "pragma_database_list"])
"""Views that show where the file lies, or what others did."""
PRAGMAS = frozenset(["table_info", "show_tables", "show", "show_tables_expanded"])
_SELECTS = ("SELECT", "EXPLAIN", "PRAGMA", "MULTI")


class Refusal(Exception):
    """A text that is not run, and why: `code` and `told`."""

    def __init__(self, code: str, told: str) -> None:
        super().__init__(told)
        self.code = code


def check(sql: str, answer: bool, refused_functions: frozenset[str]) -> None:
    """That a text is exactly one query that only reads.

    Raises:
        Refusal: it is not.
        duckdb.Error: DuckDB cannot parse it.
    """
    statements = duckdb.extract_statements(sql)
    if not statements:
        raise Refusal("empty", "there is no query: write one")
    if len(statements) > 1:
        raise Refusal("multi_statement", f"there are {len(statements)} statements: write exactly one")
    kind = statements[0].type.name
    tokens = _tokens(sql)
    first = next((text.upper() for text in tokens), "")
    if kind not in _SELECTS or (kind == "MULTI" and first not in ("PIVOT", "FROM", "SELECT", "WITH", "UNPIVOT", "(")):
        raise _forbidden(first if kind == "MULTI" else kind)
    if kind == "PRAGMA" and (len(tokens) < 2 or tokens[1].lower() not in PRAGMAS or "=" in tokens):
        raise _forbidden(f"PRAGMA {tokens[1] if len(tokens) > 1 else ''}".strip())
    if kind == "EXPLAIN":
        _check_explained(sql, tokens)
    if answer and (kind in ("EXPLAIN", "PRAGMA") or first in ("DESCRIBE", "DESC", "SHOW", "SUMMARIZE")):
        raise Refusal("not_a_query", f"{first} only explains or describes: answer with a query that gives the rows")
    for text, following in zip(tokens, [*tokens[1:], ""], strict=True):
        name = _name(text)
        if name in VIEWS or (following == "(" and (name in refused_functions or name in SCALAR_FUNCTIONS)):
            raise _forbidden(f"{name}()" if following == "(" else name)


def _check_explained(sql: str, tokens: list[str]) -> None:
    """EXPLAIN of a query; with ANALYZE it would show times."""
    if len(tokens) < 2 or tokens[1].upper() in ("ANALYZE", "ANALYSE", "("):
        raise _forbidden("EXPLAIN with options")
    inner = duckdb.extract_statements(sql[sql.upper().index("EXPLAIN") + 7 :])
    if len(inner) != 1 or inner[0].type.name != "SELECT":
        raise _forbidden("EXPLAIN of a statement that does not only read")


def refused_functions(connection: Any) -> frozenset[str]:
    """Functions in place of a table that are not among those that may be called."""
    found = connection.execute("SELECT function_name FROM duckdb_functions() WHERE function_type = 'table'")
    names = {name.lower() for (name,) in found.fetchall()}
    return frozenset(name for name in names - TABLE_FUNCTIONS if not name.startswith(READS_FILES))


def _tokens(sql: str) -> list[str]:
    """The tokens of a text without its comments; texts are left out too."""
    data = sql.encode()  # offsets are in bytes
    marks = duckdb.tokenize(sql)
    ends = [at for at, _ in marks[1:]] + [len(data)]
    texts = []
    for (begin, kind), end in zip(marks, ends, strict=True):
        text = data[begin:end].decode("utf-8", "replace").strip()
        if kind.name == "comment" or not text:
            continue
        texts.append("''" if kind.name == "string_const" else text.split("/*")[0].split("--")[0].strip())
    return texts


def _name(token: str) -> str:
    if token[:1] == '"':
        token = token[1:].rpartition('"')[0].replace('""', '"')
    return token.lower()


def _forbidden(what: str) -> Refusal:
    return Refusal("forbidden", f"{what} is not allowed: the database is only read, by one query")
