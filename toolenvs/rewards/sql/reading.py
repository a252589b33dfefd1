"""What can be told of a query from its words alone: its outermost ORDER BY and LIMIT. No parser, no dialect.

Text in quotes, names in quotes and comments are one token each, so that nothing inside them counts.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
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
    order: tuple[tuple[int, int], ...]
    """For each term of the outermost ORDER BY where it begins and ends, without ASC, DESC, NULLS and COLLATE."""
    listed: int | None
    """Where the FROM behind the only outermost SELECT stands; None for a compound, a DISTINCT or none."""
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
    terms: list[tuple[int, int]] = []
    if starts:
        end = limit if limit is not None and limit > starts[-1] else len(tokens)
        commas = [at for at in top if starts[-1] < at < end and tokens[at] == ","]
        for low, high in zip([starts[-1] + 2, *(at + 1 for at in commas)], [*commas, end], strict=True):
            terms.append((low, _without_direction(words, low, high)))
    selects = [at for at in top if words[at] == "select"]
    compound = any(words[at] in ("union", "intersect", "except", "values") for at in top)
    plain = len(selects) == 1 and not compound and words[selects[0] + 1 : selects[0] + 2] != ["distinct"]
    listed = next((at for at in top if words[at] == "from" and at > selects[0]), None) if plain else None
    return Outline(tuple(tokens), tuple(glued[: len(tokens)]), tuple(terms), listed, limit)


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
        elif high - low > 2 and words[high - 2] in ("nulls", "collate"):
            high -= 2
        else:
            break
    return high


def ordering_columns(sql: str, outcome: Outcome) -> list[int] | None:
    """The columns of a query's result that its outermost ORDER BY goes by; None where a term is no column of it."""
    read = outline(sql)
    headers = [{name.lower(), _bare(lex(name))} for name in outcome.columns]
    places = []
    for low, high in read.order:
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
        token if token[0] == "'" else token[1:-1].lower() if token[0] in _QUOTES else token.lower()
        for token in tokens
        if token.strip()
    ]
    return "\0".join(bare)


def with_keys(sql: str, *, unlimited: bool = False) -> tuple[str, int] | None:
    """The query with what it orders by as further columns at its end, and how many these are.

    None where the query has no outermost ORDER BY, or is a compound or a DISTINCT, which a further column would change.

    Args:
        sql: the query.
        unlimited: leave out the outermost LIMIT.
    """
    read = outline(sql)
    if not read.order or read.listed is None:
        return None
    if any(high - low == 1 and read.tokens[low].isdigit() for low, high in read.order):
        return None  # a number names a column, which is there already
    keys = "".join([f", {read.sql(low, high)} AS {_KEY}{n}" for n, (low, high) in enumerate(read.order)])
    rest = read.sql(read.listed, read.limit if unlimited else None)
    return f"{read.sql(0, read.listed)}{keys} {rest}", len(read.order)


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
