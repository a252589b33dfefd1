"""Whole multi-turn episodes by vLLM, in the environments of the demos: what it says of its tokens is what the trainer
says of them, before and after a push."""

import asyncio
import time

import numpy as np
import pytest
import torch

from toolenvs import assets, blueprint
from toolenvs.agents.engine import EngineAgent, Sampling
from toolenvs.rollout import collect
from toolenvs.tokens import Mask
from toolenvs.train.engines.process import EngineProcess
from toolenvs.train.engines.sync import push
from toolenvs.train.engines.transformers import TransformersEngine
from toolenvs.train.policy import load_policy, save_policy
from toolenvs.train.recipe import parse
from toolenvs.train.tiny.model import build_model
from toolenvs.train.tiny.reader import build_reader, build_reader_tokenizer
from toolenvs.train.tiny.tokenizer import build_tokenizer

MADE = {"retool": (build_model, build_tokenizer), "search": (build_reader, build_reader_tokenizer)}
EPISODES, AGAIN = 200, 40


@pytest.fixture(params=sorted(MADE))
def taught(request, load_script, tmp_path):
    """A tiny policy after a short cold start, and the settings that it acts with: enough to call tools, not to win."""
    build, tokenize = MADE[request.param]
    tokenizer = tokenize()
    raw = save_policy(tmp_path / "raw", build(tokenizer, 0), tokenizer)
    sft = load_script("sft")
    recipe = assets.folder("baselines") / "recipes" / f"{request.param}_tiny_sft.toml"
    given = ["--model", str(raw), "--steps", "60", "--size", "600", "--test_tasks", "8"]
    args = parse(sft.Args, ["--recipe", str(recipe), "--output", str(tmp_path / "sft"), *given])
    sft.main(args)
    return str(tmp_path / "sft" / "model"), args


def roll_out(args, tokenizer, engine, count, seed):
    env = blueprint.load(args.page, tokenizer=tokenizer, **args.env)
    agent = EngineAgent(engine, Sampling(max_turn_tokens=args.max_turn_tokens))
    started = time.perf_counter()
    episodes = asyncio.run(collect(env, agent, [env.tasks[index] for index in range(count)], seed=seed))
    return episodes, time.perf_counter() - started


@torch.no_grad()
def differences(model, episodes):
    """Absolute differences of log-probabilities, of every token that the policy wrote."""
    found = []
    for episode in episodes:
        tokens = episode.tokens
        logits = model(input_ids=torch.tensor(tokens.ids)[None]).logits[0, :-1].float()
        expected = torch.log_softmax(logits, -1).gather(-1, torch.tensor(tokens.ids)[1:, None])[:, 0]
        own = tokens.mask[1:] != Mask.ENVIRONMENT
        found.append(np.abs(expected.numpy() - tokens.logprobs[1:])[own])
    return np.concatenate(found)


def test_episodes_agree_with_the_trainer_before_and_after_a_push(taught, python, options, disturb):
    folder, args = taught
    model, tokenizer = load_policy(folder)
    model.eval()
    engine = EngineProcess(folder, engine="vllm", python=python, options=options)
    try:
        push(engine, model, 0)
        episodes, seconds = roll_out(args, tokenizer, engine, EPISODES, seed=1)
        assert [episode.fault for episode in episodes if episode.failed] == []
        turns = [len(episode.turn_rewards) for episode in episodes]
        assert sum(count > 1 for count in turns) > EPISODES / 4
        before = differences(model, episodes)
        assert before.mean() < 1e-3

        own, own_seconds = roll_out(args, tokenizer, TransformersEngine(model, tokenizer), EPISODES, seed=1)
        own_tokens = len(differences(model, own))
        disturb(model, 1.03)
        told = push(engine, model, 1)
        again, _ = roll_out(args, tokenizer, engine, AGAIN, seed=2)
        after = differences(model, again)
        assert after.mean() < 1e-3
        assert {int(version) for episode in again for version in episode.tokens.versions} == {-1, 1}
    finally:
        engine.close()
    shown = {
        "page": args.page,
        "episodes": EPISODES,
        "turns": sum(turns),
        "tokens": len(before),
        "difference mean, max": (before.mean(), before.max()),
        "after a push": (after.mean(), after.max()),
        "tokens per second, vllm and transformers": (len(before) / seconds, own_tokens / own_seconds),
        "push_s": told["push_s"],
    }
    print(shown)
