"""Time of the parts of one GRPO step with the tiny policy: sampling, scoring, update; padded against packed.

    python benchmarks/train_step.py --threads 2
    python benchmarks/train_step.py --vocabulary 32000          # where logits are the largest tensor

Needs no tool: contexts are random text, generations go to their token limit, or to a random one with `--ragged`. CPU
seconds are of the whole process. Ways to do the same are timed in turn, so that a busy machine slows them alike.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from toolenvs.agents.engine import GenerateRequest
from toolenvs.tokens import Mask
from toolenvs.train.advantages import estimator
from toolenvs.train.batching import TokenSequence, pad
from toolenvs.train.engines.transformers import TransformersEngine
from toolenvs.train.forward import ForwardSettings, micro_batches, prepare
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
    parser.add_argument("--ragged", action="store_true")
    parser.add_argument("--vocabulary", type=int, default=0, help="size of the output layer; 0 for the tokenizer's")
    parser.add_argument("--micro-batch-tokens", type=int, default=4096)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    tokenizer = build_tokenizer()
    model = build_model(tokenizer, seed=0)
    if args.vocabulary:
        model.resize_token_embeddings(args.vocabulary)
    engine = TransformersEngine(model, tokenizer)
    rng = np.random.default_rng(0)
    limits = rng.integers(1, 4 * np.array(TURN_TOKENS) - 1, (EPISODES, 2)) if args.ragged else [TURN_TOKENS] * EPISODES
    prompts = rng.integers(2, len(tokenizer), (EPISODES, PROMPT_TOKENS)).tolist()
    observations = rng.integers(2, len(tokenizer), (EPISODES, OBSERVATION_TOKENS)).tolist()

    def roll_out() -> list[TokenSequence]:
        contexts = [list(prompt) for prompt in prompts]
        masks = [[Mask.ENVIRONMENT] * PROMPT_TOKENS for _ in prompts]
        logprobs = [[0.0] * PROMPT_TOKENS for _ in prompts]
        for turn in range(2):
            requests = [
                GenerateRequest(ids=context, max_new_tokens=int(limits[row][turn]), key=row, seed=turn * EPISODES + row)
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

    def scored(settings: ForwardSettings) -> None:
        with torch.no_grad():
            for part in micro_batches(model, batch, settings):
                score(model, part.batch, settings)

    def update(settings: ForwardSettings) -> None:
        denominator = Denominator.of(batch.mask)
        for part in micro_batches(model, batch, settings):
            width = part.batch.ids.shape[1]
            scores = score(model, part.batch, settings)
            old, weights = batch.logprobs[part.index, :width], advantages[part.index, :width]
            loss = clip.loss(scores.logprobs, old, weights, part.batch.mask).loss
            aggregate(loss, part.batch.mask, "token-mean", denominator).backward()
        optimizers.step()

    size = {"micro_batch_tokens": args.micro_batch_tokens}
    ways = {
        "padded": ForwardSettings(packing="padded", **size),
        "packed": ForwardSettings(packing="packed", **size),
        "logits in parts": ForwardSettings(packing="padded", max_logits_mib=1, **size),
        "layers recomputed": ForwardSettings(packing="padded", gradient_checkpointing=True, **size),
        "bfloat16": ForwardSettings(packing="padded", dtype="bfloat16", **size),
    }
    print(f"{EPISODES} episodes, {whole} tokens, {sampled} sampled; {args.threads} threads; best of {args.repeats}")
    report({"sampling": roll_out}, sampled, args.repeats)
    report(
        {f"scoring, {name}": prepared(model, scored, way) for name, way in ways.items() if "layers" not in name},
        whole,
        args.repeats,
    )
    report({f"update, {name}": prepared(model, update, way) for name, way in ways.items()}, whole, args.repeats)


def prepared(model: Any, part: Callable[[ForwardSettings], None], settings: ForwardSettings) -> Callable[[], None]:
    """A part with the model made ready for its settings."""

    def run() -> None:
        model.activation_checkpointing_disable()
        prepare(model, settings, torch.float32)
        part(settings)

    return run


def report(parts: dict[str, Callable[[], object]], tokens: int, repeats: int) -> None:
    """The fastest of some repetitions of each part, the parts in turn."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in parts}
    for _ in range(repeats):
        for name, part in parts.items():
            wall_s, cpu_s = time.perf_counter(), time.process_time()
            part()
            times[name].append((time.perf_counter() - wall_s, time.process_time() - cpu_s))
    for name, taken in times.items():
        wall_s, _ = min(taken)
        cpu_s = min(cpu for _, cpu in taken)
        print(f"{name:26} {wall_s:7.3f} s wall  {cpu_s:7.3f} s CPU  {tokens / wall_s:9.0f} tokens/s")


if __name__ == "__main__":
    main()
