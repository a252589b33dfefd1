import pytest
import torch

from toolenvs.train.batching import TokenSequence, pad
from toolenvs.train.forward import ForwardSettings
from toolenvs.train.scoring import score


def alone(model, sequence, temperature=1.0):
    """Each policy token's log-probability and entropy: one forward pass of all before it, nothing shifted."""
    found = {}
    for t in range(1, len(sequence)):
        if sequence.mask[t] == 1:
            logits = model(input_ids=torch.from_numpy(sequence.ids[:t])[None]).logits[0, -1] / temperature
            distribution = torch.distributions.Categorical(logits=logits)
            found[t] = (distribution.log_prob(torch.tensor(sequence.ids[t])).item(), distribution.entropy().item())
    return found


@pytest.mark.parametrize("packing", ["padded", "packed"])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_scores_stand_at_the_token_that_they_belong_to(model, sequences, packing, temperature):
    made = sequences()
    scores = score(model, pad(made), ForwardSettings(packing=packing), temperature=temperature)
    with torch.no_grad():
        for row, sequence in enumerate(made):
            expected = alone(model, sequence, temperature)
            for t in range(scores.logprobs.shape[1]):
                logprob, entropy = expected.get(t, (0.0, 0.0))
                assert float(scores.logprobs[row, t]) == pytest.approx(logprob, abs=1e-4)
                assert float(scores.entropy[row, t]) == pytest.approx(entropy, abs=1e-4)


@pytest.mark.parametrize("packing", ["padded", "packed"])
def test_other_tokens_get_no_gradient_of_their_own(model, packing):
    """Changing what stands after the last policy token, or the padding, changes no gradient at all."""

    def gradient(tail):
        sequences = [
            TokenSequence.of([7, 8, 9, *tail], [0, 1, 1, *(0 for _ in tail)]),
            TokenSequence.of([7, 9], [0, 1]),
        ]
        model.zero_grad()
        score(model, pad(sequences), ForwardSettings(packing=packing)).logprobs.sum().backward()
        return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])

    assert torch.allclose(gradient([10, 11]), gradient([250, 3, 4, 5, 6]), atol=1e-5)


def test_the_look_at_the_output_layer_draws_nothing_and_sees_no_dropout(model, sequences):
    """A resumed run looks anew: its dropout has to go on as that of a run that looked long ago."""
    model.get_input_embeddings().register_forward_hook(
        lambda embedding, _, vectors: torch.nn.functional.dropout(vectors, 0.5, embedding.training)
    )
    model.train()
    batch, scores = pad(sequences()), []
    for _ in range(2):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            scores.append(score(model, batch, ForwardSettings(max_logits_mib=1e-3)).logprobs)
    assert torch.equal(*scores)
    assert model.training
