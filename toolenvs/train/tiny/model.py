"""The tiny policy's network: Qwen3's layout, narrow, so that whatever loads a Qwen3 loads it too."""

from typing import TYPE_CHECKING

from toolenvs.errors import MissingExtraError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

WIDTH = 96
LAYERS = 3
HEADS = 3
ROPE_THETA = 500.0
"""Rotary base; contexts are some hundred tokens long, so the usual 10,000 and more would waste most frequencies."""
MAX_POSITIONS = 2048


def build_model(
    tokenizer: "PreTrainedTokenizerFast", seed: int, *, width: int = WIDTH, layers: int = LAYERS, heads: int = HEADS
) -> "Qwen3ForCausalLM":
    """A fresh network in float32, by default of 0.32 M parameters; the same seed gives the same weights.

    The global random state of torch is left as it was.

    Raises:
        MissingExtraError: torch or transformers is not installed.
    """
    try:
        import torch
        from transformers import Qwen3Config, Qwen3ForCausalLM
    except ImportError as error:
        raise MissingExtraError("transformers", "train", "the tiny policy") from error

    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=width // heads,
        max_position_embeddings=MAX_POSITIONS,
        rope_parameters={"rope_type": "default", "rope_theta": ROPE_THETA},
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="float32",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Qwen3ForCausalLM(config)
