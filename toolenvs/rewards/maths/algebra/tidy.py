r"""One spelling for each thing that LaTeX, Unicode and programmers spell in several ways.

After `tidy`, text holds no display commands, no `$`, no spacing macros; words are in `\text{...}` only where they
stood in one; percent, degree and currency signs are `\percent`, `\degree`, `\dollar`, `\euro`, `\pound`, `\yen`.
"""

import re

_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻ⁿ", "0123456789-n", strict=True))
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "θ": "theta", "λ": "lambda", "μ": "mu",
    "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "φ": "phi", "χ": "chi", "ψ": "psi",
    "ω": "omega", "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi",
    "Ω": "Omega",
}  # fmt: skip
_SIGNS = {
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ",
    "∙": r"\cdot ", "÷": r"\div ", "±": r"\pm ", "∓": r"\mp ", "√": r"\sqrt ", "∞": r"\infty ", "≤": r"\leq ",
    "⩽": r"\leq ", "≥": r"\geq ", "⩾": r"\geq ", "≠": r"\neq ", "≈": r"\approx ", "∈": r"\in ", "∪": r"\cup ",
    "∩": r"\cap ", "∖": r"\setminus ", "∅": r"\emptyset ", "Ø": r"\emptyset ", "ℝ": r"\mathbb{R}",
    "ℤ": r"\mathbb{Z}", "ℕ": r"\mathbb{N}", "ℚ": r"\mathbb{Q}", "ℂ": r"\mathbb{C}", "°": r"\degree ", "º": r"\degree ",
    "…": r"\ldots ", "⋯": r"\ldots ", "€": r"\euro ", "£": r"\pound ", "¥": r"\yen ", "%": r"\percent ",
    "⌊": r"\lfloor ", "⌋": r"\rfloor ", "⌈": r"\lceil ", "⌉": r"\rceil ",
    "∣": "|", "∶": ":", "′": "'", "’": "'", "‘": "'", "“": '"', "”": '"', "∨": r"\lor ", "∧": r"\land ",
    "½": r"\frac{1}{2}", "⅓": r"\frac{1}{3}", "⅔": r"\frac{2}{3}", "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}",
    "⅕": r"\frac{1}{5}", "⅖": r"\frac{2}{5}", "⅗": r"\frac{3}{5}", "⅘": r"\frac{4}{5}", "⅙": r"\frac{1}{6}",
    "⅚": r"\frac{5}{6}", "⅛": r"\frac{1}{8}", "⅜": r"\frac{3}{8}", "⅝": r"\frac{5}{8}", "⅞": r"\frac{7}{8}",
}  # fmt: skip
_SPACES = dict.fromkeys("\t\r\n\f\v\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\u205f\u3000", " ")
_NOTHING = dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u2061\u2062", "")
_FULLWIDTH = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_TABLE = str.maketrans(
    {**_FULLWIDTH, **_SIGNS, **_SPACES, **_NOTHING, "、": ",", **{k: rf"\{v} " for k, v in _GREEK.items()}}
)

_RUN_UP = re.compile(f"[{''.join(_SUPERSCRIPTS)}]+")
_RUN_DOWN = re.compile(f"[{''.join(_SUBSCRIPTS)}]+")

_SPELLINGS = {
    "dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "dbinom": "binom", "tbinom": "binom", "le": "leq",
    "leqslant": "leq", "ge": "geq", "geqslant": "geq", "ne": "neq", "not=": "neq", "mid": "|", "vert": "|",
    "lvert": "|", "rvert": "|", "lt": "<", "gt": ">", "to": "rightarrow", "varnothing": "emptyset", "cdots": "ldots",
    "dots": "ldots", "dotsc": "ldots", "dotsb": "ldots", "ast": "cdot", "star": "cdot", "backslash": "setminus",
    "lbrace": "{", "rbrace": "}", "lbrack": "[", "rbrack": "]", "colon": ":", "wedge": "land", "vee": "lor",
    "varphi": "phi", "varepsilon": "epsilon", "vartheta": "theta", "imath": "i", "R": "mathbb{R}", "reals": "mathbb{R}",
    "textdegree": "degree", "textdollar": "dollar", "lang": "⟨", "rang": "⟩", "langle": "⟨", "rangle": "⟩",
    "colonequals": "=",
    "smallsetminus": "setminus", "euro": "euro", "pounds": "pound", "textbar": "|", "equiv": "equiv",
}  # fmt: skip
_AS_IS = frozenset("|<>[]:=i⟨⟩")
_DISPLAY = frozenset(
    str.split(
        "left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr displaystyle textstyle "
        "scriptstyle limits nolimits quad qquad enspace thinspace hfill rm bf it mathstrut strut relax phantom"
    )
)
_FONTS = frozenset(str.split("mathrm mathbf mathit mathsf mathtt mathcal bm boldsymbol mathnormal operatorname"))
_TEXTS = frozenset(str.split("text textbf textit textrm textsf texttt textnormal textup mbox hbox emph"))
_FUNCTIONS = frozenset(
    str.split("sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp gcd lcm det max min lim")
)

