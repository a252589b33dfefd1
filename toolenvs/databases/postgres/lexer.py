"""PostgreSQL's tokens, as far as it takes to say whether a text is one query and what it calls."""

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["word", "quoted", "text", "parameter", "other"]

_TOKEN = re.compile(
    r"""
      (?P<space> [ \t\n\r\f\v]+ | --[^\r\n]* )
    | (?P<comment> /\* )
    | (?P<escaped> [eE]'(?:[^'\\]|\\.|'')*'? )
    | (?P<text> (?:[bBxXnN]|[uU]&)?'[^']*(?:''[^']*)*'? )
    | (?P<quoted> (?:[uU]&)?"[^"]*(?:""[^"]*)*"? )
    | (?P<dollar> \$(?P<tag>(?:[^\W\d]\w*)?)\$ )
    | (?P<parameter> \$\d+ )
    | (?P<word> [A-Za-z_\x80-\U0010ffff][\w$\x80-\U0010ffff]* )
    | (?P<number> \.?\d[\w.]* )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One token; comments are none."""

    kind: Kind
    text: str

    @property
    def name(self) -> str:
        """What it names, in the server's spelling; "" where it names nothing."""
        if self.kind == "word":
            return self.text.lower()
        if self.kind == "quoted":
            return self.text[1:].removesuffix('"').replace('""', '"')
        return ""


def tokens(sql: str) -> list[Token]:
    """Take a text apart; whatever is in it."""
    found: list[Token] = []
    at = 0
    while at < len(sql):
        match = _TOKEN.match(sql, at)
        assert match is not None  # the last alternative takes anything
        at = match.end()
        kind = match.lastgroup if match.lastgroup != "tag" else "dollar"
        if kind == "comment":
            at = _after_comment(sql, at)
        elif kind in ("escaped", "text"):
            found.append(Token("text", match[0]))
        elif match["dollar"] is not None:
            end = sql.find(match[0], at)
            at = len(sql) if end < 0 else end + len(match[0])
            found.append(Token("text", sql[match.start() : at]))
        elif kind == "word":
            found.append(Token("word", match[0]))
        elif kind == "quoted":
            found.append(Token("quoted", match[0]))
        elif kind == "parameter":
            found.append(Token("parameter", match[0]))
        elif kind != "space":
            found.append(Token("other", match[0]))
    return found


def _after_comment(sql: str, at: int) -> int:
    """Comments nest."""
    depth = 1
    while depth:
        match = re.compile(r"/\*|\*/").search(sql, at)
        if match is None:
            return len(sql)
        depth += 1 if match[0] == "/*" else -1
        at = match.end()
    return at
