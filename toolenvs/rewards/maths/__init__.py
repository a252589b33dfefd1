"""The maths judge: whether a final answer is the gold answer, whatever way it is written.

>>> from toolenvs.rewards import maths
>>> maths.judge(gold="1/2", answer="0.5").correct
True
>>> maths.judge_response(gold="1/2", response=r"so \\boxed{\\frac{2}{4}}").correct
True

What a model writes is never evaluated as code, and never in this process beyond bounded rational arithmetic; see
`judging` for the layers and `algebra` for the reading. Not covered: statements that need a proof (that two integrals
agree, that two set descriptions do); what cannot be read is compared as text.
"""

from .extract import extract
from .judging import ajudge, ajudge_response, judge, judge_response
from .validate import check_gold

__all__ = ["ajudge", "ajudge_response", "check_gold", "extract", "judge", "judge_response"]
