"""Small games as Gymnasium environments: what RAGEN's agents play, where Gymnasium has none of its own.

`Sokoban`, `Bandit` and `Countdown` stand on their own and know nothing of language models; the tool `gym` lets a policy
act on them, or on any other text or discrete environment. FrozenLake is Gymnasium's own: here are its maps, its
rendering as text, and the plan that its dice allow.
"""

from toolenvs.games.bandit import Bandit
from toolenvs.games.countdown import Countdown
from toolenvs.games.sokoban import Sokoban

__all__ = ["Bandit", "Countdown", "Sokoban"]
