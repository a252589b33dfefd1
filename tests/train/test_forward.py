"""Ways to run a network: packed, with logits in parts, layers recomputed and short types; all of them mean the same."""

import contextlib
import copy
from dataclasses import replace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AttentionInterface, Gemma2Config, Gemma2ForCausalLM

from toolenvs.errors import ConfigError
from toolenvs.train.batching import TokenSequence, pad
from toolenvs.train.critic import Critic
from toolenvs.train.forward import ForwardSettings, computing, layout_of, prepare
from toolenvs.train.rows import lay_out
from toolenvs.train.scoring import score
from toolenvs.train.update import Updater, UpdateSettings

PADDED = ForwardSettings(packing="padded")
PACKED = ForwardSettings(packing="packed")
ONE_TOKEN = 1e-9
"""Of `max_logits_mib`: below what the logits of one token take."""


@pytest.fixture
def batch(sequences):
    """Ragged sequences, one of a single token and one without a policy token among them."""
    odd = [TokenSequence.of([9], [0]), TokenSequence.of([4, 5, 6, 7], [0, 2, 0, 2])]
    return pad([*sequences(seed=4, count=7), *odd])


def scores_and_gradient(model, batch, settings, **options):
    model.zero_grad()
    found = score(model, batch, settings, temperature=0.8, entropy_gradient=True, **options)
    weights = torch.linspace(-1, 1, found.logprobs.numel(), dtype=found.logprobs.dtype).view_as(found.logprobs)
    (weights * found.logprobs + weights.flip(-1) * found.entropy).sum().backward()
    gradient = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    return found.logprobs.detach(), found.entropy.detach(), gradient


def assert_same(found, expected, atol=1e-9):
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=atol)
    assert expected[-1].abs().max() > 0


def in_segments(module, query, key, value, attention_mask, scaling, **lengths):
    """What flash attention computes from rows and boundaries, one sequence after another."""
    assert attention_mask is None
    assert len(query) == 1
    lengths = {"cu_seq_lens_q": torch.tensor([0, query.shape[2]]), **lengths}
    lengths = {"cu_seq_lens_k": lengths["cu_seq_lens_q"], **lengths}
    if "max_length_q" in lengths:
        assert lengths["max_length_q"] == lengths["max_length_k"] == int(lengths["cu_seq_lens_q"].diff().max())
    assert torch.equal(lengths["cu_seq_lens_q"], lengths["cu_seq_lens_k"])
    parts = []
    for start, end in lengths["cu_seq_lens_q"].unfold(0, 2, 1).tolist():
        q, k, v = (tensor[:, :, start:end] for tensor in (query, key, value))
        parts.append(torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scaling))
    return torch.cat(parts, dim=2).transpose(1, 2), None


@pytest.fixture
def flash(model):
    """The model with a double of flash attention."""
    AttentionInterface.register("flash_double", in_segments)
    model.config._attn_implementation_internal = "flash_double"
    return model


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_packed_sequences_are_scored_as_padded_ones_gradients_too(model, batch, attention):
    model.double()
    prepare(model, ForwardSettings(attention=attention, dtype="float64"), torch.float64)
    assert layout_of(model, PACKED) == "rows"
    rows = lay_out(batch, "rows")
    assert len(rows.inputs["input_ids"]) < len(batch)
    assert_same(scores_and_gradient(model, batch, PACKED), scores_and_gradient(model, batch, PADDED))


@pytest.mark.parametrize("max_logits_mib", [512, ONE_TOKEN])
def test_flash_attention_gets_all_sequences_in_one_row_and_no_padding(model, batch, flash, max_logits_mib):
    reference = copy.deepcopy(model).double()
    reference.set_attn_implementation("sdpa")
    flash.double()
    settings = ForwardSettings(max_logits_mib=max_logits_mib)
    assert layout_of(flash, settings) == "row"
    assert lay_out(batch, "row").inputs["input_ids"].shape == (1, int(batch.lengths.sum()))
    assert_same(scores_and_gradient(flash, batch, settings), scores_and_gradient(reference, batch, PADDED))


def test_packing_is_for_networks_that_keep_sequences_apart(model, batch):
    assert layout_of(model, ForwardSettings()) == "padded"  # a mask would cost more than padding does
    model.config.layer_types = ["full_attention", "linear_attention", "full_attention"]
    assert layout_of(model, ForwardSettings()) == "padded"
    with pytest.raises(ConfigError, match="layers of the kind linear_attention"):
        score(model, batch, PACKED)


class Largest(TorchDispatchMode):
    """The most elements that a tensor with a vocabulary's width has, of all that are made within; weights left out."""

    def __init__(self, width):
        super().__init__()
        self._width, self.most = width, 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        if isinstance(made, torch.Tensor) and made.ndim and made.shape[-1] == self._width and len(made) != 96:
            self.most = max(self.most, made.numel())
        return made


@contextlib.contextmanager
def kept(width):
    """How many elements of tensors with a vocabulary's width are kept for a backward pass."""
    counts = [0]

    def pack(tensor):
        if tensor.ndim and tensor.shape[-1] == width:
            counts[0] += tensor.numel()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield counts


