"""Log-probabilities of a batch's policy tokens under a model.

Shapes: B sequences, T tokens, V vocabulary, H hidden width, M policy tokens of the whole batch.

What stands at position t of a result belongs to the token at position t, given all tokens before it.

Logits [M, V] are the largest tensor there is. Where they would be larger than the settings allow, they are made for
some tokens at a time, from hidden states, and in the backward pass made again: at no time do all of them exist.
"""

import weakref
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from toolenvs.errors import ConfigError
from toolenvs.tokens import Mask
from toolenvs.train import ranks
from toolenvs.train.batching import Batch
from toolenvs.train.forward import ForwardSettings, computing, evaluating, inside, layout_of
from toolenvs.train.rows import Rows, lay_out

_FLOAT32_BYTES = 4
_plain: "weakref.WeakKeyDictionary[nn.Module, bool]" = weakref.WeakKeyDictionary()
"""Whether a model's logits are what its output layer makes of hidden states, and nothing comes after it."""


@dataclass(frozen=True, slots=True)
class Scores:
    """What a model says of each policy token; both are 0 where the mask is not 1."""

    logprobs: Tensor
    """Log-probability of the token under the tempered distribution, [B, T]."""
    entropy: Tensor
    """Entropy in nats of the distribution that the token was drawn from; carries a gradient on demand, [B, T]."""


def score(
    model: Any,
    batch: Batch,
    settings: ForwardSettings | None = None,
    *,
    temperature: float = 1.0,
    entropy_gradient: bool = False,
) -> Scores:
    """Score a batch in one forward pass.

    Args:
        model: a causal language model of transformers.
        batch: what to score.
        settings: how; their `micro_batch_tokens` is not looked at.
        temperature: the one that the tokens were sampled at, so that like is compared with like.
        entropy_gradient: whether the entropy carries a gradient, for an entropy bonus.

    Raises:
        ConfigError: sequences are to be packed, or logits to be bounded, and the model is not made for it.
    """
    settings = settings or ForwardSettings()
    predicts = batch.mask[:, 1:] == Mask.POLICY  # [B, T-1]: the next token is the policy's
    layout = layout_of(model, settings)
    rows = lay_out(batch, layout)
    targets = batch.ids[:, 1:][predicts]  # [M]
    height, width = rows.inputs["input_ids"].shape
    width_bytes = _FLOAT32_BYTES * model.config.get_text_config().vocab_size
    bound = max(1, int(settings.max_logits_mib * 2**20 / width_bytes)) if settings.max_logits_mib else 0  # tokens
    kept = len(targets) if layout == "row" else height * (width - rows.first)
    with computing(model):
        _look_at_output_layer(model, batch.ids)
        many = bool(bound) and kept > bound
        if many:
            _check_output_layer(model)
        # Where there are several processes, a sharded network should run as it was made to, if it can.
        if many or (_plain[model] and ranks.size() == 1):
            size = bound or max(1, len(targets))
            said = inside(model, lambda: _from_states(model, rows, targets, size, temperature, entropy_gradient))
        else:
            said = _spoken(_logits(model, rows, layout == "row"), targets, temperature, entropy_gradient)
    chosen, entropy = said
    return Scores(_scatter(chosen, predicts), _scatter(entropy, predicts))


def _logits(model: Any, rows: Rows, one_row: bool) -> Tensor:
    """The logits that predict policy tokens, [M, V]."""
    width = rows.inputs["input_ids"].shape[1]
    if one_row:
        logits: Tensor = model(**rows.inputs, logits_to_keep=rows.places).logits[0]
        return logits
    # Nothing before the first policy token is predicted.
    logits = model(**rows.inputs, logits_to_keep=width - rows.first).logits
    row, column = rows.places // width, rows.places % width - rows.first
    return logits[row, column]


def _from_states(
    model: Any, rows: Rows, targets: Tensor, bound: int, temperature: float, entropy_gradient: bool
) -> tuple[Tensor, Tensor]:
    """Log-probabilities and entropies [M], with logits of policy tokens only, for at most `bound` at a time."""
    hidden = model.get_decoder()(**rows.inputs).last_hidden_state.flatten(0, 1).index_select(0, rows.places)  # [M, H]
    layer = model.get_output_embeddings()

    def part(states: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        return _spoken(layer(states), ids, temperature, entropy_gradient)

    parts: list[tuple[Tensor, Tensor]] = []
    for states, ids in zip(torch.split(hidden, bound), torch.split(targets, bound), strict=True):
        if torch.is_grad_enabled() and len(targets) > bound:
            parts.append(checkpoint(part, states, ids, use_reentrant=False))
        else:
            parts.append(part(states, ids))
    return torch.cat([one for one, _ in parts]), torch.cat([other for _, other in parts])


def _spoken(logits: Tensor, targets: Tensor, temperature: float, entropy_gradient: bool) -> tuple[Tensor, Tensor]:
    """Log-probability of each target and entropy of its distribution, at least float32, both [M]."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    logprobs = torch.log_softmax(logits if temperature == 1 else logits / temperature, dim=-1)  # [M, V]
    chosen = logprobs.gather(-1, targets[:, None]).squeeze(-1)  # [M]
    with torch.set_grad_enabled(entropy_gradient and torch.is_grad_enabled()):
        entropy = -(logprobs.exp() * logprobs).sum(-1)  # [M]
    return chosen, entropy


def _scatter(values: Tensor, predicts: Tensor) -> Tensor:
    """Values of the policy tokens [M] at their places in [B, T]."""
    placed = torch.zeros(predicts.shape, dtype=values.dtype, device=values.device).masked_scatter(predicts, values)
    return nn.functional.pad(placed, (1, 0))


def _look_at_output_layer(model: Any, ids: Tensor) -> None:
    """Fill in `_plain`, by two passes over two tokens.

    Without dropout: it would tell both passes apart, and draw what a run that is resumed, and looks anew, then lacks.
    """
    if model in _plain:
        return
    inputs = {"input_ids": ids[:1, :2], "use_cache": False}

    def made_here() -> Tensor:
        made: Tensor = model.get_output_embeddings()(model.get_decoder()(**inputs).last_hidden_state)
        return made

    with evaluating(model):
        said, made = model(**inputs).logits, inside(model, made_here)
    _plain[model] = torch.allclose(said, made, rtol=1e-6, atol=1e-6)


def _check_output_layer(model: Any) -> None:
    """Whether logits can be made in parts.

    Raises:
        ConfigError: something comes after the output layer, such as a cap.
    """
    if not _plain[model]:
        raise ConfigError(
            f"max_logits_mib: the logits of {type(model).__name__} are not its output layer's alone (a cap, a scale), "
            "so they cannot be made in parts; set it to 0, and micro_batch_tokens lower where memory runs out"
        )
