"""The groups that a group-wise estimator can learn from.

Raw correctness decides, not the reward: a shaping term would let a group through in which all are equally right (Yu et
al. 2025, "DAPO", dynamic sampling).
"""

from toolenvs.train.filters import Groups


def select(groups: Groups) -> Groups:
    """Those of at least two members, of unlike correctness."""
    return [members for members in groups if len({member.success or 0.0 for member in members}) > 1]
