"""A reader without a model that follows a chain of facts through a text: the mayor of the town where somebody was born.

It joins what the question names to what the text says of it, and goes on from there, as long as that says more of the
question. It knows names by their capitals and a few families of words; it stands in where no model can be asked.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from toolenvs.rewards.qa.published import squad
from toolenvs.rewards.reading import Spans

MAX_HOPS = 4
MAX_CHARS = 60_000
"""Of a text that is read; about 80 passages of 100 words."""
_BEAM = 64
_PER_HOP = 0.2
_OUTERMOST = 0.5
"""For telling of the question's first word: what it asks for last stands there."""
_MENTIONED = 0.75
"""Less, for a sentence of a passage about something else."""
_TITLED = re.compile(r"(?:Doc \d+ ?)?\(Title: (.{0,200}?)\) ?|\[\d+\] ?([^:\n]{1,80}): ?|(?:Doc \d+: ?|\(\d+\) ?)")
_SENTENCE_END = re.compile(r"(?<=[.!?]) +")
_NAME = re.compile(r"[A-Z][\w'-]*(?:(?: of| the)* [A-Z][\w'-]*)*")
_NUMBER = re.compile(r"\d[\d,.]*\d|\d")
_ASKS_NUMBER = re.compile(r"\b(?:how (?:many|much|old)|(?:which|what) (?:year|number)|when)\b", re.IGNORECASE)
_KIND = re.compile(r"\b(the|which|what) [a-z]+ (?=(?:in )?(?:where|that|which|who)\b)", re.IGNORECASE)
"""What sort of thing is meant, "the town where": no fact that a sentence would tell."""
_WORD = re.compile(r"[a-z]+")
_STOP = frozenset(
    (
        "a", "an", "and", "are", "as", "at", "be", "been", "by", "did", "do", "doc", "does", "for", "from", "had",
        "has", "have", "her", "his", "how", "in", "is", "it", "its", "itself", "many", "most", "much", "of", "on",
        "one", "or", "she", "he", "that", "the", "their", "there", "they", "this", "title", "to", "was", "were",
        "what", "when", "where", "which", "who", "whom", "whose", "will", "with",
    )
)  # fmt: skip
_FAMILIES = (
    ("author", "write", "wrote", "written", "creator"),
    ("teacher", "teach", "taught", "pupil"),
    ("winner", "win", "won"),
    ("leader", "lead", "led", "head"),
    ("employ", "employer", "work"),
    ("set", "story", "setting"),
    ("hold", "held", "place", "venue"),
    ("birth", "born", "birthplace"),
    ("inhabitant", "population", "people"),
    ("maker", "make", "made"),
)
_FAMILY = {word: family[0] for family in _FAMILIES for word in family}


@dataclass(frozen=True, slots=True)
class _Sentence:
    subject: str
    """Name that the passage is about, normalised; "" where it names nothing."""
    names: tuple[str, ...]
    """As they are written, in order."""
    numbers: tuple[str, ...]
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Path:
    at: str
    """Where it stands: a name, normalised."""
    covered: frozenset[int]
    """Places of the question's words that its sentences told of."""
    passed: tuple[str, ...]
    score: float = 0.0
    answer: str = ""


class Chains:
    """Reads by going from name to name.

    Of all chains that begin at a name in the question, the one whose sentences hold the most of its words; of equals
    the shortest, then the one that the text tells first. A chain ends at a number where the question asks for one.
    Where no chain begins, `Spans` reads. The same text always gives the same answer.
    """

    async def read(self, question: str, text: str) -> str:
        """The end of the chain; "" where there is none."""
        text = text[:MAX_CHARS]
        spoken = frozenset(_WORD.findall(f"{question}\n{text}"))  # lower case: such words are no names at a beginning
        sentences = list(_sentences(text, spoken))
        starts = [squad(name) for name in _names(question, spoken)]
        asked = _content(_KIND.sub(r"\1 ", _without(question, _names(question, spoken))))
        counted = bool(_ASKS_NUMBER.search(question))
        best = _Path("", frozenset(), (), -1.0)
        paths = [_Path(start, frozenset(), tuple(starts)) for start in dict.fromkeys(starts)]
        for _ in range(MAX_HOPS):
            grown = [step for path in paths for step in _steps(path, sentences, asked, counted)]
            for path in grown:
                if path.answer and path.score > best.score:
                    best = path
            paths = sorted((p for p in grown if p.at), key=lambda path: -path.score)[:_BEAM]
        return best.answer or await Spans().read(question, _TITLED.sub("", text))


def _steps(path: _Path, sentences: list[_Sentence], asked: tuple[str, ...], counted: bool) -> Iterator[_Path]:
    """Every chain that is one sentence longer."""
    for sentence in sentences:
        about = sentence.subject == path.at
        if not about and path.at not in map(squad, sentence.names):
            continue
        new = _told(sentence.words, asked, path.covered)
        if not (new or about):
            continue
        covered = path.covered | new
        score = len(covered) - _PER_HOP * len(path.passed)
        score += _OUTERMOST if 0 in new else 0.0
        score -= 0.0 if about else _MENTIONED
        for name in sentence.names:
            key = squad(name)
            if key != path.at and key not in path.passed:
                yield _Path(key, covered, (*path.passed, key), score, "" if counted else name)
        for number in sentence.numbers if counted else ():
            yield _Path("", covered, path.passed, score, number)


def _told(words: frozenset[str], asked: tuple[str, ...], covered: frozenset[int]) -> frozenset[int]:
    """Places of the question that a sentence tells of; of a word that stands there twice, the inner one first."""
    open_places = {word: place for place, word in enumerate(asked) if place not in covered}
    return frozenset(open_places[word] for word in words if word in open_places)


def _sentences(text: str, spoken: frozenset[str]) -> Iterator[_Sentence]:
    for line in text.splitlines():
        titled = _TITLED.match(line)
        title = (titled[1] or titled[2] or "") if titled else ""
        body = line[titled.end() :] if titled else line
        subject = squad(title)
        for sentence in _SENTENCE_END.split(body):
            names = _names(sentence, spoken)
            subject = subject or next(map(squad, names), "")
            words = frozenset(_content(_without(sentence, names)))
            yield _Sentence(subject, names, tuple(span[0] for span in _NUMBER.finditer(sentence)), words)


def _names(sentence: str, spoken: frozenset[str]) -> tuple[str, ...]:
    """The names in a sentence; a word that only begins it is none."""
    found = []
    for span in _NAME.finditer(sentence):
        words = span[0].lower().split()
        if len(words) == 1 and (words[0] in _STOP or (words[0] in spoken and not sentence[: span.start()].strip())):
            continue
        found.append(span[0])
    return tuple(found)


def _without(sentence: str, names: tuple[str, ...]) -> str:
    for name in names:
        sentence = sentence.replace(name, " ")
    return sentence


def _content(sentence: str) -> tuple[str, ...]:
    """The words that carry meaning, in order, each as the first of its family or without its ending."""
    words = [word for word in _WORD.findall(sentence.lower()) if word not in _STOP]
    return tuple(_stem(word) for word in words)


def _stem(word: str) -> str:
    for ending in ("", "s", "ed", "d", "ing", "es"):
        root = word.removesuffix(ending)
        if root in _FAMILY and (not ending or root != word):
            return _FAMILY[root]
    for ending in ("ing", "ers", "er", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    return word
