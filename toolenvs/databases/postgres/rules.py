"""What a query may ask of PostgreSQL, beside what its role may: no state, no other sessions, no SQL made from texts."""

import re

from toolenvs.databases.postgres.lexer import Token

FIRST = frozenset(["select", "values", "with", "table", "explain"])
"""Words that a query begins with."""
OTHERS = frozenset(
    [
        *(
            "abort",
            "alter",
            "analyse",
            "analyze",
            "begin",
            "call",
            "checkpoint",
            "close",
            "cluster",
            "comment",
            "commit",
        ),
        *(
            "copy",
            "create",
            "deallocate",
            "declare",
            "delete",
            "discard",
            "do",
            "drop",
            "end",
            "execute",
            "fetch",
            "grant",
        ),
        *("import", "insert", "listen", "load", "lock", "merge", "move", "notify", "prepare", "reassign", "refresh"),
        *(
            "reindex",
            "release",
            "reset",
            "revoke",
            "rollback",
            "savepoint",
            "security",
            "set",
            "show",
            "start",
            "truncate",
        ),
        *("unlisten", "update", "vacuum"),
    ]
)
"""Words that other statements begin with; the server says what is wrong with any further one."""
VOLATILE = frozenset(
    [
        *("random", "clock_timestamp", "timeofday", "gen_random_uuid", "setseed", "statement_timestamp"),
        *("system", "bernoulli"),  # of TABLESAMPLE; nothing else can call them
    ]
)
"""Of the functions that give another value at each call, or change something, those that may be called."""
_HIDDEN = re.compile(
    r"pg_stat.*|pg_locks|pg_prepared_\w+|pg_cursors|pg_settings|pg_file_settings|pg_hba_file_rules|pg_ident_file_mappings"
    r"|pg_config|pg_shmem_allocations|pg_backend_memory_contexts|pg_replication_\w+|pg_authid|pg_shadow|pg_user_mappings"
    r"|pg_largeobject.*|pg_show_all_settings|inet_(?:client|server)_(?:addr|port)|pg_listening_channels|pg_cursor"
    r"|pg_prepared_statement|pg_relation_file\w+|pg_filenode_relation"
)
"""Views and functions that show other sessions, or the server itself."""
_RUNS_TEXT = re.compile(r"\w+_to_xml\w*|dblink\w*|crosstab\w*|connectby|ts_stat|ts_rewrite")
_CLOCK = frozenset(
    [
        *("now", "current_timestamp", "current_date", "current_time", "localtime", "localtimestamp", "clock_timestamp"),
        *("statement_timestamp", "transaction_timestamp", "timeofday", "age", "gen_random_uuid", "pg_backend_pid"),
        *("pg_postmaster_start_time", "pg_conf_load_time", "pg_current_xact_id", "txid_current"),
        *("pg_current_snapshot", "txid_current_snapshot", "pg_my_temp_schema"),
    ]
)
_MOMENTS = frozenset(["now", "today", "tomorrow", "yesterday"])
_BESIDE_MOMENTS = re.compile(r"[\d:.+-].*|am|pm|utc|gmt|z|zulu|allballs")
_CONTENT = re.compile(r"(?:[eEnN]|[uU]&)?'(.*?)'?|\$(\w*)\$(.*?)\$\2\$", re.DOTALL)


class Refusal(Exception):
    """A text that is not run: `status`, `code`, and why."""

    def __init__(self, code: str, told: str, status: str = "refused") -> None:
        super().__init__(told)
        self.code = code
        self.status = status


def check(tokens: list[Token], answer: bool, volatile: frozenset[str]) -> None:
    """That a text is exactly one query that only reads, as far as its tokens tell.

    Args:
        tokens: of the text.
        answer: whether it has to be a query itself.
        volatile: names of the server's functions that are not to be called, in lower case.

    Raises:
        Refusal: it is not.
    """
    statements = _statements(tokens)
    if not statements:
        raise Refusal("empty", "there is no query: write one")
    if len(statements) > 1:
        raise Refusal("multi_statement", f"there are {len(statements)} statements: write exactly one")
    words = statements[0]
    first = next((token.name for token in words if token.text != "("), "")
    if words[0].kind == "word" and first in OTHERS:
        raise _forbidden(first.upper())
    if words[0].text == "\\":
        told = "commands with a backslash belong to psql: write SQL, such as TABLE information_schema.tables"
        raise Refusal("sql", told, "error")
    for token in words:
        if token.kind == "parameter":
            raise Refusal("sql", f"the parameter {token.text} has no value: write the value itself", "error")
        if token.text[:3].lower() == 'u&"':
            raise _forbidden('a name of the form U&"..."')
    if first == "explain":
        following = words[1].name if len(words) > 1 else ""
        if following not in FIRST - {"explain"}:
            raise _forbidden("EXPLAIN with options, or of a statement that does not only read")
        if answer:
            raise Refusal("not_a_query", "EXPLAIN only explains: answer with a query that gives the rows")
    for token, following_token in zip(words, [*words[1:], Token("other", "")], strict=True):
        name = token.name.lower()
        called = following_token.text == "("
        if (
            (token.kind == "word" and name == "into")
            or _HIDDEN.fullmatch(name)
            or (called and (name in volatile or _RUNS_TEXT.fullmatch(name)))
        ):
            raise _forbidden(f"{name}()" if called else name)


def repeatable(tokens: list[Token]) -> bool:
    """Whether a query reads no clock and takes no sample of its own choice, as far as its tokens tell."""
    names = [token.name.lower() for token in tokens]
    if "tablesample" in names and "repeatable" not in names:
        return False
    moments = (token.kind == "text" and _may_be_a_moment(token.text) for token in tokens)
    return not _CLOCK.intersection(names) and not any(moments)


def _may_be_a_moment(text: str) -> bool:
    """Whether the server would read the clock if a text were taken for a date or time."""
    content = _CONTENT.fullmatch(text)
    words = (content[1] or content[3] or "").lower().split() if content else []
    known = _MOMENTS.intersection(words)
    return bool(known) and all(word in _MOMENTS or _BESIDE_MOMENTS.fullmatch(word) for word in words)


def _statements(tokens: list[Token]) -> list[list[Token]]:
    found: list[list[Token]] = [[]]
    for token in tokens:
        if token.text == ";":
            found.append([])
        else:
            found[-1].append(token)
    return [statement for statement in found if statement]


def _forbidden(what: str) -> Refusal:
    return Refusal("forbidden", f"{what} is not allowed: the database is only read, by one SELECT, VALUES or WITH")
