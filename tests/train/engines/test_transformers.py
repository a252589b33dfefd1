"""The embedded engine against full forward passes and plain loops."""

import numpy as np
import pytest
import torch

from toolenvs.agents.engine import GenerateRequest
from toolenvs.errors import EngineError
from toolenvs.train.engines import transformers as engines
from toolenvs.train.engines.transformers import TransformersEngine

PROMPTS = ["(34 + 57) * 83\n", "12\n", "ba lo mi 7553 = (1)\nba", "<code>\n", "9"]


@pytest.fixture
def engine(model, tokenizer):
    return TransformersEngine(model, tokenizer)


@pytest.fixture
def request_for(tokenizer):
    def make(prompt, **changes):
        ids = tokenizer.encode(prompt) if isinstance(prompt, str) else list(prompt)
        given = {"stop": (), "max_new_tokens": 12, "temperature": 1.0, "top_p": 1.0, "key": None, "seed": 0, **changes}
        return GenerateRequest(ids=ids, **given)

    return make


def forward_logprobs(model, context, ids, temperature=1.0):
    """Each id's log-probability, from one forward pass over everything and no cache."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([[*context, *ids]])).logits[0].float() / temperature
    logprobs = torch.log_softmax(logits, -1)
    return [float(logprobs[len(context) - 1 + place, token]) for place, token in enumerate(ids)]


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_logprobs_equal_a_full_forward_over_several_turns(engine, model, tokenizer, request_for, temperature):
    """Rows of unlike lengths, unlike turn lengths and unlike caches in one batch."""
    contexts = [tokenizer.encode(prompt) for prompt in PROMPTS]
    for turn in range(3):
        batch = [
            request_for(context, key=row, seed=10 * turn + row, max_new_tokens=3 + 4 * row, temperature=temperature)
            for row, context in enumerate(contexts)
            if (turn + row) % 3
        ]
        for request, generation in zip(batch, engine.generate(batch), strict=True):
            expected = forward_logprobs(model, request.ids, generation.ids, temperature)
            assert generation.logprobs == pytest.approx(expected, abs=1e-4)
            contexts[request.key] += [*generation.ids, *tokenizer.encode("\n<interpreter>\n7\n"[: 4 + 7 * request.key])]


def test_the_cache_is_used_and_does_not_change_what_is_sampled(engine, model, tokenizer, request_for, monkeypatch):
    widths = []
    forward = TransformersEngine._forward
    monkeypatch.setattr(
        TransformersEngine,
        "_forward",
        lambda self, ids, *rest: (widths.append(ids.shape[1]), forward(self, ids, *rest))[1],
    )
    first = request_for(PROMPTS[0], key="episode")
    context = [*first.ids, *engine.generate([first])[0].ids, *tokenizer.encode("\n7553\n")]
    widths.clear()
    second = engine.generate([request_for(context, key="episode", seed=1)])[0]
    # The last sampled token and the observation are new; everything before them was computed in the first turn.
    assert widths[0] == 1 + len(tokenizer.encode("\n7553\n"))
    engine.release("episode")
    again = engine.generate([request_for(context, key="episode", seed=1)])[0]
    assert again.ids == second.ids
    assert again.logprobs == pytest.approx(second.logprobs, abs=1e-4)


def test_a_context_that_departs_from_the_cache_is_computed_anew(engine, model, tokenizer, request_for):
    engine.generate([request_for("12 34 56\n", key=0)])
    other = request_for("12 99 56\n", key=0)
    (generation,) = engine.generate([other])
    assert generation.logprobs == pytest.approx(forward_logprobs(model, other.ids, generation.ids), abs=1e-4)


def test_the_same_context_can_be_asked_again(engine, model, request_for):
    request = request_for("12 34 56\n", key=0, seed=1)
    assert engine.generate([request])[0].ids == engine.generate([request])[0].ids


def test_a_row_s_sample_does_not_depend_on_its_company(engine, request_for):
    requests = [request_for(prompt, seed=row, max_new_tokens=4 + 3 * row) for row, prompt in enumerate(PROMPTS)]
    together = engine.generate(requests)
    for request, generation in zip(reversed(requests), reversed(together), strict=True):
        assert engine.generate([request])[0].ids == generation.ids
    small = TransformersEngine(engine._model, engine._codec.tokenizer, max_batch=2)
    assert [generation.ids for generation in small.generate(requests)] == [generation.ids for generation in together]


def test_seeds_decide_the_sample(engine, request_for):
    drawn = [engine.generate([request_for("12\n", seed=seed)])[0].ids for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_temperature_zero_takes_the_most_likely_token(engine, model, request_for):
    request = request_for(PROMPTS[0], temperature=0.0)
    (generation,) = engine.generate([request])
    context = list(request.ids)
    for token, logprob in zip(generation.ids, generation.logprobs, strict=True):
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([context])).logits[0, -1]
        assert token == int(logits.argmax())
        assert logprob == pytest.approx(float(torch.log_softmax(logits, -1)[token]), abs=1e-4)
        context.append(token)


def test_samples_follow_the_distribution(engine, model, request_for):
    """Frequencies of the first token over many seeds, against the model's own probabilities."""
    count = 2000
    request = request_for("12\n", max_new_tokens=1)
    drawn = engine.generate([request_for("12\n", max_new_tokens=1, seed=seed) for seed in range(count)])
    frequencies = np.bincount([generation.ids[0] for generation in drawn], minlength=425) / count
    with torch.no_grad():
        expected = torch.softmax(model(input_ids=torch.tensor([request.ids])).logits[0, -1], -1).numpy()
    assert np.abs(frequencies - expected).max() < 4 * np.sqrt(0.25 / count)


