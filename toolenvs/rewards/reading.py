"""Readers: who answers a question from a text alone, to tell whether the text holds the answer."""

import re
from typing import Protocol

from toolenvs.endpoint import Endpoint
from toolenvs.rewards.qa.published import squad
from toolenvs.tasks.seeding import stable_seed

_ASKS_NUMBER = re.compile(r"\b(?:how (?:many|much|old)|which (?:year|number)|when)\b|\d", re.IGNORECASE)
_NUMBER = re.compile(r"\d[\d,.]*\d|\d")
_NAME = re.compile(r"[A-Z][\w'-]*(?:(?: of| the)* [A-Z][\w'-]*)*")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_MAX_CHARS = 20_000
_PROMPT = """\
Answer the question from the text below and from nothing else. Write the answer alone, in a few words; if the text \
does not hold it, write: unknown

Question: {question}

Text:
{text}"""


class Reader(Protocol):
    """Answers from a text."""

    async def read(self, question: str, text: str) -> str:
        """The answer that the text gives, or "" or "unknown" where it gives none.

        Raises:
            InfrastructureError: the reader failed.
        """
        ...


class Spans:
    """Reads without a model: a number or a name that the question does not hold, from the sentence nearest to it.

    The nearest sentence is the one that shares the most words with the question, the later of equals. The same text
    always gives the same answer; it understands nothing, and stands in where no model can be asked.
    """

    async def read(self, question: str, text: str) -> str:
        """The span; "" where there is none."""
        asked = set(squad(question).split())
        pattern = _NUMBER if _ASKS_NUMBER.search(question) else _NAME
        best, answer = -1, ""
        for sentence in _SENTENCE_END.split(text[:_MAX_CHARS]):
            spans = [span[0] for span in pattern.finditer(sentence) if not set(squad(span[0]).split()) <= asked]
            shared = len(asked & set(squad(sentence).split()))
            if spans and shared >= best:
                best, answer = shared, spans[0]
        return answer


class Model:
    """Reads by a model behind an endpoint.

    Args:
        endpoint: the model.
        max_chars: of a text; what is longer is cut at its end.
    """

    def __init__(self, endpoint: Endpoint, *, max_chars: int = _MAX_CHARS) -> None:
        self._endpoint, self._max_chars = endpoint, max_chars

    async def read(self, question: str, text: str) -> str:
        """What the model answers.

        Raises:
            EngineError: it gave no answer.
        """
        prompt = _PROMPT.format_map({"question": question, "text": text[: self._max_chars]})
        return await self._endpoint.ask(prompt, seed=stable_seed(question, text) % (1 << 31))
