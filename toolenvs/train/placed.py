"""A policy in its two places: where it is trained, and where text is sampled from it.

On one process, in a type that it can be trained in, both are one network. Else what samples is a copy: whole where the
trained one is shared out over processes (sharding.py), and in the type that networks compute in.
"""

import copy
from pathlib import Path
from typing import Any

import torch

from toolenvs.train import lora, ranks
from toolenvs.train.forward import ForwardSettings, prepare
from toolenvs.train.policy import save_policy
from toolenvs.train.sharding import copy_weights, shard


class PlacedPolicy:
    """A policy that is trained.

    Args:
        model: a causal language model of transformers, with its adapters; it is changed in place.
        settings: how it is run.
        saved: the type that it was saved in.
        sampled_here: whether this process samples from it; else, where several train, the copy that their engines are
            given and compared with stays on the CPU.
    """

    model: Any
    """The policy in training."""
    sampled: Any
    """The policy that samples; its weights are those of the last `refresh`."""

    def __init__(self, model: Any, settings: ForwardSettings, saved: torch.dtype, *, sampled_here: bool) -> None:
        self._saved = saved
        device = "cuda" if torch.cuda.is_available() else "cpu"
        dtype = prepare(model, settings, saved)
        if ranks.size() == 1 and next(model.parameters()).dtype == dtype:
            self.model = self.sampled = model.to(device)
            return
        near = sampled_here or ranks.size() == 1
        self.sampled = copy.deepcopy(model).to(device=device if near else "cpu", dtype=dtype).eval()
        self.model = shard(model).to(device)

    def refresh(self) -> Any:
        """Give the newest weights to the policy that samples; returns it. Every process must call it."""
        if self.sampled is not self.model:
            copy_weights(self.model, self.sampled)
        return self.sampled

    def save(self, folder: Path, tokenizer: Any) -> None:
        """Write the policy, adapters merged and beside it, in the type that it was loaded in; ends the training.

        Every process must call it; the first one writes.
        """
        self.sampled.to(self._saved)
        plain = self.refresh()
        if ranks.chief():
            if lora.has_adapters(plain):
                lora.save_adapters(folder.parent / "adapter", plain)
                plain = lora.merged(plain)
            save_policy(folder, plain, tokenizer)
        ranks.meet("the saving of the policy")
