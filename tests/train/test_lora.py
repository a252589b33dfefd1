"""Low-rank adapters: what they train, save and merge."""

import subprocess
import sys

import pytest
import torch
from peft import PeftModel

from toolenvs.agents.engine import GenerateRequest
from toolenvs.errors import ConfigError
from toolenvs.train import checkpoint, lora
from toolenvs.train.batching import pad
from toolenvs.train.engines.transformers import TransformersEngine
from toolenvs.train.optim import Optimizers
from toolenvs.train.policy import load_policy, save_policy
from toolenvs.train.scoring import score


def attach(model, kind, **changes):
    return lora.attach(model, kind, **{"rank": 4, "alpha": 8.0, **changes})


def trained(model, sequences, kind):
    """The model with adapters after two updates."""
    adapted = attach(model, kind)
    optimizers = Optimizers(adapted, lr=1e-2)
    for _ in range(2):
        score(adapted, pad(sequences())).logprobs.sum().backward()
        optimizers.step()
    return adapted, optimizers


@pytest.fixture(params=["lora", "dora"])
def kind(request):
    return request.param


def test_adapters_begin_as_nothing_and_alone_are_trained(model, sequences, kind):
    batch = pad(sequences())
    before = score(model, batch).logprobs
    state = {name: value.clone() for name, value in model.state_dict().items()}
    adapted, _ = trained(model, sequences, kind)
    after = score(adapted, batch).logprobs
    assert not torch.allclose(before, after)
    names = {name for name, parameter in adapted.named_parameters() if parameter.requires_grad}
    assert names
    assert all("lora_" in name for name in names)
    assert len([name for name in names if "lora_A" in name]) == 3 * 7
    kept = {name.replace(".base_layer", ""): value for name, value in adapted.state_dict().items()}
    assert all(torch.equal(value, kept[name]) for name, value in state.items())
    fresh = attach(lora.merged(adapted), kind)
    torch.testing.assert_close(score(fresh, batch).logprobs, after, rtol=1e-3, atol=1e-4)


def test_a_merged_policy_is_plain_and_says_the_same(model, sequences, tokenizer, tmp_path, kind):
    adapted, _ = trained(model, sequences, kind)
    names = set(lora.merged(adapted).state_dict())
    assert not any("lora" in name or "base_layer" in name for name in names)
    assert lora.has_adapters(adapted)
    loaded, _ = load_policy(str(save_policy(tmp_path / "merged", lora.merged(adapted), tokenizer)))
    batch = pad(sequences())
    torch.testing.assert_close(score(loaded, batch).logprobs, score(adapted, batch).logprobs, rtol=1e-3, atol=1e-3)


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")  # peft's own
def test_peft_loads_the_adapters_onto_the_base_model(model, sequences, tokenizer, tmp_path, kind):
    base = save_policy(tmp_path / "base", model, tokenizer)
    adapted, _ = trained(model, sequences, kind)
    lora.save_adapters(tmp_path / "adapter", adapted)
    loaded = PeftModel.from_pretrained(load_policy(str(base))[0], str(tmp_path / "adapter"))
    batch = pad(sequences())
    torch.testing.assert_close(score(loaded, batch).logprobs, score(adapted, batch).logprobs, rtol=1e-4, atol=1e-4)


def test_a_checkpoint_holds_the_adapters_alone_and_brings_them_back(model, sequences, tokenizer, tmp_path, kind):
    base = save_policy(tmp_path / "base", model, tokenizer)
    adapted, optimizers = trained(model, sequences, kind)
    path = checkpoint.save(tmp_path, step=2, model=adapted, optimizers=optimizers, sampler=0)
    assert path.stat().st_size < (base / "model.safetensors").stat().st_size
    again = attach(load_policy(str(base))[0], kind)
    others = Optimizers(again, lr=1e-2)
    checkpoint.load(path, model=again, optimizers=others)
    batch = pad(sequences())
    assert torch.equal(score(again, batch).logprobs, score(adapted, batch).logprobs)
    for policy, each in ((adapted, optimizers), (again, others)):
        score(policy, batch).logprobs.sum().backward()
        each.step()
    assert torch.equal(score(again, batch).logprobs, score(adapted, batch).logprobs)
    with pytest.raises(ConfigError, match="model and checkpoint differ in"):
        checkpoint.load(path, model=model.__class__(model.config), optimizers=others)


def test_the_engine_samples_from_the_adapted_policy(model, sequences, tokenizer):
    adapted, _ = trained(model, sequences, "lora")
    engine = TransformersEngine(adapted, tokenizer)
    engine.push_weights(adapted.state_dict(), 1)
    request = GenerateRequest(ids=[5, 6, 7], max_new_tokens=4, temperature=0.0)
    plain = TransformersEngine(lora.merged(adapted), tokenizer)
    (found,), (expected,) = engine.generate([request]), plain.generate([request])
    assert found.ids == expected.ids
    assert found.logprobs == pytest.approx(expected.logprobs, abs=1e-4)


def test_none_is_nothing_and_what_is_wrong_is_said(model):
    assert attach(model, "none") is model
    assert not lora.has_adapters(model)
    with pytest.raises(ConfigError, match="did you mean 'lora'"):
        attach(model, "loar")
    with pytest.raises(ConfigError, match="adapter_targets"):
        attach(model, "lora", targets=("no_such_layer",))


def test_without_peft_it_says_what_to_install():
    program = "import sys; sys.modules['peft'] = None\nfrom toolenvs.train import lora\n"
    program += "from toolenvs.errors import MissingExtraError\n"
    program += (
        "try:\n    lora.attach(None, 'lora', rank=1, alpha=1.0)\nexcept MissingExtraError as error:\n    print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install 'toolenvs[peft]'" in ran.stdout
