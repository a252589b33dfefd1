"""Branching rollouts: an episode is run to a fork, copied with its live interpreter, and every copy goes its own way.

    python baselines/tree.py
    python baselines/tree.py --branches 4 --seed 7

ReTool's page with one override: the interpreter keeps its state through the episode (`session = "stateful"`). At each
fork `env.fork(n)` copies transcript, budgets and interpreter, so that a branch finds what its stem has computed without
computing it again. The agent is a script: some of its ways are wrong on purpose. A policy takes its place by sampling
`n` actions where the script lists `WAYS`; a branch's value less its fork's is then its advantage.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from toolenvs.env import ToolEnv
from toolenvs.tasks import Task

LIMIT = 3000
TASK = Task(
    id="tree",
    question=f"How many primes below {LIMIT} leave the remainder 1 when divided by 4?",
    golds=("211",),
)
STEM = f"""
print("sieve")
sieve = [True] * {LIMIT}
for n in range(2, 55):
    if sieve[n]:
        sieve[n * n :: n] = [False] * len(sieve[n * n :: n])
primes = [n for n in range(2, {LIMIT}) if sieve[n]]
"""
WAYS = {
    "remainder": "found = [p for p in primes if p % 4 == 1]\nprint(len(found))",
    "two squares": "squares = {k * k for k in range(60)}\n"
    "found = [p for p in primes if p > 2 and any(p - s in squares for s in squares)]\nprint(len(found))",
    "half of them": "found = primes[: len(primes) // 2]\nprint(len(found))",
    "a slip": "found = [p for p in primes if p % 4 == 3]\nprint(len(found))",
}
ANSWERS = {"as printed": 0, "one more": 1}


@dataclass
class Node:
    """A turn of the tree."""

    label: str
    shown: str = ""
    """What the interpreter showed."""
    reward: float | None = None
    """Of a leaf."""
    children: list["Node"] = field(default_factory=list)

    @property
    def value(self) -> float:
        """A leaf's reward; of a fork, the mean over its branches."""
        if self.reward is not None:
            return self.reward
        return sum(child.value for child in self.children) / len(self.children)


def call(program: str) -> str:
    """A turn that runs a program."""
    return f"<code>\n```python\n{program.strip()}\n```\n</code>"


def answer(value: int) -> str:
    """A turn that ends the episode."""
    return f"<answer>\n\\boxed{{{value}}}\n</answer>"


def act(env: ToolEnv, label: str, action: str) -> Node:
    """Take a turn in an environment."""
    _, reward, terminated, truncated, info = env.step(action)
    shown = info["calls"][0].result.strip() if info["calls"] else ""
    return Node(label, shown, reward if terminated or truncated else None)


def grow(env: ToolEnv, branches: int) -> Node:
    """Run the stem, fork, run the ways, fork again, answer."""
    root = act(env, "sieve", call(STEM))
    ways = list(WAYS.items())[:branches]
    for fork, (name, program) in zip(env.fork(len(ways)), ways, strict=True):
        way = act(fork, name, call(program))
        root.children.append(way)
        for leaf, (label, added) in zip(fork.fork(len(ANSWERS)), ANSWERS.items(), strict=True):
            way.children.append(act(leaf, label, answer(int(way.shown) + added)))
            leaf.close()
        fork.close()
    return root


def lines(node: Node, ends: Sequence[bool] = ()) -> Iterator[str]:
    """The tree as text, one node a line."""
    lead = "".join("   " if end else "│  " for end in ends[:-1]) + ("" if not ends else "└─ " if ends[-1] else "├─ ")
    shown = f" -> {node.shown}" if node.shown else ""
    verdict = "" if node.reward is None else "  solved" if node.reward > 0 else "  wrong"
    yield f"{lead}{node.label}{shown}  value {node.value:+.2f}{verdict}"
    for child in node.children:
        yield from lines(child, (*ends, child is node.children[-1]))


def main(arguments: Sequence[str] | None = None) -> Node:
    """Grow a tree and print it."""
    parser = argparse.ArgumentParser(description="Branching rollouts with env.fork.")
    parser.add_argument("--branches", type=int, default=len(WAYS), choices=range(1, len(WAYS) + 1))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    env = ToolEnv("ReTool-v0", session="stateful")
    env.reset(seed=options.seed, options={"task": TASK})
    root = grow(env, options.branches)
    env.close()
    print(f"{TASK.question}\n")
    print("\n".join(lines(root)))
    for way in root.children:
        solved = sum(leaf.reward is not None and leaf.reward > 0 for leaf in way.children)
        print(f"{way.label}: {solved} of {len(way.children)} answers solve it, advantage {way.value - root.value:+.2f}")
    return root


if __name__ == "__main__":
    main()
