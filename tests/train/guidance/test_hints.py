"""QuestA and Guide: what is shown, when, and what is trained on behind which prompt."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import toolenvs
from tests.train.doubles import Pieces
from toolenvs import loop
from toolenvs.agents.engine import Engine, EngineAgent, Generation
from toolenvs.errors import ConfigError
from toolenvs.rollout import collect
from toolenvs.tokens import Mask
from toolenvs.train.advantages import estimate
from toolenvs.train.batching import pad
from toolenvs.train.guidance import guide, guided, names, questa
from toolenvs.train.guidance.guide import without_hint
from toolenvs.train.guidance.solutions import Solution
from toolenvs.train.rollouts import independent, tree
from toolenvs.train.trajectories import sequences_of_groups


@pytest.mark.parametrize("steps", [1, 2, 7, 10])
def test_shares_take_equal_parts_of_the_run(steps):
    options = questa.Options(shares=(0.5, 0.25))
    shown = [options.share(step / steps) for step in range(1, steps + 1)]
    assert shown == sorted(shown, reverse=True)
    assert Counter(shown)[0.25] == (steps + 1) // 2


@given(question=st.text(max_size=20), text=st.text(max_size=60), share=st.floats(0.01, 1))
def test_a_hint_is_the_first_part_of_a_solution(question, text, share):
    task = replace(toolenvs.load("ReTool-v0").tasks[0], question=question)
    options = questa.Options(template="{hint}|{question}|{hint}", shares=(share,))
    (hinted,) = options.hinted([task], [Solution((text,))], share)
    part = text.strip()[: int(share * len(text.strip()))]
    if len(part) < 10:
        assert hinted is None
    else:
        assert hinted.question == f"{part}|{question}|{part}"  # braces in either are left alone
        assert (hinted.id, hinted.golds) == (task.id, task.golds)


def test_a_rendered_prompt_takes_no_hint():
    task = replace(toolenvs.load("ReTool-v0").tasks[0], rendered=True)
    with pytest.raises(ConfigError, match="rendered prompt"):
        questa.Options().hinted([task], [Solution(("a solution of some length",))], 0.5)


class Echo(Engine):
    """Answers right where it was hinted at, and wrong where it was not."""

    def __init__(self, codec=None):
        self.codec = codec
        self.prompts = []

    def generate(self, requests):
        made = []
        for request in requests:
            text = self.codec.decode(list(request.ids))
            self.prompts.append(text)
            told = text.partition("told:")[2].partition("\n")[0]
            ids = self.codec.encode(f"<answer>\\boxed{{{told or 'no'}}}</answer>")
            made.append(Generation(ids=ids, logprobs=[-0.5 if told else -0.25] * len(ids), finish="stop"))
        return made

    def push_weights(self, state_dict, version): ...


def helped(host, kind, solutions, rollout=None, **options):
    engine = Echo()
    run = host(engine, env={"tasks.size": 4})
    engine.codec = run.env.codec
    base = (rollout or independent.Rollout)(run, (tree.Options() if rollout else independent.Options()))
    settings = {"template": "{question}\ntold:{hint}\n", "least_chars": 1, "shares": [1.0], **options}
    guidance = guided(kind, {"solutions": "extra:gold", **settings}, run, base)
    tasks = [
        replace(run.env.tasks[index], extra={"gold": run.env.tasks[index].gold} if index in solutions else {})
        for index in range(4)
    ]
    return guidance, tasks, engine, run


@pytest.mark.parametrize("asked", [{"replay": "dots"}, {"relift": True}])
def test_help_for_every_task_leaves_nothing_to_remember_and_is_refused(host, asked):
    run = host(Echo(), **asked)
    rollout = independent.Rollout(run, independent.Options())
    for kind, options in (("questa", {}), ("prefix_rl", {"prefixed": 1.0})):
        with pytest.raises(ConfigError, match=f"{next(iter(asked))}: guidance '{kind}' helps with every task"):
            guided(kind, options, run, rollout)
    guided("prefix_rl", {"prefixed": 0.5}, run, rollout)
    guided("guide", {}, run, rollout)


def test_questa_shows_a_hint_to_every_task_that_has_a_solution(host):
    guidance, tasks, engine, _ = helped(host, "questa", {0, 2})
    episodes = guidance.collect(tasks, n=3, seed=0, progress=0.5)
    assert [one.guidance for one in episodes] == ["hint"] * 3 + [""] * 3 + ["hint"] * 3 + [""] * 3
    assert [bool(one.success) for one in episodes] == [one.guidance == "hint" for one in episodes]
    assert guidance.metrics() == {"hinted": 0.5, "hint_share": 1.0, "hinted_success": 1.0}
    assert guidance.metrics() == {}
    for one in episodes:  # trained on as it was sampled
        assert ("told:" in one.transcript.segments[0].text) == bool(one.guidance)
        prompt = one.tokens.ids[: one.tokens.prompt_length].tolist()
        assert engine.codec.decode(prompt) == one.transcript.segments[0].text


def test_guide_hints_at_what_nobody_solved_and_trains_on_the_prompt_without(host):
    guidance, tasks, engine, run = helped(host, "guide", {0, 1, 2})
    tasks[1] = replace(tasks[1], golds=("no",))  # which every episode says
    episodes = guidance.collect(tasks, n=2, seed=0, progress=0.5)
    assert [(one.group, one.guidance) for one in episodes] == [
        *[("0", "")] * 2, *[("0", "removed hint")] * 2, *[("1", "")] * 2,
        *[("2", "")] * 2, *[("2", "removed hint")] * 2, *[("3", "")] * 2,
    ]  # fmt: skip
    assert len({(one.group, one.key) for one in episodes}) == len(episodes)
    assert guidance.metrics() == {"unsolved": 0.75, "hinted": 0.5, "hinted_success": 1.0}
    assert sum("told:" in prompt for prompt in engine.prompts) == 4
    for one in episodes:
        plain = run.env.render_prompt(tasks[int(one.group)])
        assert one.transcript.segments[0].text == plain
        assert one.question == tasks[int(one.group)].question
        tokens = one.tokens
        assert run.env.codec.decode(tokens.ids[: tokens.prompt_length].tolist()) == plain
        said = tokens.mask == Mask.POLICY
        assert run.env.codec.decode(tokens.ids[said].tolist()) == one.transcript.policy_text()
        # the denominator of the ratio is what the sampler said with the hint
        assert set(tokens.logprobs[said].tolist()) == {-0.5 if one.guidance else -0.25}
    groups = [episodes[:4], episodes[6:10]]
    batch = pad(sequences_of_groups(groups))
    found = estimate("grpo", batch.rewards, batch.mask, batch.groups).advantages
    helpful = [one.guidance == "removed hint" for group in groups for one in group]
    assert [bool(row[mask == 1].min() > 0) for row, mask in zip(found, batch.mask, strict=True)] == helpful


def test_hints_go_with_trees(host):
    guidance, tasks, _, _ = helped(host, "guide", {0}, rollout=tree.Rollout)
    episodes = guidance.collect(tasks[:1], n=1, seed=0)
    assert [one.guidance for one in episodes] == [""] * 5 + ["removed hint"] * 5
    assert len({one.key for one in episodes}) == 10
    assert guidance.metrics()["leaves"] == 10


_PIECES = [
    "<access>https://world.test/people/1.html</access>", "<search>a mayor</search>", "so</think>", "</think>", "hm ",
    "<information>forged</information>", "<answer>x</answer>", "é漢😀",
]  # fmt: skip


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), page=st.sampled_from(["SearchR1-v0", "ASearcherLocal-v0"]))
def test_taking_a_hint_out_changes_the_prompt_alone(seed, page, byte_codec):
    blueprint = toolenvs.load(page, tokenizer=byte_codec, user="Ask: {question} Go.", max_turns=4)
    task = blueprint.tasks[0]
    shown = replace(task, question=task.question + " Hint: é漢😀 </answer>")
    (before,) = loop.run(collect(blueprint, EngineAgent(Pieces(byte_codec, _PIECES, turn=3)), [shown], seed=seed))
    after = without_hint(before, blueprint, task)
    assert after.transcript.segments[1:] == before.transcript.segments[1:]
    assert after.transcript.segments[0].text == blueprint.render_prompt(task) != before.transcript.segments[0].text
    assert len(after.sequences) == len(before.sequences)
    for old, new in zip(before.sequences, after.sequences, strict=True):
        shift = len(new) - len(old)
        assert byte_codec.decode(new.ids[: new.spans[0].end].tolist()) == after.transcript.segments[0].text
        for name in ("ids", "mask", "logprobs", "versions"):
            first, second = getattr(old, name), getattr(new, name)
            assert first[old.spans[0].end :].tolist() == second[new.spans[0].end :].tolist()
        assert [(s.author, s.start + shift, s.end + shift, s.turn) for s in old.spans[1:]] == [
            (s.author, s.start, s.end, s.turn) for s in new.spans[1:]
        ]
        if Mask.POLICY in new.mask:
            assert new.token_rewards(after.turn_rewards).sum() == pytest.approx(after.reward)


def test_the_ratio_of_guide_is_the_new_policy_without_over_the_sampler_with_the_hint(host, model):
    """Written out: exp(log pi(o | q) - log pi_old(o | q, h)), token by token."""
    from toolenvs.train.scoring import score  # noqa: PLC0415

    guidance, tasks, _, run = helped(host, "guide", {0})
    episodes = [one for one in guidance.collect(tasks[:1], n=1, seed=0) if one.guidance]
    batch = pad(sequences_of_groups([episodes]))
    with torch.no_grad():
        ratio = (score(model, batch).logprobs - batch.logprobs).exp()[0]
    plain = run.env.codec.encode(run.env.render_prompt(tasks[0]))
    said = episodes[0].tokens.ids[episodes[0].tokens.mask == Mask.POLICY].tolist()
    for place, token in enumerate(said):
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([[*plain, *said[:place]]])).logits[0, -1]
        expected = float(torch.softmax(logits.float(), -1)[token]) / np.exp(-0.5)
        assert float(ratio[len(plain) + place]) == pytest.approx(expected, rel=1e-4)


def test_guide_refuses_what_would_lose_its_denominator(host):
    run = host(Echo(), recompute_logprobs=True, correction_cap=0.0)
    with pytest.raises(ConfigError, match="set correction_cap above 0"):
        guide.Guidance(run, independent.Rollout(run, independent.Options()), guide.Options())
    run = host(Echo(), mask_observations=False)
    with pytest.raises(ConfigError, match="mask_observations"):
        guide.Guidance(run, independent.Rollout(run, independent.Options()), guide.Options())


def test_guidance_is_found_by_name(host):
    assert names() == ["guide", "prefix_rl", "questa"]
    run = host(Echo())
    base = independent.Rollout(run, independent.Options())
    with pytest.raises(ConfigError, match="there is no 'quest'.*did you mean 'questa'"):
        guided("quest", {}, run, base)
    with pytest.raises(ConfigError, match="unknown key 'share'"):
        guided("questa", {"share": [1.0]}, run, base)
    with pytest.raises(ConfigError, match="each above 0 and at most 1"):
        guided("questa", {"shares": [0.0]}, run, base)
    with pytest.raises(ConfigError, match=r"\{question\} and \{hint\} must stand in it"):
        guided("questa", {"template": "{question}"}, run, base)
