"""ReST-GRPO: the groups that spread, and that hold a good episode.

The training data of ReST-RL (its repository) keep groups whose standard deviation is above 0.05 and whose best member
has 0.9 at least. For judges that grade, this drops what `informative` would keep: groups in which all is nearly equal,
and groups in which the best is still poor. It is told by raw correctness here, and by the reward there.
"""

from statistics import pstdev

from toolenvs.train.filters import Groups

SPREAD = 0.05
BEST = 0.9


def select(groups: Groups) -> Groups:
    """Those of a standard deviation above `SPREAD` and a maximum of at least `BEST`."""
    graded = [(members, [member.success or 0.0 for member in members]) for members in groups]
    return [members for members, success in graded if pstdev(success) > SPREAD and max(success) >= BEST]
