"""What can be told of a query from its words alone: its outermost ORDER BY and LIMIT. No parser, no dialect.

Text in quotes, names in quotes and comments are one token each, so that nothing inside them counts.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from toolenvs.rewards.sql.outcome import Outcome

_TOKEN = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]"""
    r"""|--[^\n]*|/\*.*?(?:\*/|\Z)|\s+|\w+(?:\.\d+)?|.""",
    re.DOTALL,
)
_QUOTES = {'"': '"', "`": "`", "[": "]"}
_KEY = "toolenvs_key_"


def lex(sql: str) -> list[str]:
    """The query in tokens; joined, they are the query again."""
    return _TOKEN.findall(sql)


def has_words(*words: str) -> re.Pattern[str]:
    """A pattern for these words with any white space between them and behind, in capitals or not."""
    return re.compile("".join(rf"{re.escape(word)}\s*" for word in words), re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Outline:
    """The outermost clauses of one query, as places in its tokens."""

    tokens: tuple[str, ...]
    """With neither white space nor comments, nor a semicolon at the end."""
    glued: tuple[bool, ...]
    """For each token whether nothing stands between it and the one before: a space may not stand there, as in ">="."""
    order: tuple[tuple[int, int, int, int], ...]
    """For each term of the outermost ORDER BY where it begins, where COLLATE would be, where ASC, DESC and NULLS would
    be, and where it ends."""
    distinct: bool
    """Whether the only outermost SELECT is a DISTINCT."""
    selected: tuple[tuple[int, int], ...]
    """For each column behind the only outermost SELECT where it begins and ends; empty for a compound."""
    listed: int | None
    """Where the FROM behind the only outermost SELECT stands; None for a compound or none."""
    limit: int | None
    """Where the outermost LIMIT, OFFSET or FETCH begins; None where there is none."""

    @property
    def ordered(self) -> bool:
        """Whether the query orders its rows."""
        return bool(self.order)

    def sql(self, begin: int = 0, end: int | None = None) -> str:
        """The tokens from one place to another as SQL, with one space for whatever stood between two of them."""
        pieces = zip(self.tokens[begin:end], self.glued[begin:end], strict=True)
        return "".join(token if glued else f" {token}" for token, glued in pieces).strip()


@lru_cache(64)  # of one gold it is asked for several times
def outline(sql: str) -> Outline:
    """Read the outermost clauses of a query."""
    tokens: list[str] = []
    glued: list[bool] = []
    touching = False
    for token in lex(sql):
        if token.strip() and not token.startswith(("--", "/*")):
            tokens.append(token)
            glued.append(touching)
            touching = True
        else:
            touching = False
    while tokens and tokens[-1] == ";":
        tokens.pop()
    words = [token.lower() for token in tokens]
    top = _top(tokens)
    limit = next((at for at in top if words[at] in ("limit", "offset", "fetch")), None)
    starts = [at for at in top if words[at] == "order" and words[at + 1 : at + 2] == ["by"]]
    terms: list[tuple[int, int, int, int]] = []
    if starts:
        end = limit if limit is not None and limit > starts[-1] else len(tokens)
        for low, high in _between_commas(tokens, top, starts[-1] + 2, end):
            direction = _without_direction(words, low, high)
            collation = direction - 2 if direction - low > 2 and words[direction - 2] == "collate" else direction
            terms.append((low, collation, direction, high))
    selects = [at for at in top if words[at] == "select"]
    compound = any(words[at] in ("union", "intersect", "except", "values") for at in top)
    selected: tuple[tuple[int, int], ...] = ()
    listed, distinct = None, False
    if len(selects) == 1 and not compound:
        begin = selects[0] + 1
        distinct = words[begin : begin + 1] == ["distinct"]
        begin += distinct or words[begin : begin + 1] == ["all"]
        froms = (at for at in top if at >= begin and words[at] == "from" and words[at - 1] != "distinct")  # IS DISTINCT
        listed = next(froms, None)
        if listed is not None:
            selected = tuple(_between_commas(tokens, top, begin, listed))
    return Outline(tuple(tokens), tuple(glued[: len(tokens)]), tuple(terms), distinct, selected, listed, limit)


def _between_commas(tokens: Sequence[str], top: Sequence[int], begin: int, end: int) -> list[tuple[int, int]]:
    commas = [at for at in top if begin <= at < end and tokens[at] == ","]
    return list(zip([begin, *(at + 1 for at in commas)], [*commas, end], strict=True))


def _top(tokens: Sequence[str]) -> list[int]:
    """Places of the tokens that no bracket encloses."""
    depth, top = 0, []
    for at, token in enumerate(tokens):
        depth -= token == ")"
        if depth == 0 and token not in "()":
            top.append(at)
        depth += token == "("
    return top


def _without_direction(words: Sequence[str], low: int, high: int) -> int:
    while high - low > 1:
        if words[high - 1] in ("asc", "desc"):
            high -= 1
        elif high - low > 2 and words[high - 2] == "nulls":
            high -= 2
        else:
            break
    return high


def ordering_columns(sql: str, outcome: Outcome) -> list[int] | None:
    """The columns of a query's result that its outermost ORDER BY goes by; None where a term is no column of it."""
    read = outline(sql)
    headers = [{name.lower(), _bare(lex(name))} for name in outcome.columns]
    places = []
    for low, high, _, _ in read.order:
        term = read.tokens[low:high]
        if len(term) == 1 and term[0].isdigit():
            place = int(term[0]) - 1
        else:
            found = _named(headers, _bare(term))
            if not found and len(term) == 3 and term[1] == ".":
                found = _named(headers, _bare(term[2:]))
            if len(found) != 1:
                return None
            place = found[0]
        if not 0 <= place < len(headers):
            return None
        places.append(place)
    return places


def _named(headers: Sequence[set[str]], name: str) -> list[int]:
    return [place for place, header in enumerate(headers) if name in header]


def _bare(tokens: Sequence[str]) -> str:
    """Tokens in lower case without white space, names without their quotes; text keeps its case."""
    bare = [
        token if token[0] == "'" else unquoted(token) if token[0] in _QUOTES else token.lower()
        for token in tokens
        if token.strip()
    ]
    return "\0".join(bare)


def with_keys(sql: str, *, unlimited: bool = False, named: bool = False) -> tuple[str, int] | None:
    """The query with what it orders by as further columns at its end, and how many these are.

    The last of them is a number that rows share where they tie: what ties, the engine knows, by the collation of a
    column or of a term. A DISTINCT may give more rows so: where its columns do not settle what it orders by.

    None where the query has no outermost ORDER BY, is a compound, or orders by the number of a column behind a `*`.

    Args:
        sql: the query.
        unlimited: leave out the outermost LIMIT.
        named: put in place of new names inside terms what they stand for. A term that is a new name is what it stands
            for in any case; inside others SQLite takes a name for that of a table's column first.
    """
    read = outline(sql)
    if not read.order or read.listed is None:
        return None
    columns = [_column(read, low, high) for low, high in read.selected]
    news = {name: text for name, text in columns if name is not None}
    terms: list[str] = []
    directed: list[str] = []
    for low, high, direction, end in read.order:
        alone, collation = read.tokens[low], read.sql(high, direction)
        if high - low == 1 and alone.isdigit():
            place = int(alone)
            if not 0 < place <= len(columns) or any(text.endswith("*") for _, text in columns[:place]):
                return None
            term = columns[place - 1][1]
        elif high - low == 1 and alone[0] != "'" and unquoted(alone) in news:
            term = news[unquoted(alone)]
        else:
            term = _renamed(read, low, high, news if named else {})
        terms.append(f"{term} {collation}".strip())
        directed.append(f"{terms[-1]} {read.sql(direction, end)}".strip())
    keys = "".join(f", {term} AS {_KEY}{n}" for n, term in enumerate(terms))
    tied = f", dense_rank() OVER (ORDER BY {', '.join(directed)}) AS {_KEY}tied"
    rest = read.sql(read.listed, read.limit if unlimited else None)
    return f"{read.sql(0, read.listed)}{keys}{tied} {rest}", len(terms) + 1


def _column(read: Outline, low: int, high: int) -> tuple[str | None, str]:
    """The new name of a selected column, if it has one, and what it is."""
    tokens = read.tokens[low:high]
    words = [token.lower() for token in tokens]
    if words[-2:-1] == ["as"]:
        return unquoted(tokens[-1]), read.sql(low, high - 2)
    new = len(tokens) > 1 and _names_what_follows(tokens[-2]) and words[-1] not in _AFTER_VALUES
    if new and (words[-1][0] in "\"`['_" or words[-1][0].isalpha()):
        return unquoted(tokens[-1]), read.sql(low, high - 1)
    return None, read.sql(low, high)


def _renamed(read: Outline, low: int, high: int, news: Mapping[str, str]) -> str:
    """A term in which what new names stand for is in their place."""
    pieces = []
    for at in range(low, high):
        token, behind = read.tokens[at], read.tokens[at + 1 : at + 2]
        whole = read.tokens[at - 1] != "." and behind not in ((".",), ("(",))
        new = news.get(unquoted(token)) if whole and token[0] != "'" else None
        pieces.append(("" if read.glued[at] else " ") + (token if new is None else f"({new})"))
    return "".join(pieces).strip()


def wrapped(sql: str, columns: int, places: Sequence[int], *, unlimited: bool = False) -> tuple[str, int]:
    """As `with_keys`, for a query that orders by columns of its result: a compound, or one that has a `*`.

    Args:
        sql: the query.
        columns: how many its result has.
        places: of those that it orders by, counted from 0, as `ordering_columns` finds them.
        unlimited: leave out the outermost LIMIT.
    """
    read = outline(sql)
    names = [f"{_KEY}{n}" for n in range(columns)]
    keys, ordered = [names[place] for place in places], []
    for key, (_, collation, _, end) in zip(keys, read.order, strict=True):
        ordered.append(f"{key} {read.sql(collation, end)}".strip())
    tied = f"dense_rank() OVER (ORDER BY {', '.join(ordered)}) AS {_KEY}tied"
    inner = read.sql(0, read.limit if unlimited else None)
    with_all = f"WITH {_KEY}all ({', '.join(names)}) AS ({inner})"
    return f"{with_all} SELECT *, {', '.join([*keys, tied])} FROM {_KEY}all ORDER BY {_KEY}tied", len(keys) + 1


_AFTER_VALUES = frozenset({"null", "end", "isnull", "notnull", "true", "false"})
"""Words that may stand behind a value and are no new name."""


def unquoted(name: str) -> str:
    """A name in lower case without its quotes."""
    if len(name) < 2 or name[0] not in ('"', "`", "[", "'"):
        return name.lower()
    return name[1:-1].replace(name[0] * 2, name[0]).lower()


_BEFORE_VALUES = frozenset(
    [
        *("all", "and", "between", "by", "case", "collate", "cross", "distinct", "else", "escape", "except", "exists"),
        *("from", "full", "glob", "group", "having", "in", "inner", "intersect", "is", "join", "left", "like", "limit"),
        *("match", "natural", "not", "offset", "on", "or", "order", "outer", "regexp", "returning", "right", "select"),
        *("set", "then", "union", "using", "values", "when", "where"),
    ]
)
"""Words behind which a value or the name of what is there may stand, and no new name."""


def _names_what_follows(token: str) -> bool:
    """Whether a name behind a token is a new one: of a column or a table, with AS or without, or behind WITH."""
    if token[0].isalnum() or token[0] == "_":
        return token.lower() not in _BEFORE_VALUES
    return token == ")" or token[0] in "'`[" or (token[0] == '"' and len(token) > 1)


def texts_in_single_quotes(sql: str, names: Collection[str]) -> str:
    """The query with each text that stands in double quotes in single ones: golds of Spider and BIRD have many.

    SQLite takes a name in double quotes that nothing has for a text; other engines, and `toolenvs.databases`, do not.

    Args:
        sql: the query.
        names: of tables and columns, in lower case. What the query itself names stays a name too.
    """
    tokens = lex(sql)
    words = [token for token in tokens if token.strip() and not token.startswith(("--", "/*"))]
    own = {_bare([name]) for before, name in pairwise(words) if _names_what_follows(before)}
    return "".join(
        "'" + token[1:-1].replace('""', '"').replace("'", "''") + "'"
        if token[0] == '"' and len(token) > 1 and _bare([token]) not in names and _bare([token]) not in own
        else token
        for token in tokens
    )
