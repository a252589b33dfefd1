"""A tree of episodes, and what its turns are worth: rollouts on `env.fork`, advantages of TreeRL, with a script to act.

    python baselines/tree.py
    python baselines/tree.py --branches 3 --seed 7

ReTool's page with one override: the interpreter keeps its state through the episode (`session = "stateful"`). The first
episode is played to its end and branches at its least likely turns; each branch begins with the live interpreter as it
was, so it finds what the stem has computed. Some ways are wrong on purpose. A policy takes the script's place in
`baselines/grpo.py --recipe baselines/recipes/tree_rl_tiny.toml`; the tree, the batch and the advantages are the same.
"""

import argparse
import asyncio
import math
import random
from collections.abc import Sequence

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from toolenvs import blueprint
from toolenvs.codec import TokenCodec
from toolenvs.rollout import Action, Request, Trajectory
from toolenvs.rollout.tree import Shape, grow
from toolenvs.tasks import Task
from toolenvs.tokens import Mask
from toolenvs.train.advantages import estimate
from toolenvs.train.batching import pad
from toolenvs.train.trajectories import sequences_of_groups

LIMIT = 3000
TASK = Task(
    id="tree",
    question=f"How many primes below {LIMIT} leave the remainder 1 when divided by 4?",
    golds=("211",),
)
STEM = f"""
sieve = [True] * {LIMIT}
for n in range(2, 55):
    if sieve[n]:
        sieve[n * n :: n] = [False] * len(sieve[n * n :: n])
primes = [n for n in range(2, {LIMIT}) if sieve[n]]
print("sieve")
"""
WAYS = {
    "remainder": "print(len([p for p in primes if p % 4 == 1]))",
    "two squares": "squares = {k * k for k in range(60)}\n"
    "print(len([p for p in primes if p > 2 and any(p - s in squares for s in squares)]))",
    "half of them": "print(len(primes) // 2)",
    "a slip": "print(len([p for p in primes if p % 4 == 3]))",
}


class Script:
    """Computes a sieve, counts in one of the ways, and answers with what it read or, one time in four, one more."""

    def __init__(self, codec: TokenCodec) -> None:
        self._codec = codec

    async def act(self, request: Request) -> Action:
        """One turn, in tokens, with the probability that it had; the request's seed decides."""
        draws = random.Random(request.seed)
        if request.turn == 1:
            text, chance = call(STEM), 1.0
        elif request.turn == 2:
            text, chance = call(draws.choice(list(WAYS.values()))), 1 / len(WAYS)
        else:
            slip = draws.random() < 0.25
            text, chance = f"<answer>\\boxed{{{int(request.last_result) + slip}}}</answer>", 0.25 if slip else 0.75
        ids = self._codec.encode(text)
        return Action(ids=tuple(ids), logprobs=(math.log(chance),) + (0.0,) * (len(ids) - 1))

    def release(self, key: str) -> None:
        """Nothing is kept."""


def call(program: str) -> str:
    """A turn that runs a program."""
    return f"<code>\n```python\n{program.strip()}\n```\n</code>"


def byte_tokenizer() -> Tokenizer:
    """One token a byte: all that a script needs."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: index for index, letter in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def advantages(leaves: Sequence[Trajectory]) -> list[dict[int, float]]:
    """Of each leaf, TreeRL's advantage of the turns that it is trained on, by turn."""
    batch = pad(sequences_of_groups([leaves]))
    found = estimate("tree_rl", batch.rewards, batch.mask, batch.groups, nodes=batch.nodes).advantages
    rows = zip(found.tolist(), batch.mask.tolist(), batch.turns.tolist(), strict=True)
    return [{turn: value for value, mask, turn in zip(*row, strict=True) if mask == Mask.POLICY} for row in rows]


def main(arguments: Sequence[str] | None = None) -> list[Trajectory]:
    """Grow a tree and print its leaves; returns them."""
    parser = argparse.ArgumentParser(description="A tree of episodes with a scripted policy.")
    parser.add_argument("--branches", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    env = blueprint.load("ReTool-v0", tokenizer=byte_tokenizer(), session="stateful")
    shape = Shape(points=2, branches=options.branches)
    leaves = asyncio.run(grow(env, Script(env.codec), [TASK], shape, seed=options.seed))
    print(f"{TASK.question}\n")
    ways = {call(program): name for name, program in WAYS.items()}
    for leaf, worth in zip(leaves, advantages(leaves), strict=True):
        said = [ways.get(leaf.transcript.policy_text(turn), "sieve" if turn == 1 else "answer") for turn in (1, 2, 3)]
        shown = [f"{name} {worth[turn]:+.2f}" if turn in worth else f"({name})" for turn, name in enumerate(said, 1)]
        verdict = "solved" if leaf.reward > 0 else "wrong"
        print(f"{leaf.key:7} {shown[0]:14} {shown[1]:20} {leaf.calls[1].result.strip():>4}  {shown[2]:14} {verdict}")
    print("\nIn brackets: sampled in another leaf, and trained on there.")
    return leaves


if __name__ == "__main__":
    main()
