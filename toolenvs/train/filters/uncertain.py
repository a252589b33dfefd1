"""StarPO-S: the groups whose returns spread most, because they are those that the policy is least sure of.

Wang et al. 2025, "RAGEN": keeping the most uncertain quarter holds off the collapse that training on all of them ends
in. Their spread is that of the returns, penalties for malformed turns included, and so it is here.
"""

import statistics

from toolenvs.train.filters import Groups


def select(groups: Groups, *, share: float) -> Groups:
    """The `share` of largest standard deviation of the return, at least one, in the order of the rollout."""
    spreads = [statistics.pstdev([member.reward for member in members]) for members in groups]
    count = min(len(groups), max(1, round(share * len(groups))))
    chosen = sorted(range(len(groups)), key=lambda index: -spreads[index])[:count]
    return [groups[index] for index in sorted(chosen)]
