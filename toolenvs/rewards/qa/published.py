"""The metrics of the published systems, exactly as each computes them, faults included.

They are for comparison with published figures; the careful judge of `toolenvs.rewards.qa` is the better reward.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def squad(text: str) -> str:
    """SQuAD's normalisation: lower case, ASCII punctuation deleted, articles dropped, white space joined."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def em(golds: Sequence[str], answer: str) -> float:
    """Exact match on SQuAD's normalisation: Search-R1, verl, SkyRL, GEM."""
    return float(any(squad(gold) == squad(answer) for gold in golds))


def sub_em(golds: Sequence[str], answer: str) -> float:
    """1 where a gold is a substring of the answer's characters: Search-R1's `subem`."""
    return float(any(squad(gold) in squad(answer) for gold in golds))


def f1(golds: Sequence[str], answer: str) -> float:
    """Token F1 over multisets on SQuAD's normalisation, the best over the golds (SQuAD 1.1)."""
    return max((_f1(squad(gold).split(), squad(answer).split()) for gold in golds), default=0.0)


def _f1(gold: list[str], answer: list[str]) -> float:
    same = sum((Counter(gold) & Counter(answer)).values())
    if not same:
        return 0.0
    precision, recall = same / len(answer), same / len(gold)
    return 2 * precision * recall / (precision + recall)


def cover_em(golds: Sequence[str], answer: str) -> float:
    """1 where every token of a gold stands somewhere in the answer, in any order: R1-Searcher's cover exact match."""
    said = set(squad(answer).split())
    return float(any(squad(gold).split() and said.issuperset(squad(gold).split()) for gold in golds))


def set_f1(golds: Sequence[str], answer: str) -> float:
    """DeepResearcher's F1 over sets of words, lower case with punctuation as white space; repetition goes unseen."""
    return max((_set_f1(_words(gold), _words(answer)) for gold in golds), default=0.0)


def _words(text: str) -> set[str]:
    return set(re.sub(r"[^\w\s]", " ", text.lower()).split())


def _set_f1(gold: set[str], answer: set[str]) -> float:
    same = len(gold & answer)
    return 2 * same / (len(gold) + len(answer)) if same else 0.0


METRICS: dict[str, Callable[[Sequence[str], str], float]] = {
    "em": em,
    "sub_em": sub_em,
    "f1": f1,
    "cover_em": cover_em,
    "set_f1": set_f1,
}
"""By the name that a page gives."""
