"""R-Search's rewards: the answer, the evidence that it was drawn from, and the format.

Paid once, at the end, from 0 to 2.4 (arXiv:2506.04185): the answer's F1; the F1 of what another reader answers from the
policy's evidence alone; `format` for exactly one answer; and `format` where evidence was given if and only if something
was found to draw it from.
"""

import re
from dataclasses import dataclass

from toolenvs.endpoint import Endpoint
from toolenvs.rewards.moment import Moment
from toolenvs.rewards.qa.published import f1
from toolenvs.rewards.reading import Model, Reader, Spans
from toolenvs.schema import at_least
from toolenvs.transcript import Author

_CLOSING = re.compile(r"</\w+>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "r_search"."""

    format: float = 0.2
    """Each of the two format rewards."""
    evidence: str = "original_evidence"
    """The tag of the evidence."""
    answer: str = "answer"
    """The tag of the answer."""
    endpoint: Endpoint | None = None
    """The model that reads the evidence; None for `toolenvs.rewards.reading.Spans`."""

    def __post_init__(self) -> None:
        at_least(0, format=self.format)


class Term:
    """The reward, the outcome included. Asynchronous, since a model may have to be asked."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._reader: Reader = Spans() if options.endpoint is None else Model(options.endpoint)
        tag = re.escape(options.evidence)
        self._evidence = re.compile(f"<{tag}>((?:(?!<{tag}>).)*?)</{tag}>", re.DOTALL)

    async def __call__(self, moment: Moment) -> float:
        """The reward of the turn.

        Raises:
            InfrastructureError: the reader failed.
        """
        if moment.verdict is None:
            return 0.0
        golds, written = moment.task.golds, _written(moment)
        evidence = "\n".join(match[1].strip() for match in self._evidence.finditer(written)).strip()
        found = any(segment.verbatim for segment in moment.transcript.by(Author.TOOL))
        read = await self._reader.read(moment.task.question, evidence) if evidence else ""
        tags = [written.count(tag) for tag in (f"<{self._options.answer}>", f"</{self._options.answer}>")]
        formats = (tags == [1, 1] and moment.answer is not None) + (bool(evidence) == found)
        return f1(golds, moment.answer or "") + f1(golds, read) + self._options.format * formats


def _written(moment: Moment) -> str:
    """What the policy wrote and is scored on, with the stop strings that an engine had dropped."""
    return "".join(
        segment.text
        for segment in moment.transcript.segments
        if (segment.author is Author.POLICY and segment.scored)
        or (segment.author is Author.HARNESS and _CLOSING.fullmatch(segment.text))
    )
