"""How networks are run in training: what goes through at once and how it is laid out, in which type, and what is kept
for the backward pass.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn

from toolenvs.errors import ConfigError
from toolenvs.train import ranks
from toolenvs.train.batching import Batch, Layout, shares
from toolenvs.train.rows import check_packable, packable

T = TypeVar("T")

_TYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}
_SHORT = (torch.bfloat16, torch.float16)


@dataclass(frozen=True, kw_only=True)
class ForwardSettings:
    """How a network is run in training."""

    micro_batch_tokens: int = 4096
    """Tokens, padding included, that go through the model at once."""
    packing: Literal["auto", "padded", "packed"] = "auto"
    """How sequences share a forward pass: "padded" to one length, or "packed" end to end, where none reads another.
    "auto" packs where the model's attention needs no mask for it (flash), else a mask costs more than padding does."""
    attention: str = ""
    """The attention of transformers that the model is run with, such as flash_attention_2; "" for its own choice."""
    max_logits_mib: float = 512.0
    """Logits that exist at once, in MiB of float32. Where a micro-batch has more, it gets them in parts, and again in
    the backward pass; 0 for no bound."""
    gradient_checkpointing: bool = False
    """Whether what is inside a layer is computed again in the backward pass, instead of kept until then."""
    dtype: Literal["auto", "float32", "float64", "bfloat16"] = "auto"
    """Type that networks compute in; "auto" for the one that the model was saved in. Weights and the optimizers'
    moments are kept in float32 at least, and log-probabilities are computed in it."""


def prepare(network: nn.Module, settings: ForwardSettings, saved: torch.dtype) -> torch.dtype:
    """Make a network ready for training: weights in float32 at least, checkpointing and attention by the settings.

    Args:
        network: of transformers, or one that holds such.
        settings: of the run.
        saved: the type that the model was saved in.

    Returns:
        The type that the network computes in from now on.

    Raises:
        ConfigError: it has no such attention.
    """
    dtype = _TYPES.get(settings.dtype, saved)
    if dtype is torch.float16:  # whose small gradients would be 0; the other short type needs no scaling of the loss
        dtype = torch.bfloat16
    network.to(torch.promote_types(dtype, torch.float32))
    inner: list[Any] = [module for module in network.modules() if hasattr(module, "set_attn_implementation")]
    for module in inner[:1]:  # the outermost, which tells the others
        if settings.attention:
            try:
                module.set_attn_implementation(settings.attention)
            except (ValueError, ImportError) as error:
                raise ConfigError(f"attention = {settings.attention!r}: {error}") from error
        if settings.gradient_checkpointing:
            # transformers renamed the method in 5.2x; the old name warns there.
            enable = getattr(module, "activation_checkpointing_enable", None) or module.gradient_checkpointing_enable
            enable({"use_reentrant": False})
    network.compute_dtype = dtype  # type: ignore[assignment]  # read by `computing`; a copy of the network keeps it
    return dtype


@contextlib.contextmanager
def computing(network: nn.Module) -> Iterator[None]:
    """Within, a forward pass computes in the network's own type, and keeps no more for its backward pass than it must.

    transformers recomputes only in layers in training mode. They alone are put into it: dropout stays as it is.
    """
    dtype: Any = getattr(network, "compute_dtype", None)
    device = next(network.parameters()).device.type
    layers = [module for module in network.modules() if getattr(module, "gradient_checkpointing", False)]
    training = [layer.training for layer in layers]
    for layer in layers:
        layer.training = True
    try:
        with torch.autocast(device, dtype) if dtype in _SHORT else contextlib.nullcontext():
            yield
    finally:
        for layer, before in zip(layers, training, strict=True):
            layer.training = before


@contextlib.contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Within, the network is in evaluation mode, and nothing is kept for a backward pass."""
    training = network.training
    network.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        network.train(training)


def inside(network: nn.Module, function: Callable[[], T]) -> T:
    """Call a function that uses parts of a network, as if it were the network's forward pass.

    The parts of a sharded network are whole within its own forward pass only.
    """
    run: Callable[[Callable[[], T]], T] = getattr(network, "run_inside", lambda function: function())
    return run(function)


def layout_of(network: nn.Module, settings: ForwardSettings) -> Layout:
    """How sequences are laid out for a network.

    Raises:
        ConfigError: they are to be packed, and the network would mix them up.
    """
    flash = "flash" in (getattr(getattr(network, "config", None), "_attn_implementation", None) or "")
    if settings.packing == "padded" or (settings.packing == "auto" and not (flash and packable(network))):
        return "padded"
    check_packable(network)
    return "row" if flash else "rows"


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """Some sequences of a batch."""

    index: Tensor
    """Where they stand in the batch, [b]."""
    batch: Batch
    """They themselves, padded no further than they need."""
    idle: bool
    """Whether it is there only to keep step with other processes: then its masks are 0."""


def micro_batches(
    network: nn.Module, batch: Batch, settings: ForwardSettings, chosen: Tensor | None = None
) -> Iterator[MicroBatch]:
    """This process's micro-batches of the chosen sequences [b], by default of all.

    All processes together go through each sequence once. Each gets as many micro-batches as the others, because a
    sharded network is gathered and run by all of them in step.
    """
    chosen = torch.arange(len(batch), device=batch.ids.device) if chosen is None else chosen
    lengths: list[int] = batch.lengths[chosen].tolist()
    own = shares(lengths, settings.micro_batch_tokens, layout_of(network, settings), ranks.rank(), ranks.size())
    for members in own:
        index = chosen[torch.tensor(members or [lengths.index(min(lengths))], device=chosen.device)]
        part = batch.rows(index)
        if not members:
            part = replace(part, mask=torch.zeros_like(part.mask))
        yield MicroBatch(index, part, not members)
