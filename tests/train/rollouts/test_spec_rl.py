"""SPEC-RL: what is kept of a draft follows the published rule, and what comes out is distributed as that rule says."""

import json
import math
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.agents.engine import Engine, Generation
from toolenvs.errors import ConfigError
from toolenvs.tokens import Mask
from toolenvs.train.rollouts.spec_rl import Options, Rollout, accepted

OLD = {None: [0.6, 0.3, 0.1], "a": [0.2, 0.6, 0.2], "b": [0.5, 0.1, 0.4]}
NEW = {None: [0.3, 0.3, 0.4], "a": [0.5, 0.2, 0.3], "b": [0.2, 0.4, 0.4]}


class Table(Engine):
    """Samples each token from a row of a table, by the token before it; ends with the last token of the vocabulary.

    Args:
        ids: the vocabulary, of which the last ends the text.
        rows: the distribution behind each of them, and behind anything else (None).
    """

    def __init__(self, ids, rows):
        self.ids, self.rows = list(ids), rows
        self.sampled = 0

    def distribution(self, before):
        return np.asarray(self.rows.get(before, self.rows[None]))

    def generate(self, requests):
        return [self.one(request) for request in requests]

    def one(self, request):
        rng = np.random.default_rng(request.seed)
        ids, logprobs, before = [], [], int(request.ids[-1])
        while len(ids) < request.max_new_tokens and (not ids or ids[-1] != self.ids[-1]):
            row = self.distribution(before)
            choice = int(rng.choice(len(row), p=row))
            before = self.ids[choice]
            ids.append(before)
            logprobs.append(float(np.log(row[choice])))
        self.sampled += len(ids)
        return Generation(ids=ids, logprobs=logprobs, finish="eos" if ids[-1] == self.ids[-1] else "length")

    def push_weights(self, state_dict, version):
        self.rows, self.version = state_dict, version

    def rescore(self, batch):
        """What the trainer says of a batch, [B, T]."""
        scores = torch.zeros(batch.logprobs.shape)
        for row, column in torch.nonzero(batch.mask == Mask.POLICY).tolist():
            before, token = (int(batch.ids[row, place]) for place in (column - 1, column))
            scores[row, column] = float(np.log(self.distribution(before)[self.ids.index(token)]))
        return scores


@given(
    steps=st.lists(st.tuples(st.floats(-5, 0), st.floats(-5, 0), st.floats(1e-6, 1)), max_size=8),
    lenience=st.sampled_from([-1.0, 0.0, 0.5]),
)
def test_the_first_token_that_is_refused_ends_the_draft(steps, lenience):
    kept = 0
    for old, new, draw in steps:
        if not draw <= min(1.0, math.exp(lenience) * math.exp(new) / math.exp(old)) * (1 + 1e-12):
            break
        kept += 1
    old, new, draws = (np.array([step[index] for step in steps]) for index in range(3))
    assert accepted(old, new, draws, lenience) == kept


def words(tokenizer):
    """Three ids: two words, and the end."""
    a, b = (tokenizer.encode(text, add_special_tokens=False)[0] for text in ("+", "-"))
    return a, b, tokenizer.eos_token_id


def table(tokenizer, rows):
    a, b, end = words(tokenizer)
    named = {"a": a, "b": b, None: None}
    return {named[key]: row for key, row in rows.items()}


def rolled(rollout, host, *, n, seed, progress):
    return rollout.collect([host.env.tasks[0]], n=n, seed=seed, progress=progress)


def law(old, new, lenience, length):
    """The probability of each text of at most `length` tokens, by summing over drafts and over where they end."""
    names = ["a", "b", "end"]

    def texts(rows, before=None, left=length):
        for index, name in enumerate(names):
            p = rows.get(before, rows[None])[index]
            if name == "end" or left == 1:
                yield (name,), p
            else:
                for rest, q in texts(rows, name, left - 1):
                    yield (name, *rest), p * q

    found = Counter()
    for draft, p in texts(old):
        alive, before = p, None
        # a draft that a limit cut keeps at most all but its last token
        for place, name in enumerate(draft):
            q = old.get(before, old[None])[names.index(name)]
            r = new.get(before, new[None])[names.index(name)]
            keep = min(1.0, math.exp(lenience) * r / q)
            if place == length - 1 and name != "end":
                keep = 0.0
            for rest, chance in texts(new, before, length - place):
                found[*draft[:place], *rest] += alive * (1 - keep) * chance
            alive, before = alive * keep, name
        found[draft] += alive
    return found


@pytest.mark.parametrize("lenience", [0.5])
def test_what_comes_out_is_distributed_as_the_rule_says(lenience, host, tokenizer):
    engine = Table(words(tokenizer), table(tokenizer, OLD))
    run = host(engine, max_turn_tokens=3)
    n = 1500
    rollout = Rollout(run, Options(lenience=lenience))
    rolled(rollout, run, n=n, seed=1, progress=0.1)
    rollout.metrics()
    engine.push_weights(table(tokenizer, NEW), 1)
    episodes = rolled(rollout, run, n=n, seed=2, progress=0.2)
    names = dict(zip(engine.ids, ("a", "b", "end"), strict=True))
    seen = Counter(tuple(names[i] for i in one.tokens.ids[one.tokens.prompt_length :].tolist()) for one in episodes)
    expected = law(OLD, NEW, lenience, 3)
    assert sum(expected.values()) == pytest.approx(1)
    assert seen.keys() <= expected.keys()
    chi2 = sum((seen[text] - n * p) ** 2 / (n * p) for text, p in expected.items())
    assert chi2 < 2 * len(expected) + 20  # far beyond what chance does, with a fixed seed
    told = rollout.metrics()
    assert told["drafted"] == 1
    saved = sum(len(text) * count for text, count in seen.items()) / n * told["reused_share"]
    assert told["reused_tokens"] == pytest.approx(saved)
    assert 0.3 < told["reused_share"] < 0.9


