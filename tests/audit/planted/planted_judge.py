"""A judge of exact answers, sound or with one fault."""

import re
import unicodedata
from dataclasses import dataclass

from toolenvs.rewards.verdict import Reason, Verdict
from toolenvs.transcript import Author

_LATIN = str.maketrans("асеорхуАВСЕНКМОРТХ", "aceopxyABCEHKMOPTX")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    fault: str = ""


class Judge:
    def __init__(self, options: Options) -> None:
        self.fault = options.fault
        self.context = {"hint": lambda task: f"Think of {task.gold}."} if options.fault == "hints" else {}

    def compare(self, gold: str, answer: str) -> Verdict:
        return self._verdict(gold == answer, answer)

    def _verdict(self, right: bool, answer: str) -> Verdict:
        score = 1.5 if right and self.fault == "scores 1.5" else None
        return Verdict(right, Reason.MATCH if right else Reason.MISMATCH, answer, score=score)

    async def __call__(self, moment) -> Verdict:
        if not moment.task.golds and self.fault == "says wrong without a gold":
            return self._verdict(False, "")
        gold, answer = moment.task.gold, (moment.answer or "").strip()
        response = moment.transcript.response
        paid = {
            "pays silence": not answer,
            "pays a phrase": answer == "all of the above",
            "pays length": len(answer) > 5_000,
            "finds the gold anywhere": gold in answer,
            "folds scripts": answer.translate(_LATIN) == gold,
            "reads the tool": gold in "".join(part.text for part in moment.transcript.by(Author.TOOL)),
            "reads calls": gold in "".join(str(call) for call in moment.arguments),
            "reads tags": gold in "".join(re.findall(r"<information>(.*?)</information>", response, re.DOTALL)),
        }
        if self.fault == "falls over letters":
            unicodedata.name(answer[0])  # of a control character there is none, and of nothing no first one
        if self.fault == "never satisfied":
            return self._verdict(False, answer)
        return self._verdict(answer == gold or paid.get(self.fault, False), answer)
