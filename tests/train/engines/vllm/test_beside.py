"""vLLM beside the trainer: tokens, numbers, stops, pushes and their traps, and its end."""

import asyncio
import os
import signal
from collections import Counter

import numpy as np
import pytest
import torch

from toolenvs.agents.engine import GenerateRequest
from toolenvs.errors import ConfigError, EngineError
from toolenvs.train.engines import vllm as engines
from toolenvs.train.engines.sync import agreement, logprobs_of, push


def test_prefixes_are_cached_and_change_nothing(beside, trainer):
    push(beside, trainer, 1)
    context = np.random.default_rng(3).integers(2, 400, 400).tolist()
    first, second = (beside.generate([GenerateRequest(ids=context, max_new_tokens=8, seed=4)])[0] for _ in range(2))
    assert first.ids == second.ids
    assert second.logprobs == pytest.approx(logprobs_of(trainer, context, second.ids), abs=1e-4)


@pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (0.6, 1.0), (0.0, 1.0), (1.0, 0.5), (0.7, 0.2)])
def test_logprobs_are_those_of_the_tempered_distribution_before_it_is_cut(beside, trainer, asked, temperature, top_p):
    push(beside, trainer, 1)
    requests = asked(8, temperature=temperature, top_p=top_p)
    for request, generation in zip(requests, beside.generate(requests), strict=True):
        expected = logprobs_of(trainer, list(request.ids), generation.ids, temperature=temperature)
        assert generation.logprobs == pytest.approx(expected, abs=1e-4)


def test_the_nucleus_holds_what_it_should(beside, trainer):
    push(beside, trainer, 1)
    requests = [GenerateRequest(ids=[5, 6, 7], max_new_tokens=1, top_p=0.2, seed=seed) for seed in range(400)]
    drawn = {generation.ids[0] for generation in beside.generate(requests)}
    with torch.no_grad():
        probabilities = torch.softmax(trainer(input_ids=torch.tensor([[5, 6, 7]])).logits[0, -1], -1)
    nucleus, mass = set(), 0.0
    for token in probabilities.argsort(descending=True).tolist():
        if mass < 0.2:
            nucleus.add(token)
            mass += float(probabilities[token])
    assert drawn <= nucleus


def test_samples_follow_the_distribution(beside, trainer):
    push(beside, trainer, 1)
    count = 1500
    requests = [GenerateRequest(ids=[5, 6, 7], max_new_tokens=1, seed=seed) for seed in range(count)]
    drawn = Counter(generation.ids[0] for generation in beside.generate(requests))
    with torch.no_grad():
        expected = torch.softmax(trainer(input_ids=torch.tensor([[5, 6, 7]])).logits[0, -1], -1).numpy()
    worst = max(abs(drawn[token] / count - float(share)) for token, share in enumerate(expected))
    assert worst < 4 * np.sqrt(0.25 / count)


def test_seeds_decide_the_sample_whatever_the_company(beside, asked, alike):
    together = beside.generate(asked(16))
    alike(list(reversed(beside.generate(list(reversed(asked(16)))))), together)
    alike([beside.generate([request])[0] for request in asked(4)], together[:4])
    (other,) = beside.generate([GenerateRequest(ids=asked(1)[0].ids, max_new_tokens=12, seed=99)])
    assert other.ids != together[0].ids