_UNIT_LETTERS = frozenset("mghslLNJWV")
"""Letters that, in upright type after a number, are units."""
_BEFORE_UNIT = frozenset("0123456789})/")

_COMMAND = re.compile(r"\\([A-Za-z]+)")
_FONT = re.compile(r"\\(" + "|".join(sorted(_FONTS | _TEXTS, key=len, reverse=True)) + r")(?![A-Za-z])\s*\{([^{}]*)\}")
_NUMBER_LIKE = re.compile(r"[\d.,/+\-\s]*\d[\d.,/+\-\s]*")
_WRAPPED = re.compile(r"\\(?:boxed|fbox)\s*\{(.*)\}", re.DOTALL)
_TEX_GROUPING = re.compile(r"(?<=\d)(?:\{,\}|,?\\[,!;: ]|~)+(?=\d{3}(?!\d))")
_CHOOSE = re.compile(r"\{([^{}]+)\\choose(?![A-Za-z])([^{}]+)\}")
_IN_BRACKETS = re.compile(r"(?<=\d\.)(\d*)\((\d+)\)")
_TEMPERATURE = re.compile(
    r"\\text\{\s*degrees? (Celsius|Fahrenheit)\s*\}|(?<![\\\w])degrees? (Celsius|Fahrenheit)(?!\w)", re.IGNORECASE
)
_OVER = re.compile(r"\{([^{}]+)\\over(?![A-Za-z])([^{}]+)\}")
_REPEATED = re.compile(r"(?<=[.\d])\\(?:bar|dot)\s*(?:\{(\d+)\}|(\d))")
_SPACE_GROUPING = re.compile(r"(?<![\d.,/\\^_{])\d{1,3}(?: \d{3})+(?![\d.,/]| \d)")
_UNDERSCORES = re.compile(r"(?<![\w.])\d{1,3}(?:_\d{3})+(?![\w.])")
_LETTER_TIMES = re.compile(r"(?<=\d)\s*[xX]\s*(?=10\s*\^)")
_LOG_WITH_BASE = re.compile(r"\\?(?<![A-Za-z])log(2|10)(?=\s*\()")
_MIXED = re.compile(r"(?<![\d./^_}])(\d+) +(\d+)/(\d+)(?![\d/])")
_MONEY = re.compile(r"(?<![\w}])\$(?=\s*-?[\d.])")
_LEADING = re.compile(
    r"(?:=|\\approx|\\equiv(?![A-Za-z])|\\therefore|\\Rightarrow|\\implies)\s*"
    r"|(?:approximately|approx\.?|about|roughly)\s+"
    r"|(?:so|thus|hence|therefore)\b\s*,?\s*(?:we\s+(?:get|have|find)\s+)?(?:that\s+)?"
    r"|(?:\\text\{)?\s*(?:the\s+)?(?:final\s+)?answer\s*(?:is|:)\s*:?\s*\}?",
    re.IGNORECASE,
)
_MARKDOWN = re.compile(r"(\*\*|__|`+)(.+)\1", re.DOTALL)


def tidy(text: str) -> str:
    """The one spelling of an answer."""
    text = _RUN_UP.sub(lambda m: "^{" + "".join(_SUPERSCRIPTS[c] for c in m[0]) + "}", text)
    text = _RUN_DOWN.sub(lambda m: "_{" + "".join(_SUBSCRIPTS[c] for c in m[0]) + "}", text)
    text = _strip_wrappers(text.strip())
    text = text.replace(r"\%", "%").replace(r"\$", r"\dollar ").replace(r"\#", "#").replace(r"\&", "&")
    if text.count("$") % 2:
        text = _MONEY.sub(r"\\dollar ", text, count=1)
    text = text.replace("$", "").replace(r"\(", "").replace(r"\)", "")
    text = _CHOOSE.sub(r"\\binom{\1}{\2}", _OVER.sub(r"\\frac{\1}{\2}", text))
    text = _TEX_GROUPING.sub("", text.replace("%", r"\percent ").translate(_TABLE))
    text = re.sub(r"\\\\\[[^\]]*\]", r"\\\\", text)  # row spacing such as \\[4pt]
    text = re.sub(r"(?<!\\)\\[,;:!> ]", " ", text).replace("~", " ").replace("{,}", ",").replace("**", "^")
    text = _COMMAND.sub(_spelling, text)
    for _ in range(4):
        plain = _FONT.sub(_font, text)
        if plain == text:
            break
        text = plain
    text = re.sub(r"\^\s*(?:\{\s*\\(?:circ|degree)\s*\}|\\(?:circ|degree)(?![A-Za-z]))", r"\\degree ", text)
    text = _TEMPERATURE.sub(lambda m: f"\\degree {(m[1] or m[2])[0].upper()}", text)
    text = _IN_BRACKETS.sub(r"\1\\overline{\2}", _REPEATED.sub(r"\\overline{\1\2}", text))
    text = _SPACE_GROUPING.sub(lambda m: m[0].replace(" ", ""), text)
    text = _UNDERSCORES.sub(lambda m: m[0].replace("_", ""), text)
    text = _LETTER_TIMES.sub(r"\\times ", text)
    text = _LOG_WITH_BASE.sub(r"\\log_{\1}", text)
    text = _MIXED.sub(r"\1\\frac{\2}{\3}", text)
    text = re.sub(r" {2,}", " ", text).strip()
    return _strip_ends(text)


