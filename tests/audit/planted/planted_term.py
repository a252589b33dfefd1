"""A term that pays the outcome, sound or with one fault."""

from dataclasses import dataclass

from toolenvs.transcript import Author


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    fault: str = ""


class Term:
    def __init__(self, options: Options) -> None:
        self.fault = options.fault

    def __call__(self, moment) -> float:
        if moment.verdict is None:
            return 0.0
        right = float(moment.verdict.correct)
        if self.fault == "pays failure":
            return 1 - right
        if self.fault == "pays infinity":
            return float("inf") if right else 0.0
        if self.fault == "pays each answer":
            own = "".join(part.text for part in moment.transcript.by(Author.POLICY))
            return right * own.count("</answer>")
        if self.fault == "pays each call":
            return right + 0.5 * moment.calls
        if self.fault == "pays no answer":
            return right + 2.0 * (moment.answer is None)
        return right