def test_a_stop_string_ends_with_the_token_that_completes_it(beside, trainer, tokenizer):
    """The stop is found in what the engine itself would go on to write, so that every kind of end is met."""
    push(beside, trainer, 1)
    ends = Counter()
    for seed in range(30):
        given = {"ids": [5, 6, 7 + seed], "seed": seed, "temperature": 1.0}
        (free,) = beside.generate([GenerateRequest(**given, max_new_tokens=24)])
        text = tokenizer.decode(free.ids)
        stop = text[len(text) // 2 : len(text) // 2 + 2]
        (cut,) = beside.generate([GenerateRequest(**given, max_new_tokens=24, stop=(stop, "\x00never"))])
        shortest = next(n for n in range(1, len(free.ids) + 1) if stop in tokenizer.decode(free.ids[:n]))
        assert cut.ids == free.ids[:shortest]
        assert len(cut.logprobs) == shortest
        ends[cut.finish] += 1
    assert ends["stop"] >= 29  # an end-of-text token may spell a stop itself


def test_end_of_text_is_kept_and_the_limit_is_told_apart(beside, trainer):
    push(beside, trainer, 1)
    found = Counter(
        (generation.finish, generation.ids[-1] in beside._ends)
        for generation in beside.generate(
            [GenerateRequest(ids=[5, 6, 7], max_new_tokens=60, seed=seed) for seed in range(100)]
        )
    )
    assert set(found) <= {("eos", True), ("length", False)}
    assert found["eos", True] > 0


@pytest.mark.parametrize("step", ["_forget", "nothing"])
def test_a_push_that_leaves_something_out_is_found_out(beside, trainer, disturb, monkeypatch, step):
    push(beside, trainer, 1)

    async def left_out(*_):
        return None

    disturb(trainer, 1.2)
    monkeypatch.setattr(beside, "_take_over" if step == "nothing" else step, left_out)
    with pytest.raises(EngineError, match="disagree"):
        push(beside, trainer, 2)
    monkeypatch.undo()
    assert push(beside, trainer, 3)["engine_mismatch"] < 1e-5


def test_a_push_of_other_names_is_refused_or_found_out(beside, trainer):
    state = {f"other.{name}": tensor for name, tensor in trainer.state_dict().items()}
    with pytest.raises(EngineError):
        beside.push_weights(state, 1)
    assert push(beside, trainer, 2)["engine_mismatch"] < 1e-5


def test_a_context_beyond_the_limit_names_the_setting(beside):
    with pytest.raises(ConfigError, match="raise max_context"):
        beside.generate([GenerateRequest(ids=[5] * beside.max_context, max_new_tokens=1)])
    (cut,) = beside.generate([GenerateRequest(ids=[5] * (beside.max_context - 3), max_new_tokens=50)])
    assert len(cut.ids) <= 3


@pytest.mark.parametrize("changes", [{"temperature": 0.001}, {"top_p": 1.5}, {"temperature": -1.0}])
def test_settings_that_vllm_would_bend_are_refused(beside, asked, changes):
    with pytest.raises(ConfigError):
        beside.generate(asked(1, **changes))


def test_a_token_that_the_model_lacks_is_an_error_and_the_engine_goes_on(beside, asked):
    with pytest.raises(EngineError, match="vLLM failed"):
        beside.generate([GenerateRequest(ids=[10_000_000], max_new_tokens=4)])
    assert len(beside.generate(asked(3))) == 3


def test_a_caller_that_gives_up_takes_its_request_back(beside, trainer, asked):
    async def give_up():
        long = [
            asyncio.ensure_future(beside.sample(GenerateRequest(ids=[5, 6], max_new_tokens=2000, seed=seed)))
            for seed in range(8)
        ]
        while beside._in_flight < 8:
            await asyncio.sleep(0.01)
        with pytest.raises(EngineError, match="two policies"):
            beside.push_weights(trainer.state_dict(), 1)
        for request in long:
            request.cancel()
        await asyncio.gather(*long, return_exceptions=True)

    asyncio.run(give_up())
    assert push(beside, trainer, 1)["engine_mismatch"] < 1e-5
    assert beside._live()._engine.get_num_unfinished_requests() == 0


def test_a_request_that_takes_too_long_fails(beside, monkeypatch):
    monkeypatch.setattr(beside, "_timeout_s", 0.0)
    with pytest.raises(EngineError, match="did not answer within 0 s"):
        beside.generate([GenerateRequest(ids=[5, 6], max_new_tokens=1000)])


def test_its_sockets_lie_in_a_folder_of_its_own(beside):
    folder = beside._live().sockets
    found = [path.is_socket() for path in folder.iterdir()]
    assert found
    assert all(found)
    assert folder.stat().st_mode & 0o077 == 0
    assert "VLLM_RPC_BASE_PATH" not in os.environ


def processes_of_vllm():
    """Those below this one."""
    import psutil  # comes with vLLM

    below = psutil.Process().children(recursive=True)
    return [child.pid for child in below if child.name().startswith("VLLM")]


def test_its_death_is_told_and_the_next_push_starts_it_anew(beside, trainer, asked):
    """Last: the engine is another one afterwards, and closed in the end."""
    before = set(os.listdir("/dev/shm"))
    cores = processes_of_vllm()
    assert cores
    sockets = beside._live().sockets

    async def killed():
        running = [
            asyncio.ensure_future(beside.sample(GenerateRequest(ids=[5, 6], max_new_tokens=2000, seed=seed)))
            for seed in range(4)
        ]
        while beside._in_flight < 4:
            await asyncio.sleep(0.01)
        for pid in cores:
            os.kill(pid, signal.SIGKILL)
        return await asyncio.gather(*running, return_exceptions=True)

    errors = asyncio.run(killed())
    assert all(isinstance(error, EngineError) for error in errors)
    assert "died" in str(errors[0])
    assert not beside.alive()
    with pytest.raises(EngineError):
        beside.generate(asked(1))
    assert push(beside, trainer, 5)["engine_mismatch"] < 1e-5
    assert agreement(beside, trainer).mean < 1e-5
    assert not sockets.exists()
    sockets = beside._live().sockets
    assert sockets.exists()
    beside.close()
    beside.close()
    assert not sockets.exists()
    with pytest.raises(EngineError, match="closed"):
        beside.generate(asked(1))
    assert processes_of_vllm() == []
    assert {name for name in set(os.listdir("/dev/shm")) - before if name.startswith("psm_")} == set()


def test_it_is_what_the_package_exports():
    assert engines.VLLMEngine.continuous
