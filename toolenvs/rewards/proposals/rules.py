"""The rules that a proposed question must keep before anybody tries it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from toolenvs.rewards.blocks import blocks
from toolenvs.rewards.qa.published import squad
from toolenvs.schema import at_least
from toolenvs.transcript import Author, Transcript

_CLOSING = re.compile(r"</\w+>")


class Flaw(StrEnum):
    """What is wrong with a proposal; the first of these that is found."""

    NO_QUESTION = "no_question"
    """The policy proposed nothing."""
    LENGTH = "length"
    """Fewer or more characters or words than allowed."""
    LEAK = "leak"
    """The question tells the answer."""
    NOTHING_FOUND = "nothing_found"
    """No search of the proposer found anything."""
    FEW_SEARCHES = "few_searches"
    REPEATED_SEARCH = "repeated_search"
    SEARCHED_ANSWER = "searched_answer"
    """A query holds the answer; only where `Rules.bar_answer_in_queries`."""
    UNANSWERABLE = "unanswerable"
    """A reader of what the proposer found does not come to the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Limits of a proposal. The defaults are those of the released code."""

    min_chars: int = 10
    max_chars: int = 1_000
    min_words: int = 10
    """Of the question, divided at white space."""
    min_searches: int = 2
    """Of the proposer, none of them twice."""
    bar_answer_in_queries: bool = False
    """Whether a query that holds the answer makes the proposal invalid."""

    def __post_init__(self) -> None:
        at_least(0, min_chars=self.min_chars, min_words=self.min_words, min_searches=self.min_searches)
        at_least(self.min_chars, max_chars=self.max_chars)


def flaw(
    question: str | None, *, golds: Sequence[str], queries: Sequence[str], found: Sequence[str], rules: Rules
) -> Flaw | None:
    """The first rule that a proposal breaks; None for one that may be tried.

    Args:
        question: the proposed question, None where there is none.
        golds: the answer that was given, in all its spellings.
        queries: what the proposer searched for.
        found: what its searches returned.
        rules: the limits.
    """
    question = (question or "").strip()
    if not question:
        return Flaw.NO_QUESTION
    if not rules.min_chars <= len(question) <= rules.max_chars or len(question.split()) < rules.min_words:
        return Flaw.LENGTH
    if any(_holds(question, gold) for gold in golds):
        return Flaw.LEAK
    if not any(text.strip() for text in found):
        return Flaw.NOTHING_FOUND
    if len(queries) < rules.min_searches:
        return Flaw.FEW_SEARCHES
    if len({_key(query) for query in queries}) < len(queries):
        return Flaw.REPEATED_SEARCH
    if rules.bar_answer_in_queries and any(_holds(query, gold) for query in queries for gold in golds):
        return Flaw.SEARCHED_ANSWER
    return None


def _holds(text: str, gold: str) -> bool:
    """Whether the text holds the gold: as it is written, or as words without articles and punctuation."""
    if not gold.strip():
        return False
    words = squad(gold)
    return gold.strip().lower() in text.lower() or bool(words and f" {words} " in f" {squad(text)} ")


def _key(query: str) -> str:
    return " ".join(query.lower().split())


def written(transcript: Transcript) -> str:
    """What the policy wrote and is scored on, with the closing tags that an engine had dropped."""
    return "".join(
        segment.text
        for segment in transcript.segments
        if (segment.author is Author.POLICY and segment.scored)
        or (segment.author is Author.HARNESS and _CLOSING.fullmatch(segment.text))
    )


def queries(transcript: Transcript, tag: str) -> list[str]:
    """What the policy searched for, in order.

    Args:
        transcript: of the proposer's episode.
        tag: of a search.
    """
    return [text.strip() for _, text in blocks(written(transcript), (tag,)) if text.strip()]
