"""Muon for the matrices inside the network, AdamW for everything else."""

from typing import Any

from torch import nn
from torch.distributed.tensor import DTensor
from torch.optim import AdamW, Muon, Optimizer

from toolenvs.train.muon import ShardedMuon
from toolenvs.train.sharding import number, spread

_COMPUTED = ("fused", "foreach", "capturable")


def split_parameters(model: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """The parameters that Muon takes (weights of hidden linear layers), and all others.

    Embeddings and the output layer are matrices too, but their rows are looked up, not multiplied through; Muon's
    orthogonalised step is not meant for them (Jordan et al. 2024, "Muon").
    """
    ends = [getattr(model, name, lambda: None)() for name in ("get_input_embeddings", "get_output_embeddings")]
    outside = {id(parameter) for module in ends if module is not None for parameter in module.parameters()}
    matrices: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for parameter in model.parameters():
        if parameter.requires_grad:
            (matrices if parameter.ndim == 2 and id(parameter) not in outside else others).append(parameter)
    return matrices, others


class Optimizers:
    """Both optimizers as one: a step, a state, one schedule.

    Args:
        model: whose parameters are trained.
        lr: of AdamW, at its peak.
        muon_lr: of Muon, at its peak; with 0 there is no Muon, and AdamW takes every parameter.
        weight_decay: decoupled, of both.
        betas: of AdamW.
        warmup_steps: steps over which the rates rise to their peaks; only steps that were taken count, since what is
            waited for are the optimizers' moments.
        decay_steps: steps, counted from the first, at whose end the rates have fallen to 0; None keeps them constant.
            Steps that were left out count too, as in a schedule of transformers, which goes by its trainer's steps.
        max_grad_norm: gradients are scaled down to this norm; None leaves them as they are.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        lr: float,
        muon_lr: float = 0.0,
        weight_decay: float = 0.0,
        betas: tuple[float, float] = (0.9, 0.999),
        warmup_steps: int = 0,
        decay_steps: int | None = None,
        max_grad_norm: float | None = 1.0,
    ) -> None:
        matrices, others = split_parameters(model)
        if not muon_lr:
            matrices, others = [], [*matrices, *others]
        self._parameters = [*matrices, *others]
        # One pass over memory a tensor, where torch's own choice makes fifteen.
        fused = all(one.device.type == "cpu" and not isinstance(one, DTensor) for one in others) or None
        self._optimizers: list[Optimizer] = [AdamW(others, lr=lr, betas=betas, weight_decay=weight_decay, fused=fused)]
        if matrices:
            kind = ShardedMuon if isinstance(matrices[0], DTensor) else Muon
            self._optimizers.append(kind(matrices, lr=muon_lr, weight_decay=weight_decay))
        self._peaks = [[group["lr"] for group in optimizer.param_groups] for optimizer in self._optimizers]
        self._warmup_steps = warmup_steps
        self._decay_steps = decay_steps
        self._max_grad_norm = max_grad_norm
        self._steps = 0
        self._passed = 0  # steps that were taken, and those that were left out

    def step(self) -> float:
        """Apply the gradients and clear them; returns their norm before it was cut to `max_grad_norm`.

        A step whose gradient is not finite is left out, and its norm says so: the weights must survive it.
        """
        limit = self._max_grad_norm if self._max_grad_norm is not None else float("inf")
        norm = number(nn.utils.clip_grad_norm_(self._parameters, limit))
        scale = self._schedule()
        self._passed += 1
        if norm < float("inf"):
            self._steps += 1
            for optimizer, peaks in zip(self._optimizers, self._peaks, strict=True):
                for group, peak in zip(optimizer.param_groups, peaks, strict=True):
                    group["lr"] = peak * scale
                optimizer.step()
        self.zero_grad()
        return norm

    def pass_to(self, steps: int) -> None:
        """So many steps lie behind, whether there was something to learn in each of them or not."""
        self._passed = max(self._passed, steps)

    def _schedule(self) -> float:
        """What the next step's rates are, as a share of their peaks."""
        warm = min(1.0, (self._steps + 1) / self._warmup_steps) if self._warmup_steps else 1.0
        left = max(0.0, 1 - self._passed / self._decay_steps) if self._decay_steps else 1.0
        return warm * left

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for optimizer in self._optimizers:
            optimizer.zero_grad(set_to_none=True)

    def state_dict(self) -> dict[str, Any]:
        """Everything that the next step depends on, apart from the weights."""
        states = [optimizer.state_dict() for optimizer in self._optimizers]
        return {"steps": self._steps, "passed": self._passed, "optimizers": states}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave; where parameters are shared out over processes, moments may be whole."""
        self._steps = state["steps"]
        self._passed = state.get("passed", self._steps)  # older checkpoints know those alone that were taken
        for optimizer, saved in zip(self._optimizers, state["optimizers"], strict=True):
            parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
            moments = {
                index: {name: spread(value, parameters[index]) for name, value in kept.items()}
                for index, kept in saved["state"].items()
            }
            # How a step is computed goes by this run's device and parameters, not by those that were saved.
            computed = [{name: group[name] for name in _COMPUTED if name in group} for group in optimizer.param_groups]
            groups = [{**group, **own} for group, own in zip(saved["param_groups"], computed, strict=True)]
            optimizer.load_state_dict({**saved, "state": moments, "param_groups": groups})
