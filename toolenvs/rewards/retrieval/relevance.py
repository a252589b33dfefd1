"""Which passages a task calls relevant, and whether a passage holds an answer."""

from collections.abc import Mapping, Sequence

from toolenvs.errors import TaskError
from toolenvs.retrieval import Hit
from toolenvs.rewards.qa.published import squad
from toolenvs.tasks.task import Task


def judgements(task: Task) -> Mapping[str, int]:
    """Grades by id: of the task's column `relevant`, which maps ids to grades, else of its golds, which are ids then.

    DeepRetrieval's rows give the golds' grades in `reward_model.score`; golds without grades have grade 1.

    Raises:
        TaskError: nothing is relevant, or a grade is no whole number.
    """
    given = task.extra.get("relevant")
    if given is None:
        rule = task.extra.get("reward_model")
        scores = rule.get("score") if isinstance(rule, Mapping) else None
        graded = isinstance(scores, list) and len(scores) == len(task.golds)
        given = dict(zip(task.golds, scores if graded and scores else [1] * len(task.golds), strict=True))
    if not isinstance(given, Mapping):
        raise TaskError(f"task {task.id!r}: 'relevant' must map ids to grades")
    for passage_id, grade in given.items():
        if isinstance(grade, bool) or not isinstance(grade, int | float) or grade != int(grade):
            raise TaskError(f"task {task.id!r}: the grade of {passage_id!r} is {grade!r}; give a whole number")
    grades = {str(passage_id): int(grade) for passage_id, grade in given.items()}
    if not any(grade > 0 for grade in grades.values()):
        raise TaskError(f"task {task.id!r} has no relevant passage; give it ids with a grade of at least 1")
    return grades


class Holds:
    """Whether a passage holds one of some answers, word for word on SQuAD's normalisation.

    Args:
        golds: the answers.

    Raises:
        TaskError: there is none, or nothing is left of one, so that every passage would hold it.
    """

    def __init__(self, golds: Sequence[str]) -> None:
        self._golds = tuple(f" {squad(gold)} " for gold in golds)
        if not self._golds or not all(gold.strip() for gold in self._golds):
            raise TaskError(f"the answers {list(golds)!r:.200} cannot be looked for: none may be empty")

    def __call__(self, hit: Hit) -> bool:
        """Whether the title or the text holds one."""
        said = f" {squad(f'{hit.title} {hit.text}')} "
        return any(gold in said for gold in self._golds)