@pytest.mark.parametrize("packing", ["padded", "packed"])
@pytest.mark.parametrize("tokens", [1, 7, 10_000])
def test_logits_in_parts_give_the_same_and_never_exist_all_at_once(model, batch, tokens, packing):
    model.double()
    width = model.config.vocab_size
    whole = ForwardSettings(packing=packing, max_logits_mib=0)
    parts = replace(whole, max_logits_mib=(tokens + 0.5) * width * 4 / 2**20)
    expected = scores_and_gradient(model, batch, whole)
    score(model, batch, parts)  # looks once whether the output layer is all there is
    with Largest(width) as seen:
        found = scores_and_gradient(model, batch, parts)
    assert_same(found, expected)
    policy = int((batch.mask == 1).sum())
    with kept(width) as counts_whole:
        score(model, batch, whole)
    with kept(width) as counts:
        score(model, batch, parts)
    assert counts_whole[0] >= policy * width
    if tokens < policy:
        assert seen.most == tokens * width
        assert counts[0] == 0
    else:
        assert counts == counts_whole


def test_logits_in_parts_are_not_kept_where_nothing_is_learned(model, batch):
    model.double()
    with torch.no_grad():
        found = score(model, batch, ForwardSettings(max_logits_mib=ONE_TOKEN)).logprobs
    torch.testing.assert_close(found, score(model, batch, PADDED).logprobs.detach(), rtol=0, atol=1e-9)


def test_an_output_layer_with_a_cap_behind_it_is_refused_by_name(sequences):
    config = Gemma2Config(
        vocab_size=512, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, head_dim=8, final_logit_softcapping=0.01,
    )  # fmt: skip
    capped = Gemma2ForCausalLM(config).eval()
    batch = pad(sequences())
    assert score(capped, batch).logprobs.any()
    with pytest.raises(ConfigError, match="max_logits_mib: the logits of Gemma2ForCausalLM are not"):
        score(capped, batch, ForwardSettings(max_logits_mib=ONE_TOKEN))


@pytest.mark.parametrize("packing", ["padded", "packed"])
def test_recomputed_layers_give_the_same_gradient_and_keep_less(model, batch, packing):
    model.double()
    plain = ForwardSettings(packing=packing, dtype="float64")
    expected = scores_and_gradient(model, batch, plain)
    with kept(2 * 96) as counts_plain:  # the width inside the feed-forward blocks
        score(model, batch, plain)
    settings = replace(plain, gradient_checkpointing=True)
    prepare(model, settings, torch.float64)
    model.eval()
    with kept(2 * 96) as counts:
        score(model, batch, settings)
    assert counts[0] == 0 < counts_plain[0]
    assert_same(scores_and_gradient(model, batch, settings), expected)
    assert not any(module.training for module in model.modules())


def test_dropout_stays_off_where_layers_are_recomputed(model, batch):
    prepare(model, ForwardSettings(gradient_checkpointing=True), torch.float32)
    for layer in model.model.layers:
        layer.self_attn.attention_dropout = 0.9
    model.eval()
    assert torch.equal(score(model, batch).logprobs, score(model, batch).logprobs)
    model.train()
    assert not torch.equal(score(model, batch).logprobs, score(model, batch).logprobs)


def test_a_critic_has_its_layers_recomputed_too(model, batch):
    settings = ForwardSettings(gradient_checkpointing=True)
    critic = Critic(model)
    torch.nn.init.ones_(critic.head.weight)
    expected = copy.deepcopy(critic)
    expected(batch).sum().backward()
    prepare(critic, settings, torch.float32)
    with kept(2 * 96) as counts:
        critic(batch, settings).sum().backward()
    assert counts[0] == 0
    for one, other in zip(critic.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


@pytest.mark.parametrize("saved", [torch.bfloat16, torch.float16])
def test_short_types_compute_and_float32_keeps_weights_moments_and_logprobs(model, batch, saved):
    expected = scores_and_gradient(copy.deepcopy(model), batch, PADDED)
    model.to(saved)
    assert prepare(model, ForwardSettings(), saved) is torch.bfloat16
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    seen = []
    model.model.layers[0].mlp.up_proj.register_forward_hook(lambda layer, taken, made: seen.append(made.dtype))
    found = scores_and_gradient(model, batch, ForwardSettings(max_logits_mib=ONE_TOKEN))
    assert set(seen) == {torch.bfloat16}
    assert [tensor.dtype for tensor in found] == [torch.float32] * 3
    assert torch.nn.functional.cosine_similarity(found[2], expected[2], dim=0) > 0.98
    policy = batch.mask == 1
    assert (found[0] - expected[0])[policy].abs().mean() < 0.1


def test_a_step_too_small_for_a_short_type_is_not_lost(model, batch):
    """A learning rate of 1e-6 moves no bfloat16 weight of ordinary size."""
    from toolenvs.train.optim import Optimizers

    prepare(model, ForwardSettings(dtype="bfloat16"), torch.bfloat16)
    before = copy.deepcopy(model.state_dict())
    updater = Updater(settings=UpdateSettings(dtype="bfloat16"), model=model, optimizers=Optimizers(model, lr=1e-6))
    updater.update(batch, batch.logprobs, torch.ones_like(batch.logprobs), step=1)
    moved = [not torch.equal(before[name], value) for name, value in model.state_dict().items()]
    assert all(moved)


def test_a_network_says_which_type_it_computes_in(model):
    assert prepare(model, ForwardSettings(dtype="float64"), torch.float32) is torch.float64
    with computing(model):
        assert not torch.is_autocast_enabled("cpu")
    prepare(model, ForwardSettings(dtype="bfloat16"), torch.float32)
    with computing(copy.deepcopy(model)):
        assert torch.get_autocast_dtype("cpu") is torch.bfloat16
        assert torch.is_autocast_enabled("cpu")
    with pytest.raises(ConfigError, match="attention = 'no_such'"):
        prepare(model, ForwardSettings(attention="no_such"), torch.float32)
