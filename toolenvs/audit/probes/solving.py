"""A right answer that is not paid, and one that is paid without the tools that the page is about."""

from collections.abc import Iterator

from toolenvs.audit.again import Other
from toolenvs.audit.finding import Finding, fault, note
from toolenvs.audit.subject import NONSENSE, Subject, right

FAULTS = {
    "unsolvable": "Hold the gold against the judge, and the protocol's `write_answer` against what the judge reads.",
    "underpaid": "Let success pay more than failure: look at the reward's terms and their weights.",
    "untooled": "Where the tool must be used, let the judge ask for it: judge.cited, or a term for calls.",
    "untried": "Give tasks a solution (extra.program, extra.queries or extra.calls), so that they can be tried.",
}


def probe(subject: Subject, other: Other) -> Iterator[Finding]:
    """Play each task's own solution, its gold alone, and nonsense."""
    for index, task in enumerate(subject.tasks):
        best, cold = subject.best(task), None
        if best is None:
            yield note("solving.untried", "The task carries neither a gold nor a solution.", task=index)
            continue
        if task.golds and subject.says_answers:
            cold = subject.play(task, [subject.answer(task, right(task))])
        if not best.solved:
            yield fault(
                "solving.unsolvable",
                "The task's own solution is not right.",
                task=index,
                action=best.actions[-1:] and best.actions[-1],
                got=best.told,
            )
            continue
        wrong = subject.play(task, subject.attempt(task, NONSENSE))
        if best.reward <= wrong.reward:
            yield fault(
                "solving.underpaid",
                f"A right episode earns {best.reward:g}, one that answers nonsense {wrong.reward:g}.",
                task=index,
                action=best.actions[-1],
                got=best.told,
            )
        if subject.protocol.targets and cold is not None and cold.solved:
            found = fault if subject.page.audit.needs_tools else note
            yield found(
                "solving.untooled",
                "The gold is right without any call.",
                task=index,
                action=cold.actions[-1],
                got=cold.told,
            )
