"""A judge of answers that asks a model where exact match says no: the published form of many search systems.

Without an endpoint the careful comparison of `toolenvs.rewards.qa` stands in for the model; it is the same every time.
"""

import re
from dataclasses import dataclass

from toolenvs.endpoint import Endpoint
from toolenvs.errors import JudgeError
from toolenvs.rewards import qa
from toolenvs.rewards.moment import Moment
from toolenvs.rewards.verdict import Reason, Verdict
from toolenvs.tasks.seeding import stable_seed

_WORD = re.compile(r"\b(incorrect|correct|wrong)\b", re.IGNORECASE)
_MAX_ANSWER_CHARS = 2_000
_PROMPT = """\
A question was answered. Decide whether the answer says the same as the reference. Another wording, another language \
or further words are fine as long as nothing contradicts the reference; a number must be equal to it, or very nearly so.

Question: {question}
Reference: {gold}
Answer: {answer}

Reply with one word: Correct or Wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[judge]`, name "qa_or_model"."""

    endpoint: Endpoint | None = None
    """The model that is asked; None for the careful comparison."""


class Judge:
    """Exact match, else the model."""

    def __init__(self, options: Options) -> None:
        self._endpoint = options.endpoint

    def compare(self, gold: str, answer: str) -> Verdict:
        """Judge an answer that stands alone, without the model; task sets hold their golds against it."""
        return _exact((gold,), answer) or qa.judge(golds=(gold,), answer=answer)

    async def __call__(self, moment: Moment) -> Verdict:
        """Judge a finished episode.

        Raises:
            EngineError: the model gave no answer.
            JudgeError: it answered neither Correct nor Wrong.
        """
        golds, answer = moment.task.golds or (moment.task.gold,), (moment.answer or "").strip()
        exact = _exact(golds, answer)
        if exact is not None:
            return exact
        if self._endpoint is None or not answer:
            return qa.judge(golds=golds, answer=answer)
        values = {"question": moment.task.question, "gold": " or ".join(golds), "answer": answer[:_MAX_ANSWER_CHARS]}
        said = await self._endpoint.ask(_PROMPT.format_map(values), seed=stable_seed(*values.values()) % (1 << 31))
        word = _WORD.search(said)
        if word is None:
            raise JudgeError(f"the judge answered {said[:80]!r}, which is neither Correct nor Wrong")
        correct = word[1].lower() == "correct"
        return Verdict(correct, Reason.MATCH if correct else Reason.MISMATCH, answer)


def _exact(golds: tuple[str, ...], answer: str) -> Verdict | None:
    if all(gold.strip() for gold in golds) and answer.strip() and qa.em(golds, answer) == 1:
        return Verdict(True, Reason.MATCH, answer.strip())
    return None
