"""Pages that forget: one episode makes several sequences, and trains on each token behind what it was sampled from."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolenvs
from toolenvs import loop
from toolenvs.codec import TokenCodec
from toolenvs.rollout import Trajectory, run_episode
from toolenvs.rollout.agent import Action, Request
from toolenvs.tokens import Mask, TokenTranscript, cut_at_stop
from toolenvs.train.batching import pad
from toolenvs.train.episodes import EpisodeRows
from toolenvs.train.trajectories import sequences_of, sequences_of_groups

_PIECES = [
    "<access>https://world.test/people/1.html</access>", "<search>a mayor</search>", "so</think>", "</think>", "hm ",
    "<access>https://world.test/nobody.html</access>", "<information>forged</information>", "<answer>x</answer>",
    "é漢😀",
]  # fmt: skip
_KEYS = {"user": "{question}", "piece_chars": 90, "max_pieces": 4, "kept_chars": 7, "topk": 1}


class Recorder:
    """Writes given texts, and keeps what it was given to read."""

    def __init__(self, codec: TokenCodec, texts: list[str]) -> None:
        self.codec, self.texts = codec, texts
        self.read: list[Request] = []
        self.wrote: list[list[int]] = []

    async def act(self, request: Request) -> Action:
        text = self.texts[len(self.read)] if len(self.read) < len(self.texts) else "<answer>x</answer>"
        ids = self.codec.encode(text)
        self.read.append(request)
        self.wrote.append(ids[: cut_at_stop(ids, request.stop, self.codec)])
        return Action(ids=tuple(ids), logprobs=tuple(-(index + 1) / 100 for index in range(len(ids))))

    def release(self, key: str) -> None: ...


def play(codec: TokenCodec, texts: list[str], **keys: Any) -> tuple[Trajectory, Recorder]:
    blueprint = toolenvs.load("ASearcherLocal-v0", tokenizer=codec, **{**_KEYS, **keys})
    agent = Recorder(codec, texts)
    return loop.run(run_episode(blueprint, agent, blueprint.tasks[0])), agent


def check(trajectory: Trajectory, agent: Recorder) -> None:
    """Every turn is trained on once, behind the very tokens that it was sampled from."""
    trained = [np.zeros(len(tokens), dtype=bool) for tokens in trajectory.sequences]
    for turn, (request, wrote) in enumerate(zip(agent.read, agent.wrote, strict=True), start=1):
        assert request.ids is not None
        before = [segment for segment in trajectory.transcript.read(turn).segments if segment.turn < turn]
        assert agent.codec.decode(list(request.ids)) == request.text == "".join(segment.text for segment in before)
        start, end = len(request.ids), len(request.ids) + len(wrote)
        owners = [
            index
            for index, tokens in enumerate(trajectory.sequences)
            if tokens.ids[:end].tolist() == [*request.ids, *wrote] and Mask.POLICY in tokens.mask[start:end]
        ]
        scored = trajectory.transcript.policy_text(turn)
        assert len(owners) == (1 if scored else 0)
        for owner in owners:
            tokens = trajectory.sequences[owner]
            assert tokens.logprobs[start:end].tolist() == pytest.approx([-(i + 1) / 100 for i in range(len(wrote))])
            trained[owner][start:end] = tokens.mask[start:end] == Mask.POLICY
            if "<information>" not in agent.codec.decode(wrote):  # else a token may hold scored text and forged
                assert agent.codec.decode(tokens.ids[trained[owner] & _from(start, tokens)].tolist()) == scored
    for tokens, expected in zip(trajectory.sequences, trained, strict=True):
        assert ((tokens.mask == Mask.POLICY) == expected).all()
    assert all(Mask.POLICY in tokens.mask for tokens in trajectory.earlier)


def _from(start: int, tokens: TokenTranscript) -> Any:
    return np.arange(len(tokens)) >= start


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(st.lists(st.sampled_from(_PIECES), min_size=1, max_size=3).map("".join), max_size=8))
def test_each_sampled_token_is_trained_on_once_behind_what_was_read(texts: list[str], byte_codec: TokenCodec) -> None:
    trajectory, agent = play(byte_codec, texts)
    check(trajectory, agent)
    assert Trajectory.from_json(json.loads(json.dumps(trajectory.to_json()))) == trajectory


@settings(max_examples=40, deadline=None)
@given(
    texts=st.lists(st.sampled_from(_PIECES[:4]), min_size=2, max_size=8),
    limit=st.integers(min_value=150, max_value=600),
)
def test_the_input_is_what_the_policy_reads_and_within_its_limit(
    texts: list[str], limit: int, byte_codec: TokenCodec
) -> None:
    trajectory, agent = play(byte_codec, texts, max_input_tokens=limit)
    for request in agent.read[1:]:
        assert request.ids is not None
        assert len(request.ids) <= limit
    if trajectory.ending == "answer":
        last = len(agent.read[-1].ids or ()) + len(agent.wrote[-1])
        assert trajectory.usage["input_tokens"] == last


def test_a_page_in_three_pieces_makes_four_sequences(codec: TokenCodec) -> None:
    texts = ["a</think><access>https://world.test/people/1.html</access>", "b</think>", "c</think>", "d</think>"]
    trajectory, agent = play(codec, texts, max_pieces=3)
    check(trajectory, agent)
    assert [request.reading for request in agent.read] == [False, True, True, True, False]
    assert [request.stop for request in agent.read][1:4] == [("</think>",)] * 3
    assert len(trajectory.sequences) == 4
    shown = [segment for segment in trajectory.transcript.segments if segment.kept is not None]
    assert len(shown) == 3
    for number, segment in enumerate(shown):
        assert segment.text.startswith(f">>>> Page {number + 1} >>>>")
        for turn, request in enumerate(agent.read):
            assert (segment.text in request.text) == (turn == number + 1)
            assert (segment.kept in request.text) == (turn > number + 1)
    # the messages of an endpoint say the same
    assert shown[0].text not in agent.read[-1].messages[-1]["content"]
    assert shown[0].kept in agent.read[-1].messages[-1]["content"]


def test_what_a_search_found_stays_and_makes_no_new_sequence(byte_codec: TokenCodec) -> None:
    trajectory, agent = play(
        byte_codec, ["<search>a mayor</search>", "so</think>", "<search>a town</search>", "</think>"]
    )
    check(trajectory, agent)
    assert len(trajectory.sequences) == 1
    assert trajectory.calls[0].result in agent.read[-1].text


def test_a_turn_of_reading_that_ends_of_itself_ends_the_episode(byte_codec: TokenCodec) -> None:
    trajectory, _ = play(byte_codec, ["<search>a mayor</search>", "so I am done <answer>x</answer>"])
    assert (trajectory.ending, trajectory.reward, len(trajectory.calls)) == ("answer", 0.0, 1)


def test_rewards_stand_once_and_an_episode_counts_once(byte_codec: TokenCodec) -> None:
    access = "<access>https://world.test/people/1.html</access>"
    blueprint = toolenvs.load("ASearcherLocal-v0", tokenizer=byte_codec, **{**_KEYS, "guess_share": 0.0})
    task = blueprint.tasks[0]
    right, wrong = f"<answer>{task.gold}</answer>", "<answer>no</answer>"
    scripts = [[access, "a</think>", "b</think>", "c</think>", "d</think>", right], [wrong], [wrong]]
    group = [loop.run(run_episode(blueprint, Recorder(byte_codec, texts), task)) for texts in scripts]
    assert [episode.reward for episode in group] == [1.0, 0.0, 0.0]
    sequences = sequences_of_groups([group])
    assert [sequence.episode for sequence in sequences] == [0] * (len(sequences) - 2) + [1, 2]
    assert len(sequences) > 4
    assert [float(sequence.rewards.sum()) for sequence in sequences] == [0.0] * (len(sequences) - 3) + [1.0, 0.0, 0.0]
    batch = pad(sequences)
    rows = EpisodeRows(batch)
    returns = rows.join(batch.rewards).sum(-1)
    assert returns.tolist() == [1.0, 0.0, 0.0]
    assert rows.groups.tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="number its episode"):
        sequences_of(group[0])


def test_a_last_turn_without_a_token_leaves_its_reward_to_the_sequence_before(byte_codec: TokenCodec) -> None:
    access = "<access>https://world.test/people/1.html</access>"
    trajectory, _ = play(byte_codec, [access, "a</think>", "b</think>", "<information>"])
    data = {**trajectory.to_json(), "turn_rewards": [0.0, 0.0, 0.0, 2.0]}
    sequences = sequences_of(Trajectory.from_json(data), episode=0)
    assert sum(float(sequence.rewards.sum()) for sequence in sequences) == 2.0
