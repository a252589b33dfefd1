"""Networks shared out over processes with FSDP2: each holds a part of every weight, its gradient and its moments.

Before a layer runs, its weights are gathered; after it, all but the own part is forgotten. Gradients are summed over
processes, not averaged: each loss is divided by what was counted over all of them (losses.Denominator).
"""

from collections.abc import Callable
from types import MethodType
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor, distribute_tensor

from toolenvs.train import ranks

T = TypeVar("T")


def shard(network: nn.Module) -> nn.Module:
    """Share a network out, in place, and give it back; with one process nothing is done.

    Args:
        network: all processes have the same one; on the CPU, so that no device must hold the whole.
    """
    if ranks.size() == 1:
        return network
    device = "cuda" if torch.cuda.is_available() else "cpu"
    mesh = init_device_mesh(device, (ranks.size(),))
    dtype: Any = getattr(network, "compute_dtype", None)
    precision = MixedPrecisionPolicy()
    if dtype is torch.bfloat16:
        precision = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)
    names = {name for module in network.modules() for name in getattr(module, "_no_split_modules", None) or ()}
    layers = [module for module in network.modules() if type(module).__name__ in names]
    for module in (*layers, network):
        fully_shard(module, mesh=mesh, mp_policy=precision, reshard_after_forward=True)
    for module in network.modules():
        if isinstance(module, FSDPModule):
            module.set_gradient_divide_factor(1.0)
            module.set_force_sum_reduction_for_comms(True)

    def run_inside(self: nn.Module, function: Callable[[], T]) -> T:
        return function()

    network.run_inside = MethodType(run_inside, network)  # type: ignore[assignment]  # see forward.inside
    register_fsdp_forward_method(network, "run_inside")
    return network


def whole(value: Any) -> Any:
    """A state, such as a `state_dict` gives, with every part of a tensor replaced by the tensor, on the CPU.

    Every process must ask for it; the first one alone gets the tensors, the others None in their places.
    """
    if isinstance(value, dict):
        return {name: whole(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(whole(one) for one in value)
    if isinstance(value, DTensor):
        full = value.full_tensor()
        return full.cpu() if ranks.chief() else None
    return value


def spread(value: Any, like: Any) -> Any:
    """The inverse: the own part of each tensor for which `like`, a state of the same form, has a part."""
    if isinstance(value, dict) and isinstance(like, dict):
        return {name: spread(one, like.get(name)) for name, one in value.items()}
    if isinstance(value, list | tuple) and isinstance(like, list | tuple) and len(value) == len(like):
        return type(value)(spread(one, other) for one, other in zip(value, like, strict=True))
    if isinstance(value, Tensor) and isinstance(like, DTensor) and value.shape == like.shape:
        value = value.to(device=like.device, dtype=like.dtype)
        return distribute_tensor(value, like.device_mesh, like.placements, src_data_rank=None)
    return value


@torch.no_grad()
def copy_weights(source: nn.Module, target: nn.Module) -> None:
    """The trained weights of a network, shared out or not, into a whole one of the same kind, in its type."""
    for (name, weight), (same, own) in zip(source.named_parameters(), target.named_parameters(), strict=True):
        assert name == same
        if weight.requires_grad:
            own.copy_(weight.full_tensor() if isinstance(weight, DTensor) else weight)


def number(value: Tensor) -> float:
    """A tensor of one number, shared out or not."""
    return float(value.full_tensor() if isinstance(value, DTensor) else value)
