"""What the judge reads beside the answer: the gold in a tool's text, or inside a call."""

from collections.abc import Iterator

from toolenvs.audit.again import Other
from toolenvs.audit.finding import Finding, fault
from toolenvs.audit.subject import NONSENSE, Subject, always, right

FAULTS = {
    "observation": "Let the judge read `moment.answer` or `moment.said`: it took an answer from what a tool returned.",
    "call": "Let the judge read what stands outside calls (`moment.said`): it took an answer from inside one.",
}


def probe(subject: Subject, other: Other) -> Iterator[Finding]:
    """Let a tool return a whole right answer, and put one into a call; then answer nonsense."""
    if not subject.protocol.targets or not subject.says_answers:
        return
    for index, task in enumerate(subject.tasks):
        if not task.golds:
            continue
        gold, end = right(task), subject.answer(task, NONSENSE)
        if subject.play(task, [end]).solved:  # told by another probe
            continue
        for said in (subject.answer(task, gold), f"<answer>{gold}</answer> \\boxed{{{gold}}}", gold):
            changed, _ = subject.with_tools(always(said))
            played = subject.play(task, [subject.call("what is it?"), end], on=changed)
            if played.solved:
                what = "A right answer in a tool's text counts as the policy's."
                yield fault("reading.observation", what, task=index, action=end, got=played.told)
            changed, _ = subject.with_tools(always("nothing"))
            played = subject.play(task, [subject.call(said), end], on=changed)
            if played.solved and len(played.actions) > 1:
                what = "A right answer inside a call counts, whatever is answered."
                yield fault("reading.call", what, task=index, action=subject.call(said), got=played.told)
