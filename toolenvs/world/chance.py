"""How often a question is answered rightly without a search: what guessing gives at best, and guessers that try.

A stranger to the world may know how it is made, which names it holds and what each fact may be, but no fact: what a
fact leads to is drawn uniformly, so no guess beats `chance`. Whoever has seen questions of the same world with their
answers may learn which answers are common there; `Template` and `Nearest` do.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import cast

from toolenvs.tasks.seeding import Draws
from toolenvs.world.entities import RELATIONS, Key, Kind
from toolenvs.world.questions import Question
from toolenvs.world.world import BIRTH_YEARS, RANGES, World

_LATEST_START = 60
"""Years behind the first birth from which every year of a founding, a work or an event is equally likely."""
_NAME = re.compile(r"(?:The )?[A-Z][a-z]+(?: of| [A-Z][a-z]+)*")
_GRAM = 3
_MAX_PLACES = 500
"""Questions that a run of letters may stand in to tell anything; commoner ones belong to the wording."""


def chance(world: World, question: Question) -> float:
    """The most that a guess at the answer can be worth, 0 to 1, for somebody who knows names and ranges and no fact."""
    kind, fact = _asked(question)
    target = RELATIONS[kind].get(fact)
    if target is not None:
        return 1.0 / _candidates(world, question, target)
    low, high = RANGES.get(fact, BIRTH_YEARS)
    return 1.0 / (high - low + 1)


def guess(world: World, question: Question, draws: Draws) -> str:
    """The guess of such a stranger, at random: right with `chance`, on the average."""
    kind, fact = _asked(question)
    target = RELATIONS[kind].get(fact)
    if target is not None:
        passed = set(question.evidence)
        while True:
            key = Key(target, draws.below(world.counts[target]))
            if key.id not in passed:
                return world.name(key)
    low, high = RANGES.get(fact, (BIRTH_YEARS[0] + (0 if fact == "birth_year" else _LATEST_START), BIRTH_YEARS[1]))
    return str(draws.between(low, high))


def _asked(question: Question) -> tuple[Kind, str]:
    """Kind of the last entity, and the fact of it that is the answer."""
    return cast(Kind, question.evidence[-1].partition("-")[0]), question.facts[-1]


def _candidates(world: World, question: Question, target: Kind) -> int:
    """Entities that the answer may be: no walk passes one twice."""
    passed = sum(key.startswith(f"{target}-") for key in question.evidence)
    return world.counts[target] - passed


class Constant:
    """Always the commonest answer that it has seen."""

    def __init__(self, seen: Iterable[Question]) -> None:
        self._answer = Counter(question.answer for question in seen).most_common(1)[0][0]

    def guess(self, question: Question) -> str:
        """The answer."""
        return self._answer


class Template:
    """The commonest answer to questions that differ from this one in their names only."""

    def __init__(self, seen: Iterable[Question]) -> None:
        self._answers: dict[str, Counter[str]] = {}
        for question in seen:
            self._answers.setdefault(_without_names(question.text), Counter())[question.answer] += 1
        self._common = sum(self._answers.values(), Counter()).most_common(1)[0][0]

    def guess(self, question: Question) -> str:
        """The answer; the commonest of all where the template is new."""
        answers = self._answers.get(_without_names(question.text))
        return answers.most_common(1)[0][0] if answers else self._common


class Nearest:
    """The answer to the question that shares the most runs of three letters with this one, rare ones counting more."""

    def __init__(self, seen: Iterable[Question]) -> None:
        self._seen = list(seen)
        self._places: dict[str, list[int]] = {}
        for place, question in enumerate(self._seen):
            for gram in _grams(question.text):
                self._places.setdefault(gram, []).append(place)

    def guess(self, question: Question) -> str:
        """The answer; "" where nothing is shared."""
        scores: Counter[int] = Counter()
        for gram in _grams(question.text):
            places = self._places.get(gram, ())
            for place in places if len(places) <= _MAX_PLACES else ():
                scores[place] += 1.0 / len(places)  # type: ignore[assignment] # a count that is weighed
        return self._seen[max(scores, key=lambda place: (scores[place], -place))].answer if scores else ""


def _without_names(text: str) -> str:
    first, _, rest = text.partition(" ")
    return f"{first} {_NAME.sub('X', rest)}"


def _grams(text: str) -> set[str]:
    lower = text.lower()
    return {lower[at : at + _GRAM] for at in range(len(lower) - _GRAM + 1)}