def _strip_wrappers(text: str) -> str:
    """Take off display maths, boxes and Markdown emphasis around the whole."""
    while True:
        before = text
        text = text.removeprefix(r"\[").removesuffix(r"\]").strip()
        if len(text) > 2 and text[0] == text[-1] == '"' and '"' not in text[1:-1]:
            text = text[1:-1].strip()
        for pattern, group in ((_WRAPPED, 1), (_MARKDOWN, 2)):
            if (match := pattern.fullmatch(text.strip("$ "))) and _closes_at_end(match[group]):
                text = match[group].strip()
        if text == before:
            return text


def _closes_at_end(inner: str) -> bool:
    """Whether the braces inside balance, so that the outer pair is one pair."""
    depth = 0
    for char in inner:
        depth += (char == "{") - (char == "}")
        if depth < 0:
            return False
    return depth == 0


def _spelling(match: re.Match[str]) -> str:
    name = match[1]
    if name in _DISPLAY:
        return " "
    name = _SPELLINGS.get(name, name)
    return name if name in _AS_IS else "\\" + name


def _font(match: re.Match[str]) -> str:
    command, inner = match[1], match[2]
    bare = inner.strip()
    if command == "operatorname" or bare in _FUNCTIONS:
        return f"\\{bare} " if bare.isalpha() else f" {bare} "
    if not bare or _NUMBER_LIKE.fullmatch(bare):
        return f" {bare} " if command in _TEXTS else bare
    if bare in _UNIT_LETTERS and match.string[: match.start()].rstrip()[-1:] in _BEFORE_UNIT:
        return "\\text {" + inner + "}"
    if len(bare) == 1 and match.string[: match.start()][-1:].isalpha():
        return " " + bare  # apart from the command before it
    if len(bare) == 1 or "\\" in bare or (command in _FONTS and not bare.isalpha()):
        return bare if command in _FONTS or len(bare) == 1 else "\\text {" + inner + "}"
    return "\\text {" + inner + "}"


def _strip_ends(text: str) -> str:
    """Drop what stands before and after an answer without being part of it."""
    text = re.sub(r"\\text \{", r"\\text{", text)
    if whole := re.fullmatch(r"\\text\{([^{}]*)\}", text):
        text = whole[1].strip()
    while match := _LEADING.match(text):
        text = text[match.end() :]
    text = text.removesuffix("\\\\").rstrip()
    while text and (text[-1] in ",;" or (text[-1] == "." and not text.endswith("..") and not _abbreviation(text))):
        text = text[:-1].rstrip()
    return text


def _abbreviation(text: str) -> bool:
    """Whether the last full stop belongs to a word such as `p.m.` or `U.S.`."""
    return re.search(r"[A-Za-z]\.\s?[A-Za-z]\.$", text) is not None


def same_text(left: str, right: str) -> bool:
    """Whether two tidied texts differ in meaningless spaces and braces only."""
    return left == right or _canonical(left) == _canonical(right)


def _canonical(text: str) -> str:
    text = re.sub(r"\\text\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"([\^_]) *(\d+|[A-Za-z])", r"\1{\2}", text.strip())
    text = re.sub(r"(?<=[A-Za-z]) *\{(\d)\}", r" \1", text)
    return re.sub(r"(?<=[A-Za-z0-9]) +(?=[A-Za-z0-9])", "\0", text).replace(" ", "")


def flatten(text: str) -> str:
    r"""The text with `\text{...}` opened and spaces made single."""
    return " ".join(re.sub(r"\\text\{([^{}]*)\}", r" \1 ", text).split())
