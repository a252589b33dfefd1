"""Low-rank adapters (LoRA, DoRA) inside a policy, through peft: the base weights stay as they are.

The adapters are put into the model's own layers, so that whatever samples from it or scores with it goes on as before.
A checkpoint holds the adapters alone; the policy that a run leaves has them merged, so that any engine loads it, and
they lie beside it for peft.
"""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import nn

from toolenvs.errors import ConfigError, MissingExtraError, did_you_mean

KINDS = ("none", "lora", "dora")


def attach(
    model: Any, kind: str, *, rank: int, alpha: float, dropout: float = 0.0, targets: Sequence[str] | str = "all-linear"
) -> Any:
    """Freeze the model, put adapters into its layers, and give it back; with kind "none" nothing is done.

    Args:
        model: a causal language model of transformers.
        kind: one of `KINDS`: LoRA (Hu et al. 2021), or DoRA (Liu et al. 2024), which learns the size of each column of
            a matrix apart from its direction.
        rank: of the update B A of each matrix.
        alpha: the update is scaled by alpha / rank.
        dropout: of the adapters' input while training.
        targets: names of the layers; "all-linear" for every linear layer but the output's.

    Raises:
        ConfigError: the kind is unknown, or no layer has such a name.
        MissingExtraError: peft is not installed.
    """
    if kind not in KINDS:
        raise ConfigError(f"unknown adapter {kind!r}; {did_you_mean(kind, KINDS)}")
    if kind == "none":
        return model
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError as error:
        raise MissingExtraError("peft", "peft", "low-rank adapters") from error
    config = LoraConfig(
        r=rank,
        lora_alpha=alpha,  # type: ignore[arg-type]  # a float is what it is used as
        lora_dropout=dropout,
        use_dora=kind == "dora",
        target_modules=targets if isinstance(targets, str) else list(targets),
        task_type="CAUSAL_LM",
    )
    try:
        return inject_adapter_in_model(config, model)
    except ValueError as error:
        raise ConfigError(f"adapter_targets {targets!r}: {error}") from error


def has_adapters(model: nn.Module) -> bool:
    """Whether `attach` put some in."""
    return hasattr(model, "peft_config")


def merged(model: Any) -> Any:
    """A copy of the model with its adapters added into the weights, as plain as it was before `attach`."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    plain = copy.deepcopy(model)
    for name, module in list(plain.named_modules()):
        if isinstance(module, BaseTunerLayer):
            module.merge()
            parent, _, child = name.rpartition(".")
            setattr(plain.get_submodule(parent), child, module.get_base_layer())
    del plain.peft_config
    return plain.requires_grad_(True)


def save_adapters(folder: Path, model: Any) -> Path:
    """Write the adapters as a folder that `peft.PeftModel.from_pretrained` loads onto the base model."""
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    (config,) = model.peft_config.values()
    config.base_model_name_or_path = model.config.name_or_path
    config.save_pretrained(folder)
    state = get_peft_model_state_dict(model)
    # peft wraps a model twice before it looks for its adapters by name.
    named = {f"base_model.model.{name}": value.contiguous() for name, value in state.items()}
    save_file(named, folder / "adapter_model.safetensors")
    return folder
