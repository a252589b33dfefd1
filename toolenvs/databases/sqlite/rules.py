"""What a query may touch: names of functions, tables and pragmas, everything else is refused."""

import sqlite3
from collections.abc import Callable, Iterable


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FIRST = {"SELECT", "VALUES", "WITH", "EXPLAIN", "PRAGMA"}
"""Words that a query begins with."""
STATEMENTS = _words(
    """ALTER ANALYZE ATTACH BEGIN COMMIT CREATE DELETE DETACH DROP END INSERT REINDEX RELEASE REPLACE ROLLBACK
    SAVEPOINT UPDATE VACUUM"""
)
"""Words that other statements begin with; SQLite itself says what is wrong with any further one."""
PRAGMAS = _words(
    """foreign_key_list index_info index_list index_xinfo table_info table_list table_xinfo data_version"""
)
"""Those that describe the schema; the last is read by full-text tables."""
EPONYMOUS = frozenset(["json_each", "json_tree", *(f"pragma_{name}" for name in PRAGMAS - {"data_version"})])
"""Tables that every database has, without a file's path or the engine's state in them."""
CATALOGUE = frozenset(["sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema"])
FUNCTIONS = _words(
    """-> ->> abs acos acosh asin asinh atan atan2 atanh avg bm25 ceil ceiling changes char coalesce concat concat_ws
    cos cosh count cume_dist current_date current_time current_timestamp date datetime degrees dense_rank exp
    first_value floor format glob group_concat hex highlight ifnull if iif instr json json_array
    json_array_length json_error_position json_extract json_group_array json_group_object json_insert
    json_object json_patch json_pretty json_quote json_remove json_replace json_set json_type json_valid jsonb
    jsonb_array jsonb_extract jsonb_group_array jsonb_group_object jsonb_insert jsonb_object jsonb_patch
    jsonb_remove jsonb_replace jsonb_set julianday lag last_insert_rowid last_value lead length like
    likelihood likely ln log log10 log2 lower ltrim match matchinfo max median min mod nth_value ntile nullif
    octet_length offsets percent_rank percentile percentile_cont percentile_disc pi pow power printf quote
    radians random randomblob rank replace round row_number rtrim sign sin sinh snippet soundex sqlite_version
    sqrt strftime string_agg substr substring subtype sum tan tanh time timediff total total_changes trim
    trunc typeof unhex unicode unixepoch unlikely unistr unistr_quote upper zeroblob"""
)
"""Functions of SQLite that compute from their arguments alone; load_extension, fts3_tokenizer, sqlite_log are not."""
_ACTIONS = {
    getattr(sqlite3, f"SQLITE_{name}"): name.replace("_", " ")
    for name in _words(
        """ALTER_TABLE ANALYZE ATTACH CREATE_INDEX CREATE_TABLE CREATE_TEMP_INDEX CREATE_TEMP_TABLE
        CREATE_TEMP_TRIGGER CREATE_TEMP_VIEW CREATE_TRIGGER CREATE_VIEW CREATE_VTABLE DELETE DETACH
        DROP_INDEX DROP_TABLE DROP_TEMP_INDEX DROP_TEMP_TABLE DROP_TEMP_TRIGGER DROP_TEMP_VIEW
        DROP_TRIGGER DROP_VIEW DROP_VTABLE INSERT REINDEX SAVEPOINT TRANSACTION UPDATE"""
    )
}


_KEPT = 4_096


class Authorizer:
    """Answers what SQLite asks about everything that a statement would do, while it compiles it."""

    def __init__(self, tables: Iterable[str]) -> None:
        """`tables`: the names of those of the file, views included."""
        self._tables = EPONYMOUS | CATALOGUE | {name.lower() for name in tables}
        self._known: set[tuple[int, str | None, str | None]] = {
            (action, None, None) for action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE)
        }
        self.refused: str | None = None
        """What was refused since this was last set to None."""

    @property
    def answer(self) -> Callable[[int, str | None, str | None, str | None, str | None], int]:
        """What a connection asks; a plain function, since most of the questions are known and asked very often."""
        known, decide, ok = self._known, self._decide, sqlite3.SQLITE_OK

        def answer(
            action: int, first: str | None, second: str | None, database: str | None, trigger: str | None
        ) -> int:
            return ok if (action, first, second) in known else decide(action, first, second)

        return answer

    def _decide(self, action: int, first: str | None, second: str | None) -> int:
        if action == sqlite3.SQLITE_READ:
            name = (first or "").lower()  # without a column it may be that of a common table expression
            allowed = name in self._tables or (second == "" and not name.startswith(("pragma_", "sqlite_")))
            what = f"the table {first}"
        elif action == sqlite3.SQLITE_FUNCTION:
            allowed = (second or "").lower() in FUNCTIONS
            what = f"the function {second}()"
        elif action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            allowed, what = True, ""
        elif action == sqlite3.SQLITE_PRAGMA:
            allowed = (first or "").lower() in PRAGMAS
            what = f"PRAGMA {first}"
        else:
            allowed, what = False, _ACTIONS.get(action, "this statement")
            if action == sqlite3.SQLITE_UPDATE and first == "sqlite_master":  # a table of the engine declares itself
                what = "a table of the engine's own state"
        if allowed:
            if second and len(self._known) < _KEPT:  # of a table, whose names are few, or a function
                self._known.add((action, first, second))
            return sqlite3.SQLITE_OK
        if self.refused is None:
            self.refused = what
        return sqlite3.SQLITE_DENY
