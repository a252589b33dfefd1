"""Time of the parts of one GRPO step with the tiny policy: sampling, scoring, update; padded against packed.

    python benchmarks/train_step.py --threads 2

Needs no tool: contexts are random text, generations go to their token limit. CPU seconds are of the whole process.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

from toolenvs.agents.engine import GenerateRequest
from toolenvs.tokens import Mask
from toolenvs.train.advantages import estimator
from toolenvs.train.batching import TokenSequence, pad
from toolenvs.train.engines.transformers import TransformersEngine
from toolenvs.train.losses import Denominator, aggregate
from toolenvs.train.optim import Optimizers
from toolenvs.train.policy_losses import clip
from toolenvs.train.scoring import score
from toolenvs.train.tiny.model import build_model
from toolenvs.train.tiny.tokenizer import build_tokenizer

EPISODES, GROUP = 256, 8
PROMPT_TOKENS, OBSERVATION_TOKENS = 12, 8
TURN_TOKENS = (18, 10)


def main() -> None:
    """Print one line for each part: wall seconds, CPU seconds, tokens a second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    tokenizer = build_tokenizer()
    model = build_model(tokenizer, seed=0)
    engine = TransformersEngine(model, tokenizer)
    rng = np.random.default_rng(0)
    prompts = rng.integers(2, len(tokenizer), (EPISODES, PROMPT_TOKENS)).tolist()
    observations = rng.integers(2, len(tokenizer), (EPISODES, OBSERVATION_TOKENS)).tolist()

    def roll_out() -> list[TokenSequence]:
        contexts = [list(prompt) for prompt in prompts]
        masks = [[Mask.ENVIRONMENT] * PROMPT_TOKENS for _ in prompts]
        logprobs = [[0.0] * PROMPT_TOKENS for _ in prompts]
        for turn, limit in enumerate(TURN_TOKENS):
            requests = [
                GenerateRequest(ids=context, max_new_tokens=limit, key=row, seed=turn * EPISODES + row)
                for row, context in enumerate(contexts)
            ]
            for row, generation in enumerate(engine.generate(requests)):
                observed = observations[row] if turn == 0 else []
                contexts[row] += [*generation.ids, *observed]
                masks[row] += [Mask.POLICY] * len(generation.ids) + [Mask.ENVIRONMENT] * len(observed)
                logprobs[row] += generation.logprobs + [0.0] * len(observed)
        for row in range(EPISODES):
            engine.release(row)
        made = zip(contexts, masks, logprobs, strict=True)
        return [TokenSequence.of(*arrays, group=row // GROUP) for row, arrays in enumerate(made)]

    sequences = roll_out()
    batch = pad(sequences)
    rewards = torch.zeros_like(batch.logprobs)
    rewards[:, 1:] = torch.from_numpy(rng.random((EPISODES, batch.ids.shape[1] - 1))).float()
    advantages = estimator("grpo")(rewards, batch.mask, batch.groups)
    optimizers = Optimizers(model, lr=1e-4, muon_lr=1e-4)
    sampled = sum(int((sequence.mask == Mask.POLICY).sum()) for sequence in sequences)
    whole = int(batch.lengths.sum())

    def scored(pack_tokens: int | None) -> None:
        with torch.no_grad():
            score(model, batch, pack_tokens=pack_tokens)

    def update() -> None:
        scores = score(model, batch)
        loss = clip.loss(scores.logprobs, batch.logprobs, advantages, batch.mask).loss
        aggregate(loss, batch.mask, "token-mean", Denominator.of(batch.mask)).backward()
        optimizers.step()

    print(f"{EPISODES} episodes, {whole} tokens, {sampled} sampled; {args.threads} threads; best of {args.repeats}")
    report("sampling", roll_out, sampled, args.repeats)
    report("scoring, padded", lambda: scored(None), whole, args.repeats)
    report("scoring, packed", lambda: scored(512), whole, args.repeats)
    report("update", update, whole, args.repeats)


def report(name: str, part: Callable[[], object], tokens: int, repeats: int) -> None:
    """The fastest of some repetitions."""
    times = []
    for _ in range(repeats):
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        part()
        times.append((time.perf_counter() - wall_s, time.process_time() - cpu_s))
    wall_s, cpu_s = min(times)
    print(f"{name:18} {wall_s:7.3f} s wall  {cpu_s:7.3f} s CPU  {tokens / wall_s:9.0f} tokens/s")


if __name__ == "__main__":
    main()