def test_an_unchanged_policy_keeps_its_drafts_whole_and_samples_nothing(host, tokenizer):
    engine = Table(words(tokenizer), table(tokenizer, OLD))
    run = host(engine, max_turn_tokens=40)
    rollout = Rollout(run, Options(lenience=0.0))
    first = rolled(rollout, run, n=8, seed=1, progress=0.1)
    before = engine.sampled
    again = rolled(rollout, run, n=8, seed=2, progress=0.2)
    assert engine.sampled == before
    for one, other in zip(first, again, strict=True):
        assert one.transcript == other.transcript
        assert one.tokens.ids.tolist() == other.tokens.ids.tolist()
        assert other.tokens.logprobs.tolist() == pytest.approx(one.tokens.logprobs.tolist())
        assert one.tokens.mask.tolist() == other.tokens.mask.tolist()
    assert rollout.metrics() == {"drafted": 0.5, "draft_whole": 1.0, "reused_tokens": before / 16, "reused_share": 0.5}


def test_within_a_step_nothing_is_a_draft(host, tokenizer):
    engine = Table(words(tokenizer), table(tokenizer, OLD))
    run = host(engine)
    rollout = Rollout(run, Options())
    for seed in range(2):
        rolled(rollout, run, n=4, seed=seed, progress=0.1)
    assert rollout.metrics()["drafted"] == 0


def test_accepted_tokens_carry_what_the_policy_says_now(host, tokenizer):
    engine = Table(words(tokenizer), table(tokenizer, OLD))
    run = host(engine, max_turn_tokens=8)
    rollout = Rollout(run, Options(lenience=50.0))  # accepts all
    rolled(rollout, run, n=16, seed=1, progress=0.1)
    engine.push_weights(table(tokenizer, NEW), 7)
    for one in rolled(rollout, run, n=16, seed=2, progress=0.2):
        tokens = one.tokens
        for place in np.flatnonzero(tokens.mask == Mask.POLICY).tolist():
            before, token = tokens.ids[place - 1 : place + 1].tolist()
            row = engine.distribution(before)
            assert tokens.logprobs[place] == pytest.approx(np.log(row[engine.ids.index(token)]), abs=1e-6)
        assert set(tokens.versions[tokens.mask == Mask.POLICY].tolist()) == {7}


class Caller(Table):
    """Calls the interpreter in its first turn, then answers; both with certainty."""

    def __init__(self, codec, end):
        super().__init__([0], {None: [1.0]})
        self.codec, self.end, self.asked = codec, end, 0

    def one(self, request):
        self.asked += 1
        text = self.codec.decode(list(request.ids))
        ids = self.codec.encode("<code>\nprint(1)\n</code>" if "</code>" not in text else "<answer>\\boxed{1}</answer>")
        return Generation(ids=ids, logprobs=[-0.5] * len(ids), finish="stop")

    def rescore(self, batch):
        return torch.where(batch.mask == Mask.POLICY, -0.5, 0.0)


def test_calls_are_run_again_and_a_draft_holds_while_they_say_the_same(host, tokenizer, monkeypatch):
    said = iter(["7", "7", "8"])

    async def run_code(self, arguments):
        from toolenvs.tools.base import ToolResult

        return ToolResult(text=next(said))

    monkeypatch.setattr("toolenvs.tools.python.Session.call", run_code)
    run = host(Caller(None, None))
    run.agent.engine.codec = run.env.codec
    rollout = Rollout(run, Options())
    shown, asked = [], []
    for step in (1, 2, 3):
        (one,) = rolled(rollout, run, n=1, seed=step, progress=step / 10)
        shown.append([call.result for call in one.calls])
        asked.append(run.agent.engine.asked)
        assert (one.ending, len(one.turn_rewards)) == ("answer", 2)
    assert shown == [["7"], ["7"], ["8"]]
    # all is sampled; nothing is; the call is kept, and what was drafted behind another answer of the tool is not
    assert asked == [2, 2, 3]


def test_drafts_come_back_from_a_checkpoint(host, tokenizer, tmp_path):
    engine = Table(words(tokenizer), table(tokenizer, OLD))
    run = host(engine)
    rollout, other = (Rollout(run, Options()) for _ in range(2))
    rolled(rollout, run, n=6, seed=1, progress=0.1)
    rollout.metrics()
    torch.save(rollout.parts()["drafts"].state_dict(), tmp_path / "state.pt")
    other.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    engine.push_weights(table(tokenizer, NEW), 1)
    one, two = (rolled(each, run, n=6, seed=2, progress=0.2) for each in (rollout, other))
    assert [a.tokens for a in one] == [b.tokens for b in two]
    assert rollout.metrics() == other.metrics()
    assert json.dumps(rollout.metrics())


def test_drafts_are_by_prompt_and_nothing_else_begins_turns(host, tokenizer):
    engine = Table(words(tokenizer), table(tokenizer, OLD))
    run = host(engine)
    rollout = Rollout(run, Options())
    rollout.collect([run.env.tasks[0]], n=2, seed=0, progress=0.1)
    rollout.collect([run.env.tasks[1]], n=2, seed=0, progress=0.2)
    assert rollout.metrics()["drafted"] == 0
    with pytest.raises(ConfigError, match="nothing else can"):
        rollout.collect([run.env.tasks[0]], n=1, seed=0, prefill=lambda request: None)
