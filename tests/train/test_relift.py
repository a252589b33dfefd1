"""ReLIFT: what is put aside, when it is imitated, and with which gradient."""

import copy

import pytest
import torch

from tests.rollout.trajectories import trajectory
from toolenvs.tasks.rows import from_rows
from toolenvs.tokens import Mask, TokenTranscript
from toolenvs.train.batching import TokenSequence
from toolenvs.train.forward import ForwardSettings
from toolenvs.train.imitation import train_step
from toolenvs.train.relift import Options, Relift
from toolenvs.transcript import Author

pytestmark = pytest.mark.usefixtures("one_thread")


def episode(task, success, ending="answer"):
    tokens = TokenTranscript()
    tokens.append_environment([5, 6], Author.PROMPT, 0)
    tokens.append_policy([7], [-0.5], 1)
    rewards = {"turn_rewards": (success or 0.0,), "reward_terms": {"shaping": 1.0}}
    return trajectory(task=task, tokens=tokens, ending=ending, success=success, **rewards)


class Source:
    """A demonstration of every task but the last one: its number, twice."""

    def __init__(self):
        self.asked = []

    def of(self, tasks):
        self.asked += [task.id for task in tasks]
        return [
            [] if task.id == "t7" else [TokenSequence.of([3, 10 + int(task.id[1:]), 20, 21], [0, 1, 0, 1])]
            for task in tasks
        ]


@pytest.fixture
def relift(model):
    tasks = from_rows([{"id": f"t{index}", "question": f"{index}?", "answer": "1"} for index in range(8)])

    def make(**options):
        return Relift(
            Options(lr=1e-3, **options),
            model,
            tasks,
            Source(),
            forward=ForwardSettings(micro_batch_tokens=8),
            device="cpu",
        )

    return make


def test_only_tasks_that_no_episode_solved_are_put_aside_the_newest_first(relift):
    made = relift(size=2)
    made.observe([episode("t0", 0.0), episode("t0", 0.0), episode("t1", 0.0), episode("t1", 1.0)])
    made.observe([episode("t2", 0.0), episode("t2", None, "infrastructure"), episode("t3", None, "infrastructure")])
    made.observe([episode("t4", 0.0), episode("t4", 0.3), episode("t7", 0.0)])
    assert made.state_dict()["hard"] == ["t2", "t0"]
    assert made.step()["imitation_loss"] > 0
    assert made.state_dict()["hard"] == []
    assert made.step() == {}


def test_what_is_left_waits_for_the_next_pass(relift):
    made = relift(size=3)
    made.observe([episode(f"t{index}", 0.0) for index in range(5)])
    assert set(made.step()) == {"imitation_loss", "imitation_gradient_norm"}
    assert made.state_dict()["hard"] == ["t3", "t4"]
    assert made.step() == {}


def test_a_pass_is_the_gradient_of_the_mean_log_likelihood_and_of_the_entropy(model):
    """Against a loop over tokens, one sequence at a time."""
    sequences = [TokenSequence.of([3, 10, 20, 21, 4], [0, 1, 0, 1, 2]), TokenSequence.of([5, 6, 30], [0, 0, 1])]
    model.eval()
    other = copy.deepcopy(model)
    loss = train_step(model, sequences, ForwardSettings(micro_batch_tokens=5), "cpu", entropy_coef=0.3)
    nll, entropy, count = 0.0, 0.0, 0
    for sequence in sequences:
        logits = other(input_ids=torch.from_numpy(sequence.ids)[None]).logits[0]
        for place in range(1, len(sequence)):
            if sequence.mask[place] == Mask.POLICY:
                logprobs = torch.log_softmax(logits[place - 1], -1)
                nll, count = nll - logprobs[int(sequence.ids[place])], count + 1
                entropy = entropy - (logprobs.exp() * logprobs).sum()
    (nll / count - 0.3 * entropy / count).backward()
    assert count == 3
    assert loss == pytest.approx(float(nll.detach() / count), rel=1e-5)
    for mine, expected in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.allclose(mine.grad, expected.grad, atol=1e-5)


def test_a_pass_learns_what_it_is_shown(relift, model):
    made = relift(size=2, entropy_coef=0.0, max_grad_norm=10.0)
    losses = []
    for _ in range(4):
        made.observe([episode("t1", 0.0), episode("t2", 0.0)])
        losses.append(made.step()["imitation_loss"])
    assert losses[-1] < losses[0] - 0.1


def test_a_resumed_one_goes_on_to_the_same_weights(relift, model):
    start = copy.deepcopy(model.state_dict())

    def go(made, *steps):
        for step in steps:
            made.observe([episode(f"t{(step + place) % 7}", 0.0) for place in range(3)])
            made.step()

    whole = relift(size=4, mini_batches=2)
    go(whole, 1, 2, 3)
    expected = copy.deepcopy(model.state_dict())
    model.load_state_dict(start)
    first = relift(size=4, mini_batches=2)
    go(first, 1, 2)
    second = relift(size=4, mini_batches=2)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    go(second, 3)
    assert all(torch.equal(value, expected[name]) for name, value in model.state_dict().items())
    assert second.state_dict()["hard"] == whole.state_dict()["hard"]
