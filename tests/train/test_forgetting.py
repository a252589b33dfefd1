"""An episode that forgets, trained on: the trainer gives each token the probability that it was sampled with."""

import pytest
import torch

import toolenvs
from toolenvs import loop
from toolenvs.agents.engine import Engine, EngineAgent, Generation
from toolenvs.rollout import collect
from toolenvs.tokens import Mask
from toolenvs.train.batching import pad
from toolenvs.train.credit import CreditSettings, assign_credit
from toolenvs.train.scoring import score
from toolenvs.train.trajectories import sequences_of_groups, summary

ACCESS = "<access>https://world.test/people/1.html</access>"


class Forced(Engine):
    """Writes given texts, each token with the probability that the model gives it there."""

    def __init__(self, model, codec, scripts):
        self.model, self.codec, self.scripts = model, codec, scripts
        self.turns = {}

    def generate(self, requests):
        return [self.one(request) for request in requests]

    def one(self, request):
        turn = self.turns[request.key] = self.turns.get(request.key, -1) + 1
        script = self.scripts[int(request.key.partition(".")[0])]
        ids = self.codec.encode(script[turn])
        with torch.no_grad():
            logits = self.model(input_ids=torch.tensor([[*request.ids, *ids]])).logits[0, len(request.ids) - 1 : -1]
        logprobs = torch.log_softmax(logits.float(), -1).gather(-1, torch.tensor(ids)[:, None])[:, 0]
        return Generation(ids=ids, logprobs=logprobs.clamp(max=0).tolist(), finish="stop")

    def push_weights(self, state_dict, version):
        raise AssertionError("nothing is trained here")


@pytest.mark.parametrize("estimator", ["grpo", "turn_returns"])
def test_probabilities_and_advantages_of_an_episode_in_several_sequences(model, tokenizer, estimator):
    blueprint = toolenvs.load(
        "ASearcherLocal-v0", tokenizer=tokenizer, user="{question}", piece_chars=60, max_pieces=3, kept_chars=5,
        guess_share=0.0, **{"tools.page_search.text_chars": 60},
    )  # fmt: skip
    task = blueprint.tasks[0]
    right = f"<answer>{task.gold}</answer>"
    scripts = [[ACCESS, "a</think>", "b</think>", "c</think>", right], ["<answer>no</answer>"], [right]]
    agent = EngineAgent(Forced(model, blueprint.codec, scripts))
    group = loop.run(collect(blueprint, agent, [task], n=3))
    assert [episode.reward for episode in group] == [1.0, 0.0, 1.0]
    assert [len(episode.sequences) for episode in group] == [4, 1, 1]
    batch = pad(sequences_of_groups([group]))
    policy = batch.mask == Mask.POLICY
    assert int(policy.sum()) == sum(len(blueprint.codec.encode(text)) for script in scripts for text in script)
    assert summary(group)["policy_tokens"] == pytest.approx(int(policy.sum()) / 3)
    scores = score(model, batch)
    assert torch.allclose(scores.logprobs[policy], batch.logprobs[policy], atol=1e-4)
    advantages = assign_credit(CreditSettings(estimator=estimator), batch).advantages
    assert not advantages[~policy].any()
    if estimator == "grpo":
        values = [row[own].unique().tolist() for row, own in zip(advantages, policy, strict=True)]
        assert all(len(value) == 1 for value in values)  # one for each sequence, and the same for those of an episode
        assert [value[0] > 0 for value in values] == [True] * 4 + [False, True]
        assert len({round(value[0], 5) for value in values}) == 2
        assert sum(value[0] for value in (values[0], values[4], values[5])) == pytest.approx(0, abs=1e-5)
