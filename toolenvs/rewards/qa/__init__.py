"""The question-answering judge: whether a short answer is one of the gold answers, whatever way it is written.

>>> from toolenvs.rewards import qa
>>> qa.judge(golds=["February 11, 1929"], answer="11 Feb. 1929").correct
True
>>> qa.judge(golds=["3.14"], answer="314").correct
False

Not covered: aliases that only knowledge of the world gives ("Obama" for "Barack Obama"); list them as golds. The
metrics of the published systems are in `published`.
"""

from toolenvs.rewards.qa.judging import check_gold, extract, judge, judge_response
from toolenvs.rewards.qa.published import METRICS, cover_em, em, f1, set_f1, squad, sub_em

__all__ = [
    "METRICS", "check_gold", "cover_em", "em", "extract", "f1", "judge", "judge_response", "set_f1", "squad", "sub_em",
]  # fmt: skip
