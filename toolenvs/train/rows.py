"""Sequences of a batch laid out for one forward pass: padded to one length, or packed end to end.

Shapes: B sequences of up to T tokens; R rows of P tokens; M policy tokens of the whole batch.

In packed rows each sequence's positions begin at 0 again. By that transformers tells them apart: it lets no sequence
attend to another, with a mask, or for flash attention by their lengths.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn

from toolenvs.errors import ConfigError
from toolenvs.tokens import Mask
from toolenvs.train.batching import Batch, Layout, pack

_ATTENDING = {"full_attention", "sliding_attention", "chunked_attention"}


@dataclass(frozen=True, slots=True)
class Rows:
    """Sequences laid out."""

    inputs: dict[str, Any]
    """What a model of transformers takes."""
    places: Tensor
    """Where, in the rows end to end [R * P], the state stands that predicts each policy token, in the order of the
    batch, int64 [M]."""
    first: int
    """States before this column of the rows predict no policy token."""


def lay_out(batch: Batch, layout: Layout) -> Rows:
    """The sequences of a batch in rows: one each, padded; or packed, in several or in one."""
    predicts = batch.mask[:, 1:] == Mask.POLICY  # [B, T - 1]: the next token is the policy's
    columns = torch.arange(batch.ids.shape[1], device=batch.ids.device)
    if layout == "padded":
        starts = torch.arange(len(batch), device=batch.ids.device) * len(columns)
        inputs: dict[str, Any] = {"input_ids": batch.ids, "attention_mask": batch.attention}
        first = int(torch.nonzero(predicts.any(0))[0]) if predicts.any() else 0
    else:
        starts, inputs = _packed(batch, columns, one_row=layout == "row")
        first = 0
    places = (starts[:, None] + columns[:-1])[predicts]
    return Rows({**inputs, "use_cache": False}, places, first)


def _packed(batch: Batch, columns: Tensor, *, one_row: bool) -> tuple[Tensor, dict[str, Any]]:
    """Where each sequence begins in the rows end to end [B], and the rows."""
    lengths: list[int] = batch.lengths.tolist()
    rows = [list(range(len(lengths)))] if one_row else pack(lengths, max(lengths))
    width = sum(lengths) if one_row else max(lengths)
    begin = [0] * len(lengths)
    for number, members in enumerate(rows):
        ends = accumulate((lengths[member] for member in members), initial=number * width)
        for member, start in zip(members, ends, strict=False):
            begin[member] = start
    starts = torch.tensor(begin, device=columns.device)
    real = columns < batch.lengths[:, None]  # [B, T]
    targets = (starts[:, None] + columns)[real]
    ids = batch.ids.new_zeros(len(rows) * width).scatter(0, targets, batch.ids[real])
    # What is left at the end of a row are sequences of one token, at position 0, which nobody reads.
    positions = torch.zeros_like(ids).scatter(0, targets, columns.expand_as(real)[real])
    inputs: dict[str, Any] = {"input_ids": ids.view(len(rows), -1), "position_ids": positions.view(len(rows), -1)}
    if one_row:
        inputs |= _boundaries(lengths, columns.device)
    return starts, inputs


def _boundaries(lengths: Sequence[int], device: torch.device) -> dict[str, Any]:
    """Where sequences begin and end in one row, as flash attention takes it; else each layer would look for it."""
    ends = torch.tensor([0, *accumulate(lengths)], dtype=torch.int32, device=device)
    longest = max(lengths)
    return {"cu_seq_lens_q": ends, "cu_seq_lens_k": ends, "max_length_q": longest, "max_length_k": longest}


def packable(network: nn.Module) -> bool:
    """Whether sequences in one row stay apart: every layer attends, and reads position ids."""
    try:
        check_packable(network)
    except ConfigError:
        return False
    return True


def check_packable(network: nn.Module) -> None:
    """Whether sequences in one row stay apart.

    Raises:
        ConfigError: they do not.
    """
    config: Any = getattr(network, "config", None)
    kinds = set(getattr(config, "layer_types", None) or ()) - _ATTENDING
    if kinds or getattr(network, "_is_stateful", False):
        what = f"layers of the kind {', '.join(sorted(kinds))}" if kinds else "a state that goes from token to token"
        raise ConfigError(f"packing: {type(network).__name__} has {what}, which would mix sequences; use padded")
    if "position_ids" not in inspect.signature(network.forward).parameters:
        raise ConfigError(f"packing: {type(network).__name__} takes no position ids, to tell sequences by; use padded")
