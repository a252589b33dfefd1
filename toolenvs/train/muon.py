"""Muon where matrices are shared out over processes."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.optim import Muon

from toolenvs.train import ranks


class ShardedMuon(Muon):
    """torch's Muon, for matrices of which each process holds a part.

    Momentum is kept in parts. A step is orthogonalised as a whole, as parts of it would not make an orthogonal one:
    each is gathered, worked on by one process, a different one for each matrix, and given out in parts.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """One step; a closure is not called."""
        for group in self.param_groups:
            for number, parameter in enumerate(group["params"]):
                if parameter.grad is not None:
                    self._step(parameter, group, owner=number % ranks.size())

    def _step(self, parameter: DTensor, group: dict[str, Any], *, owner: int) -> None:
        gradient: Any = parameter.grad
        state = self.state[parameter]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(gradient)
        own, momentum = gradient.to_local(), state["momentum_buffer"].to_local()
        momentum.lerp_(own, 1 - group["momentum"])
        update = own.lerp(momentum, group["momentum"]) if group["nesterov"] else momentum
        mesh, placements = gradient.device_mesh, gradient.placements
        whole = DTensor.from_local(
            update, mesh, placements, run_check=False, shape=gradient.shape, stride=gradient.stride()
        ).full_tensor()
        if ranks.rank() == owner:
            whole = _move(whole, group)
        move = distribute_tensor(whole, mesh, placements, src_data_rank=owner)
        weights = parameter.to_local()
        weights.mul_(1 - group["lr"] * group["weight_decay"])
        weights.add_(move.to_local())


def _move(update: Tensor, group: dict[str, Any]) -> Tensor:
    """What one step of torch's Muon moves a matrix by, for this update after its momentum."""
    moved = nn.Parameter(torch.zeros_like(update))
    moved.grad = update
    options = {name: group[name] for name in ("lr", "ns_coefficients", "eps", "ns_steps", "adjust_lr_fn")}
    Muon([moved], weight_decay=0.0, momentum=0.0, nesterov=False, **options).step()  # type: ignore[no-untyped-call]
    return moved.detach()