def test_top_p_keeps_the_fewest_tokens_that_hold_the_mass(engine, model, request_for):
    request = request_for("12\n", max_new_tokens=1)
    drawn = engine.generate([request_for("12\n", max_new_tokens=1, top_p=0.2, seed=seed) for seed in range(800)])
    with torch.no_grad():
        probabilities = torch.softmax(model(input_ids=torch.tensor([request.ids])).logits[0, -1], -1)
    nucleus, mass = set(), 0.0
    for token in probabilities.argsort(descending=True).tolist():
        if mass < 0.2:
            nucleus.add(token)
            mass += float(probabilities[token])
    assert {generation.ids[0] for generation in drawn} == nucleus


def scripted(engine, tokenizer, monkeypatch, text, eos=False):
    """Make the engine 'sample' a text."""
    script = tokenizer.encode(text) + ([tokenizer.eos_token_id] if eos else [])

    def draw(self, logits):
        self.drawn += 1
        return torch.full((len(logits),), script[min(self.drawn, len(script)) - 1]), torch.zeros(len(logits))

    monkeypatch.setattr(engines.Drawing, "draw", draw)
    return script


@pytest.mark.parametrize(
    ("written", "stop", "kept"),
    [
        ("print(1)</code> and more", ("</code>",), "print(1)</code>"),
        ("ab12cd12", ("2c",), "ab12c"),
        ("ab1234", ("b1",), "ab12"),
        ("a</answer></code>", ("</code>", "</answer>"), "a</answer>"),
        ("xüyüz", ("ü",), "xü"),
    ],
)
def test_a_stop_string_ends_the_generation_with_the_token_that_completes_it(
    engine, tokenizer, request_for, monkeypatch, written, stop, kept
):
    scripted(engine, tokenizer, monkeypatch, written)
    (generation,) = engine.generate([request_for("12\n", stop=stop, max_new_tokens=30)])
    assert (tokenizer.decode(generation.ids), generation.finish) == (kept, "stop")


def test_end_of_text_is_kept_and_the_limit_is_told_apart(engine, tokenizer, request_for, monkeypatch):
    script = scripted(engine, tokenizer, monkeypatch, "ab", eos=True)
    (ended,) = engine.generate([request_for("12\n", stop=("</code>",))])
    assert (ended.ids, ended.finish) == (script, "eos")
    (cut,) = engine.generate([request_for("12\n", max_new_tokens=2)])
    assert (cut.ids, cut.finish) == (script[:2], "length")


def test_pushed_weights_answer_and_old_caches_do_not(engine, model, tokenizer, request_for):
    first = request_for(PROMPTS[0], key=0)
    context = [*first.ids, *engine.generate([first])[0].ids, 9]
    changed = {name: value * 1.5 for name, value in model.state_dict().items()}
    engine.push_weights(changed, version=7)
    (generation,) = engine.generate([request_for(context, key=0)])
    assert engine.version == 7
    assert generation.logprobs == pytest.approx(forward_logprobs(model, context, generation.ids), abs=1e-4)


def test_the_model_is_left_in_the_mode_that_it_was_in(engine, model, request_for):
    model.train()
    engine.generate([request_for("12\n")])
    assert model.training


def test_requests_that_cannot_be_served_are_refused(engine, request_for):
    with pytest.raises(EngineError, match="context of 0"):
        engine.generate([request_for([])])
    with pytest.raises(EngineError, match="generate 0 tokens"):
        engine.generate([request_for("12", max_new_tokens=0)])
    with pytest.raises(EngineError, match="same key"):
        engine.generate([request_for("12", key=1), request_for("13", key=1)])
    assert engine.generate([]) == []


def test_samples_of_one_prompt_go_through_the_network_once_and_may_depart_and_go_on(
    engine, model, tokenizer, request_for, monkeypatch
):
    heights, forward = [], TransformersEngine._forward
    monkeypatch.setattr(
        TransformersEngine,
        "_forward",
        lambda self, ids, *rest: (heights.append(len(ids)), forward(self, ids, *rest))[1],
    )
    asked = [
        request_for(prompt, key=(prompt, n), seed=7 * n, max_new_tokens=3 + 20 * n)
        for prompt in PROMPTS
        for n in range(4)
    ]
    generations = engine.generate(asked)
    assert heights[0] == len(set(PROMPTS))
    assert len({tuple(generation.ids[:3]) for generation in generations[:4]}) > 1
    heights.clear()
    more = [[*request.ids, *one.ids, *tokenizer.encode(" 7")] for request, one in zip(asked, generations, strict=True)]
    further = [request_for(ids, key=request.key, seed=1) for ids, request in zip(more, asked, strict=True)]
    for ids, generation in [
        *((request.ids, one) for request, one in zip(asked, generations, strict=True)),
        *zip(more, engine.generate(further), strict=True),
    ]:
        assert generation.logprobs == pytest.approx(forward_logprobs(model, list(ids), generation.ids), abs=1e-4)
    assert heights[0] == len(asked)  # each has a past of its own by now


def test_a_row_s_limit_costs_the_others_nothing(engine, request_for, monkeypatch):
    asked, finish = [], TransformersEngine._finish
    monkeypatch.setattr(
        TransformersEngine,
        "_finish",
        lambda self, request, ids: asked.append(request.key) or finish(self, request, ids),
    )
    engine.generate([request_for("12\n", key=size, seed=size, max_new_tokens=size) for size in (1, 2, 40, 41)])
    assert sorted(asked) == [1, 2, 40, 41]  # each is looked at when it ends, and not before
