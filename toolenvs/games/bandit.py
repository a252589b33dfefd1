"""A bandit with two arms whose names say, to who knows the words, which one pays more; pulled once.

RAGEN's: the low arm pays 0.1 always, the high one 1 in a quarter of all cases and otherwise nothing. Right is the
choice of the high arm, whatever it happened to pay.
"""

from typing import Any

import gymnasium

from toolenvs.errors import ConfigError


class Bandit(gymnasium.Env[int, int]):
    """Two arms in random order.

    Observation: 0 before an arm was pulled, then 1 or 2 for the first or the second one. Action: 0 or 1, the arm at
    that place of `action_names`, which each reset puts into order anew. The episode ends with the first pull, and
    `info["success"]` says whether it was the high arm's.

    Args:
        low: name of the arm that pays little, always.
        high: name of the arm that pays more on average.
        low_reward: what the low arm pays.
        high_reward: what the high arm pays when it pays.
        high_chance: how often it does, 0 to 1.
        render_mode: "ansi" or None.

    Raises:
        ConfigError: the arms have one name, or the chance is none.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012

    def __init__(
        self,
        low: str = "Phoenix",
        high: str = "Dragon",
        *,
        low_reward: float = 0.1,
        high_reward: float = 1.0,
        high_chance: float = 0.25,
        render_mode: str | None = None,
    ) -> None:
        if not low.strip() or not high.strip() or low.casefold() == high.casefold():
            raise ConfigError(f"Bandit: the arms {low!r} and {high!r} need two different names")
        if not 0 <= high_chance <= 1:
            raise ConfigError(f"Bandit: high_chance is {high_chance}; give 0 to 1")
        self.render_mode = render_mode
        self._high = high
        self._low_reward, self._high_reward, self._high_chance = low_reward, high_reward, high_chance
        self.action_names = (low, high)
        """Names of the arms, in this episode's order."""
        self._names = (low, high)
        self._told = ""
        self.observation_space = gymnasium.spaces.Discrete(3)  # type: ignore[assignment]
        self.action_space = gymnasium.spaces.Discrete(2)  # type: ignore[assignment]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Put the arms into an order, and forget what was pulled."""
        super().reset(seed=seed)
        self.action_names = self._names if self.np_random.random() < 0.5 else self._names[::-1]
        self._told = "The arms: " + ", ".join(self.action_names)
        return 0, {"success": False}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Pull an arm."""
        name = self.action_names[int(action)]
        paid = self.np_random.random() < self._high_chance  # drawn whichever arm it is: the dice are the seed's alone
        reward = (self._high_reward if paid else 0.0) if name == self._high else self._low_reward
        self._told = f"{name} paid {reward:g}."
        return int(action) + 1, reward, True, False, {"success": name == self._high}

    def render(self) -> str | None:
        """The arms' names, or what the pulled one paid, where the mode is "ansi"."""
        return self._told if self.render_mode == "ansi" else None
