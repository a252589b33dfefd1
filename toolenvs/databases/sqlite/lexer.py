"""SQLite's tokens, as far as it takes to say whether a text is exactly one query."""

import re
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
      (?P<space> [ \t\n\f\r]+ | --[^\n]* | /\*(?:[^*]|\*(?!/))*(?:\*/)? )
    | (?P<word> [^\W\d][\w$]* | [^\x00-\x7f][\w$]* )
    | (?P<number> \.?\d[\w.]* )
    | (?P<end> ; )
    | (?P<text> '[^']*(?:''[^']*)*'? )
    | (?P<quoted> "[^"]*(?:""[^"]*)*"? )
    | (?P<name> `[^`]*(?:``[^`]*)*`? | \[[^\]]*\]? )
    | (?P<parameter> \?\d* | [@$\#:][\w$]+ )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_BLANK = " \t\n\f\r"
_PLAIN = re.compile(
    rf"[{_BLANK}]*+([^\W\d]\w*+)(?:[^;'\"`\[?@$#:/\-]++|'[^']*+'|-(?!-)|/(?!\*))*+(?P<end>;?+)[{_BLANK}]*+"
)
"""One statement that begins with a word and has no comments, parameters or quoted names."""


class Lexed(NamedTuple):
    """What a text of SQL consists of."""

    sql: str
    """From its first token to its last one before the closing semicolon; "" where there is none."""
    statements: int
    first: str
    """The first word in upper case, or the first token; "" where there is none."""
    parameter: str
    """The first parameter; "" where there is none."""
    unquoted: str | None
    """The text with names in backticks for those in double quotes: SQLite never takes the former for texts. None where
    no name stands in double quotes."""


def lex(sql: str) -> Lexed:
    """Take a text apart; whatever is in it."""
    plain = _PLAIN.fullmatch(sql)  # most are: one look at them in place of one for each token
    if plain is not None:
        return Lexed(sql[plain.start(1) : plain.start("end")].rstrip(_BLANK), 1, plain[1].upper(), "", None)
    return tokens(sql)


def tokens(sql: str) -> Lexed:
    """As `lex`, token by token."""
    begin = end = last = 0
    statements, open_ = 0, False
    first = parameter = ""
    quoted: list[tuple[int, int]] = []
    for match in _TOKEN.finditer(sql):
        kind = match.lastgroup
        if kind == "space":
            continue
        if kind == "end":
            open_ = False
            continue
        if not open_:
            statements, open_ = statements + 1, True
            if statements == 1:
                begin = match.start()
        end = match.end()
        if statements == 1:
            last = end
        first = first or match[0].upper()
        if kind == "quoted" and len(match[0]) > 1 and match[0][-1] == '"':  # an open one is SQLite's to refuse
            quoted.append(match.span())
        elif kind == "parameter" and not parameter:
            parameter = match[0]
    return Lexed(sql[begin:last], statements, first, parameter, _in_backticks(sql, quoted, begin, end))


def _in_backticks(sql: str, quoted: list[tuple[int, int]], begin: int, end: int) -> str | None:
    if not quoted:
        return None
    pieces, at = [], begin
    for start, stop in quoted:
        name = sql[start + 1 : stop - 1].replace('""', '"').replace("`", "``")
        pieces += [sql[at:start], "`", name, "`"]
        at = stop
    return "".join([*pieces, sql[at:end]])
