"""The proximal policy of PPO-EWMA: an exponentially weighted mean of all policies since the run began."""

import copy
from typing import Any

import torch
from torch import nn


class Ewma:
    """W' = decay W + 1, theta_prox' = (decay W theta_prox + theta) / W' (Hilton et al. 2022).

    The weight W begins at 1, so that the first means are true means and not biased towards the first policy.

    Args:
        model: whose weights are averaged; it is copied.
        decay: of the past at each update; the mean's age is about 1 / (1 - decay) updates.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model = copy.deepcopy(model).requires_grad_(False)
        """The proximal policy."""
        self._decay = decay
        self._weight = 1.0

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Take in the policy after an update."""
        past = self._decay * self._weight
        self._weight = past + 1
        for mean, newest in zip(self.model.parameters(), model.parameters(), strict=True):
            mean.lerp_(newest, 1 / self._weight)

    def state_dict(self) -> dict[str, Any]:
        """Mean and weight."""
        return {"model": self.model.state_dict(), "weight": self._weight}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self.model.load_state_dict(state["model"])
        self._weight = state["weight"]
