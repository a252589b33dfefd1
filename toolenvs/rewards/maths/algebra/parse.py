r"""A small, strict subset of LaTeX and calculator notation, read into trees.

A product may be written without a sign, but two numbers side by side are no product: `3 4`, `(x)2` and
`\frac{1}{2}3` are refused, and `1\frac{1}{2}` is a mixed number. Nothing is evaluated.
"""

import re
from collections.abc import Callable
from fractions import Fraction

from .tree import INFINITY, Node, Num, Op, Sym, TooBig, Unreadable, integer, negate

_MAX_DEPTH = 64
_MAX_EXPONENT_10 = 400
"""Largest power of ten in programming notation such as `1.2e3`."""

FUNCTIONS = frozenset(
    str.split("sin cos tan cot sec csc arcsin arccos arctan arccot sinh cosh tanh coth exp ln log lg sqrt")
)
_SPELLINGS = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
_WORDS = sorted(FUNCTIONS | _SPELLINGS.keys() | {"pi", "infty", "infinity"}, key=len, reverse=True)
_GREEK = frozenset(
    str.split(
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau upsilon phi chi psi "
        "omega Gamma Delta Theta Lambda Xi Sigma Upsilon Phi Psi Omega ell hbar"
    )
)
_ACCENTS = frozenset(str.split("vec hat bar overline overrightarrow tilde mathbb mathcal"))
_VARIABLE_GROUPS = ("abcd", "pqrs", "uvw", "wxyz", "ijk", "klmn", "rst")

_TOKEN = re.compile(
    r"""(?P<repeating>\d*\.\d*\\overline\s*\{\s*\d+\s*\}|\d+\\overline\s*\{\s*\.\d+\s*\})
    |(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+(?![\d.]))?)
    |(?P<command>\\[A-Za-z]+)
    |(?P<brace>\\[{}])
    |(?P<word>"""
    + "|".join(_WORDS)
    + r""")(?![a-z])
    |(?P<letter>[A-Za-z])
    |(?P<sign>[-+*/^_!|(){}\[\]',])
    |(?P<space>\s+)""",
    re.VERBOSE,
)
_CLOSING = {"(": ")", "[": "]", "{": "}", r"\{": r"\}", r"\lfloor": r"\rfloor", r"\lceil": r"\rceil"}
_PRODUCT_SIGNS = frozenset({"*", r"\cdot", r"\times"})
_QUOTIENT_SIGNS = frozenset({"/", r"\div"})
_SUM_SIGNS = {"+": "+", "-": "neg", r"\pm": "pm", r"\mp": "mp"}
_STOPS = frozenset({")", "]", "}", r"\}", r"\rfloor", r"\rceil", ",", ""})


def looks_like_word(letters: str) -> bool:
    """Whether a run of letters is a word or a name rather than a product of variables."""
    if len(letters) < 3:
        return letters.lower() in ("no", "on", "or", "if", "is", "of", "to", "in", "at", "by", "we", "us", "it")
    return not any(set(letters) <= set(group) for group in _VARIABLE_GROUPS)


def parse(text: str) -> Node:
    """The tree of one expression in tidied text.

    Raises:
        Unreadable: the text is outside the subset.
        TooBig: it is nested too deeply, or a literal is too large.
    """
    tokens = _tokenize(text)
    if not tokens:
        raise Unreadable("nothing to read")
    parser = _Parser(tokens)
    node = parser.sum()
    if parser.here:
        raise Unreadable(f"cannot read on at {parser.here!r}")
    return node


def _tokenize(text: str) -> list[tuple[str, str]]:
    for run in re.findall(r"(?<![\\A-Za-z])[A-Za-z]{3,}", text):
        if run not in _WORDS and not _reads_as_product(run):
            raise Unreadable(f"{run!r} is a word")
    tokens, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise Unreadable(f"cannot read {text[position]!r}")
        position = match.end()
        kind, value = str(match.lastgroup), match[0]
        if kind == "word":
            value = _SPELLINGS.get(value, value)
            kind, value = "command", "\\" + ("infty" if value == "infinity" else value)
        if kind != "space":
            tokens.append((kind, value))
    return tokens


def _reads_as_product(run: str) -> bool:
    """Whether a run of letters can stand for a product once function names are taken out of it."""
    rest = re.sub("|".join(_WORDS), "", run)
    return len(rest) < 3 or not looks_like_word(rest)


