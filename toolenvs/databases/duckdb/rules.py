"""What a query may ask of DuckDB: a statement that selects, without functions that show or change the engine itself."""

import unicodedata
from itertools import pairwise
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
OTHER_FUNCTIONS = frozenset(
    [
        *("current_setting", "currval", "nextval", "parse_duckdb_log_message", "setval", "write_log"),
        *("duckdb_logs_parsed", "duckdb_profiling_settings", "get_block_size"),
    ]
)
"""Functions and macros that show or change the engine's state, and may not be called."""
MOMENTS = {
    "TIMESTAMPTZ '{now}+00'": (
        *("now", "get_current_timestamp", "current_timestamp", "transaction_timestamp"),
        *("pg_conf_load_time", "pg_postmaster_start_time"),
    ),
    "TIMESTAMP '{now}'": ("current_localtimestamp", "localtimestamp"),
    "TIMESTAMP '{now}'::TIME": ("current_localtime", "localtime"),
    "TIMESTAMPTZ '{now}+00'::TIMETZ": ("current_time", "get_current_time"),
    "DATE '{day}'": ("current_date", "today"),
    "1": ("txid_current", "current_connection_id", "current_query_id", "current_transaction_id"),
    "uuid()": ("uuidv7",),
}
"""What stands for the functions that differ from run to run."""
CLOCK = frozenset([name for names in MOMENTS.values() for name in names] + ["age", "ago"])
"""Functions that macros stand for; by its full name, a function of the engine would be called."""
VIEWS = frozenset(["duckdb_databases", "duckdb_logs", "pg_prepared_statements", "pg_settings", "pragma_database_list"])
"""Views that show where the file lies, or what others did."""
PRAGMAS = frozenset(["table_info", "show_tables", "show", "show_tables_expanded"])
_SELECTS = ("SELECT", "EXPLAIN", "PRAGMA", "MULTI")


class Refusal(Exception):
    """A text that is not run, and why: `code` and `told`."""

    def __init__(self, code: str, told: str) -> None:
        super().__init__(told)
        self.code = code


def check(sql: str, answer: bool, refused_functions: frozenset[str]) -> bool:
    """That a text is exactly one query that only reads; whether it gives the same rows on every run.

    Raises:
        Refusal: it is not.
        duckdb.Error: DuckDB cannot parse it.
    """
    statements = duckdb.extract_statements(sql)
    if not statements:
        raise Refusal("empty", "there is no query: write one")
    if len(statements) > 1:
        raise Refusal("multi_statement", f"there are {len(statements)} statements: write exactly one")
    tokens = _tokens(_with_plain_spaces(sql))
    first = next((text.upper() for text in tokens), "")
    try:
        kind = statements[0].type.name
    except ValueError:  # a kind that this version of the package has no name for
        raise _forbidden(first) from None
    if kind not in _SELECTS or (kind == "MULTI" and first not in ("PIVOT", "FROM", "SELECT", "WITH", "UNPIVOT", "(")):
        raise _forbidden(first if kind == "MULTI" else kind)
    if kind == "PRAGMA" and (len(tokens) < 2 or tokens[1].lower() not in PRAGMAS or "=" in tokens):
        raise _forbidden(f"PRAGMA {tokens[1] if len(tokens) > 1 else ''}".strip())
    if kind == "EXPLAIN":
        _check_explained(sql, tokens)
    if answer and (kind in ("EXPLAIN", "PRAGMA") or first in ("DESCRIBE", "DESC", "SHOW", "SUMMARIZE")):
        raise Refusal("not_a_query", f"{first} only explains or describes: answer with a query that gives the rows")
    for before, text, following in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        name = _name(text)
        called = following == "("
        refused = name in refused_functions or name in OTHER_FUNCTIONS or (before == "." and name in CLOCK)
        if name in VIEWS or (called and refused):
            raise _forbidden(f"{name}()" if called else name)
    return not _takes_a_sample([token.lower() for token in tokens])


def _takes_a_sample(words: list[str]) -> bool:
    """Whether rows are sampled without a seed: the engine's own for that cannot be set."""
    sampled = "tablesample" in words or ("using", "sample") in pairwise(words)
    return sampled and "repeatable" not in words


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


def _with_plain_spaces(sql: str) -> str:
    """The text with every space of Unicode as a plain one: DuckDB takes them for spaces, its `tokenize` for letters."""
    if sql.isascii():
        return sql
    return "".join([" " if not c.isascii() and unicodedata.category(c)[0] in "ZC" else c for c in sql])


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
