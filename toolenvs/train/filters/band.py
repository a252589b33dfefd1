"""SeRL: the groups that are neither nearly always solved nor nearly never.

Fang et al. 2025, "SeRL: Self-Play Reinforcement Learning for Large Language Models with Limited Data", keep tasks that
are solved in 0.2 to 0.8 of the tries, both included.
"""

from statistics import fmean

from toolenvs.train.filters import Groups

_ROUNDING = 1e-9


def select(groups: Groups, *, low: float, high: float) -> Groups:
    """Those whose mean raw correctness is `low` to `high`."""
    rates = [fmean(member.success or 0.0 for member in members) for members in groups]
    kept = zip(groups, rates, strict=True)
    return [members for members, rate in kept if low - _ROUNDING <= rate <= high + _ROUNDING]