class _Parser:
    """Recursive descent over tokens; `here` is the current token's text, "" at the end."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = 0
        self._bars = 0

    @property
    def here(self) -> str:
        return self._tokens[self._position][1] if self._position < len(self._tokens) else ""

    @property
    def kind(self) -> str:
        return self._tokens[self._position][0] if self._position < len(self._tokens) else "end"

    def take(self) -> str:
        value = self.here
        self._position += 1
        return value

    def expect(self, value: str) -> None:
        if self.here != value:
            raise Unreadable(f"expected {value!r}, found {self.here!r}")
        self._position += 1

    def sum(self) -> Node:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise TooBig("nested too deeply")
        terms = [self._signed_product()]
        while self.here in _SUM_SIGNS:
            terms.append(self._signed_product())
        self._depth -= 1
        return terms[0] if len(terms) == 1 else Op("add", tuple(terms))

    def _signed_product(self) -> Node:
        signs = []
        while self.here in _SUM_SIGNS:
            signs.append(_SUM_SIGNS[self.take()])
        if len(signs) > 2:
            raise Unreadable("a row of signs")
        node = self._product()
        for sign in reversed(signs):
            node = node if sign == "+" else Op(sign, (node,))
        return node

    def _product(self) -> Node:
        node = self._factor()
        while True:
            if self.here in _PRODUCT_SIGNS:
                self.take()
                node = Op("mul", (node, self._signed_factor()))
            elif self.here in _QUOTIENT_SIGNS:
                self.take()
                node = Op("div", (node, self._signed_factor()))
            elif self._starts_factor():
                node = Op("mul", (node, self._factor()))
            else:
                return node

    def _signed_factor(self) -> Node:
        sign = self.take() if self.here in ("+", "-") else ""
        factor = self._factor()
        return negate(factor) if sign == "-" else factor

    def _starts_factor(self) -> bool:
        """Whether a factor can follow here without a sign; a number cannot."""
        if self.here in _STOPS or self.kind in ("number", "repeating") or self.here in _SUM_SIGNS:
            return False
        if self.here == "|":
            return self._bars == 0
        return self.here not in ("^", "_", "!", "'")

    def _factor(self) -> Node:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise TooBig("nested too deeply")
        node = self._atom()
        while True:
            if self.here == "^":
                self.take()
                node = Op("pow", (node, self._script()))
                if self.here == "^":
                    raise Unreadable("a tower without braces")
            elif self.here == "!":
                self.take()
                if self.here == "!":
                    raise TooBig("repeated factorial")
                node = Op("fact", (node,))
            elif self.here == r"\degree":
                self.take()
                node = Op("mul", (node, Op("div", (Sym(r"\pi"), integer(180)))))
            elif self.here == r"\percent":
                self.take()
                node = Op("div", (node, integer(100)))
            else:
                self._depth -= 1
                return node

    def _script(self) -> Node:
        """What stands after `^`: a group, or a sign and one atom."""
        if self.here == "{":
            return self._group()
        if self.here in ("-", "+"):
            sign = self.take()
            atom = self._atom()
            return negate(atom) if sign == "-" else atom
        return self._atom()

    def _group(self) -> Node:
        """`{...}` as the argument of a command."""
        self.expect("{")
        node = self.sum()
        self.expect("}")
        return node

    def _argument(self) -> Node:
        r"""The argument of `\frac` or `\binom`: a group, or one token; of a number its first digit only."""
        if self.here == "{":
            return self._group()
        if self.kind == "number" and self.here.isdigit():
            digits = self.take()
            if len(digits) > 1:
                self._position -= 1
                self._tokens[self._position] = ("number", digits[1:])
            return integer(int(digits[0]))
        if self.kind == "letter" or self.here in (r"\pi", r"\sqrt"):
            return self._atom()
        raise Unreadable("an argument without braces")

    def _atom(self) -> Node:
        kind, here = self.kind, self.here
        if kind in ("number", "repeating"):
            self.take()
            number = _number(here) if kind == "number" else _repeating(here)
            return self._mixed(number) if here.isdigit() else number
        if kind == "letter":
            return self._symbol(self.take())
        if kind == "command":
            return self._command(self.take()[1:])
        if here == "|":
            self.take()
            self._bars += 1
            inner = self.sum()
            self._bars -= 1
            self.expect("|")
            return Op("abs", (inner,))
        if here in ("(", "[", "{"):
            self.take()
            bars, self._bars = self._bars, 0
            inner = self.sum()
            self._bars = bars
            self.expect(_CLOSING[here])
            return inner
        raise Unreadable(f"cannot begin with {here!r}")

    def _mixed(self, whole: Num) -> Node:
        r"""`1\frac{1}{2}`: an integer in front of a fraction of integers is added to it."""
        if self.here != r"\frac":
            return whole
        back = self._position
        self.take()
        top, bottom = self._argument(), self._argument()
        if isinstance(top, Num) and isinstance(bottom, Num) and top.places is None and bottom.places is None:
            return Op("add", (whole, Op("div", (top, bottom))))
        self._position = back
        return whole

    def _symbol(self, name: str) -> Node:
        if self.here == "_":
            self.take()
            if self.here == "{":
                self.take()
                parts = []
                while self.here not in ("}", ""):
                    parts.append(self.take())
                self.expect("}")
                name += "_" + "".join(parts)
            elif self.kind in ("letter", "number", "command"):
                name += "_" + self.take()
            else:
                raise Unreadable("an empty subscript")
        while self.here == "'":
            name += self.take()
        return Sym(name)

    def _command(self, name: str) -> Node:
        if name == "frac":
            return Op("div", (self._argument(), self._argument()))
        if name == "binom":
            return Op("binom", (self._argument(), self._argument()))
        if name == "sqrt":
            return self._root()
        if name in FUNCTIONS:
            return self._function(name)
        if name in ("lfloor", "lceil"):
            inner = self.sum()
            self.expect(_CLOSING["\\" + name])
            return Op("floor" if name == "lfloor" else "ceil", (inner,))
        if name == "pi":
            return Sym(r"\pi")
        if name == "infty":
            return INFINITY
        if name in _GREEK:
            return self._symbol("\\" + name)
        if name in _ACCENTS:
            return self._accent(name)
        raise Unreadable(f"\\{name} is not read")

    def _accent(self, name: str) -> Node:
        self.expect("{")
        letters = ""
        while self.kind == "letter":
            letters += self.take()
        self.expect("}")
        return self._symbol(f"{name}:{letters}")

    def _root(self) -> Node:
        index: Node = integer(2)
        if self.here == "[":
            self.take()
            index = self.sum()
            self.expect("]")
        inner = self._group() if self.here == "{" else self._nested(self._atom)
        return Op("root", (inner, index))

    def _function(self, name: str) -> Node:
        base: Node | None = None
        power: Node | None = None
        while self.here in ("_", "^"):
            if self.take() == "_":
                base = self._group() if self.here == "{" else self._argument()
            else:
                power = self._script()
        argument = self._nested(self._function_argument)
        if name == "log" or (base is not None and name in ("ln", "lg")):
            node: Node = Op("log", (argument, base or integer(10)))
        elif base is not None:
            raise Unreadable(f"a subscript on \\{name}")
        else:
            node = Op("log", (argument, integer(10))) if name == "lg" else Op(name, (argument,))
        if power is None:
            return node
        if power == negate(integer(1)):
            if name in ("sin", "cos", "tan", "cot"):
                return Op("arc" + name, (argument,))
            raise Unreadable("a function to the power -1")
        return Op("pow", (node, power))

    def _nested(self, read: Callable[[], Node]) -> Node:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise TooBig("nested too deeply")
        node = read()
        self._depth -= 1
        return node

    def _function_argument(self) -> Node:
        r"""`(...)` alone where there are brackets; else the factors up to the next function or explicit sign."""
        if self.here in ("(", "[", "{", "|"):
            return self._atom()
        node = self._factor()
        while self._starts_factor() and self.here not in ("(", "[") and not self._at_function():
            node = Op("mul", (node, self._factor()))
        if self.here == "/":
            raise Unreadable("a quotient after a function without brackets is read in two ways")
        return node

    def _at_function(self) -> bool:
        return self.kind == "command" and self.here[1:] in FUNCTIONS and self.here != r"\sqrt"


def _number(text: str) -> Num:
    mantissa, _, exponent = text.lower().partition("e")
    if len(exponent) > 4 or (exponent and abs(int(exponent)) > _MAX_EXPONENT_10):
        raise TooBig("a literal with a huge exponent")
    whole, point, decimals = mantissa.partition(".")
    value = Fraction(int((whole + decimals) or "0"), 10 ** len(decimals))
    if exponent:
        value *= Fraction(10) ** int(exponent)
    if not point and not exponent.startswith("-"):
        return Num(value)
    return Num(value, len(decimals) - int(exponent or 0))


def _repeating(text: str) -> Num:
    r"""`0.1\overline{6}`: an exact fraction, not a decimal."""
    match = re.fullmatch(r"(\d*)\.?(\d*)\\overline\s*\{\s*(\.?)(\d+)\s*\}", text)
    if match is None:
        raise Unreadable("a bar in the wrong place")
    whole, fixed, _, repeat = match.groups()
    scale = 10 ** len(fixed)
    value = Fraction(int((whole + fixed) or "0"), scale) + Fraction(int(repeat), scale * (10 ** len(repeat) - 1))
    return Num(value)
