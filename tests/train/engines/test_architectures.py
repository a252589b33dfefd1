"""The embedded engine with decoders whose caches are not alike: windows, latent attention, layers without attention."""

import pytest
import torch
from transformers import (
    DeepseekV3Config,
    DeepseekV3ForCausalLM,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    Lfm2Config,
    Lfm2ForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen3NextConfig,
    Qwen3NextForCausalLM,
)

from toolenvs.agents.engine import GenerateRequest
from toolenvs.train.engines.transformers import TransformersEngine

SIZES = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 256,
}
LATENT = {
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 8,
    "v_head_dim": 8,
    "first_k_dense_replace": 2,
}
LINEAR = {
    "num_key_value_heads": 2,
    "head_dim": 8,
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
    "layer_types": ["linear_attention", "full_attention"],
}
KINDS = {
    "grouped heads": (LlamaForCausalLM, LlamaConfig, {"num_key_value_heads": 2}),
    "float64": (LlamaForCausalLM, LlamaConfig, {"num_key_value_heads": 1, "dtype": "float64"}),
    "a window in some layers": (Gemma3ForCausalLM, Gemma3TextConfig, {"head_dim": 8, "sliding_window": 5}),
    "a window in all layers": (MistralForCausalLM, MistralConfig, {"num_key_value_heads": 2, "sliding_window": 5}),
    "latent attention": (DeepseekV3ForCausalLM, DeepseekV3Config, {"num_key_value_heads": 4, **LATENT}),
    "linear attention": (Qwen3NextForCausalLM, Qwen3NextConfig, LINEAR),
    "convolution": (
        Lfm2ForCausalLM,
        Lfm2Config,
        {"num_key_value_heads": 2, "layer_types": ["conv", "full_attention"]},
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_logprobs_equal_a_full_forward_over_several_turns(tokenizer, kind):
    network, config, options = KINDS[kind]
    ends = {name: getattr(tokenizer, name) for name in ("eos_token_id", "pad_token_id")}
    dtype = getattr(torch, options.get("dtype", "float32"))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = network(config(**SIZES, **options, vocab_size=len(tokenizer), **ends)).to(dtype).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    engine = TransformersEngine(model, tokenizer)
    contexts = [tokenizer.encode("(34 + 57) * 83\n")] * 2 + [tokenizer.encode("9")]
    for turn in range(3):
        batch = [
            GenerateRequest(ids=ids, stop=(), max_new_tokens=2 + 3 * row, temperature=1.0, key=row, seed=9 * turn + row)
            for row, ids in enumerate(contexts)
        ]
        for row, generation in enumerate(engine.generate(batch)):
            whole = [*contexts[row], *generation.ids]
            with torch.no_grad():
                logprobs = torch.log_softmax(model(input_ids=torch.tensor([whole])).logits[0].float(), -1)
            expected = [float(logprobs[place - 1, whole[place]]) for place in range(len(contexts[row]), len(whole))]
            assert generation.logprobs == pytest.approx(expected, abs=1e-3)
            contexts[row] = [*whole, *tokenizer.encode("\n7\n"[: row + 1])]
