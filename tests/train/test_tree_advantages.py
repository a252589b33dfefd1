"""Advantages in trees, against the published form written out: every leaf's whole trace, segment by segment."""

import math
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import toolenvs
from tests.train.doubles import Pieces
from toolenvs import loop
from toolenvs.agents.engine import EngineAgent
from toolenvs.rollout.tree import Shape, grow
from toolenvs.tokens import Mask
from toolenvs.train import advantages
from toolenvs.train.batching import pad
from toolenvs.train.credit import CreditSettings, assign_credit
from toolenvs.train.trajectories import sequences_of_groups, trainable


@dataclass
class Node:
    """A segment of some tokens, with branches below it or a reward."""

    size: int
    reward: float = 0.0
    below: list["Node"] = field(default_factory=list)
    number: int = 0
    split: int = 0

    def leaves(self):
        return [self] if not self.below else [leaf for child in self.below for leaf in child.leaves()]


def nodes(depth):
    sizes = st.integers(1, 3)
    leaf = st.builds(Node, sizes, st.sampled_from([-1.0, 0.0, 0.5, 1.0]))
    if depth == 0:
        return leaf
    return st.one_of(leaf, st.builds(Node, sizes, st.just(0.0), st.lists(nodes(depth - 1), min_size=2, max_size=3)))


forests = st.lists(st.lists(nodes(2), min_size=1, max_size=3), min_size=1, max_size=2)


def paths(node, above=()):
    if not node.below:
        yield (*above, node)
    for child in node.below:
        yield from paths(child, (*above, node))


def batch(forest):
    """Rows of all leaves; a segment is policy in the first row that holds it, and every token of it is a node."""
    rows, groups, count = [], [], 0
    for group, trees in enumerate(forest):
        for tree in trees:
            for path in paths(tree):
                rows.append(path)
                groups.append(group)
    owned, mask, number, rewards = set(), [], [], []
    places = {}
    for row, path in enumerate(rows):
        row_mask, row_nodes = [0], [0]
        for segment in path:
            if segment.number == 0:
                segment.number = count + 1
                count += segment.size
            mine = id(segment) not in owned
            owned.add(id(segment))
            if mine:
                places[id(segment)] = (row, len(row_mask))
            row_mask += [1 if mine else 2] * segment.size
            row_nodes += range(segment.number, segment.number + segment.size)
            row_mask.append(0)  # what a tool said
            row_nodes.append(0)
        mask.append(row_mask)
        number.append(row_nodes)
        rewards.append(path[-1].reward)
    width = max(map(len, mask))
    mask = torch.tensor([row + [0] * (width - len(row)) for row in mask], dtype=torch.int8)
    number = torch.tensor([row + [0] * (width - len(row)) for row in number])
    paid = torch.zeros(mask.shape, dtype=torch.float64)
    for row, reward in enumerate(rewards):
        last = int(torch.nonzero(mask[row] == 1)[-1])
        paid[row, last] = reward
    return rows, places, paid, mask, torch.tensor(groups), number


def published(trees):
    """TreeRL, trace by trace: what the copies of each segment are given, summed up."""
    leaves = [leaf for tree in trees for leaf in tree.leaves()]
    total = sum(leaf.reward for leaf in leaves)
    others = len(leaves) - 1
    normalised = {id(leaf): leaf.reward - ((total - leaf.reward) / others if others else 0.0) for leaf in leaves}

    def value(node):
        below = node.leaves()
        return sum(normalised[id(leaf)] for leaf in below) / len(below)

    root = sum(normalised.values()) / len(leaves) if others else 0.0
    given_to = {}
    for tree in trees:
        for path in paths(tree):
            parent = root
            for segment in path:
                here = value(segment)
                given_to[id(segment)] = given_to.get(id(segment), 0.0) + (here - root + here - parent) / math.sqrt(
                    len(segment.leaves())
                )
                parent = here
    return given_to


def differences(trees):
    leaves = [leaf for tree in trees for leaf in tree.leaves()]
    root = sum(leaf.reward for leaf in leaves) / len(leaves) if len(leaves) > 1 else 0.0
    found = {}

    def walk(node, parent):
        below = node.leaves()
        here = sum(leaf.reward for leaf in below) / len(below)
        found[id(node)] = here - parent
        for child in node.below:
            walk(child, here)

    for tree in trees:
        walk(tree, root)
    return found


@pytest.mark.parametrize(("name", "oracle"), [("tree_rl", published), ("segment", differences)])
@given(forest=forests)
def test_against_the_published_form(name, oracle, forest):
    _, places, paid, mask, groups, number = batch(forest)
    found = advantages.estimate(name, paid, mask, groups, nodes=number).advantages
    assert (found[mask != 1] == 0).all()
    for trees in forest:
        for key, expected in oracle(trees).items():
            row, column = places[key]
            segment = next(s for tree in trees for path in paths(tree) for s in path if id(s) == key)
            assert found[row, column : column + segment.size].tolist() == pytest.approx([expected] * segment.size)


@given(returns=st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=5))
def test_episodes_that_share_nothing_are_compared_with_their_group(returns):
    paid = torch.zeros(len(returns), 3, dtype=torch.float64)
    paid[:, 2] = torch.tensor(returns, dtype=torch.float64)
    mask = torch.tensor([[0, 1, 1]] * len(returns), dtype=torch.int8)
    groups, nothing = torch.zeros(len(returns), dtype=torch.long), torch.zeros(paid.shape, dtype=torch.long)
    found = advantages.estimate("segment", paid, mask, groups, nodes=nothing).advantages
    mean = sum(returns) / len(returns) if len(returns) > 1 else 0.0
    assert found[:, 1].tolist() == pytest.approx([reward - mean for reward in returns])
    rloo = advantages.estimate("rloo", paid, mask, groups).advantages
    both = advantages.estimate("tree_rl", paid, mask, groups, nodes=nothing).advantages
    assert torch.allclose(both, 2 * rloo)


_PIECES = ["<access>https://world.test/people/1.html</access>", "<search>a mayor</search>", "so</think>", "hm "]


@settings(max_examples=4, deadline=None)
@given(
    seed=st.integers(0, 10_000), page=st.sampled_from(["SearchR1-v0", "ASearcherLocal-v0"]), rounds=st.integers(1, 2)
)
def test_from_trees_of_episodes_to_the_advantage_of_each_turn(seed, page, rounds, byte_codec):
    """ASearcher's page lets a policy forget, so that one episode is several sequences."""
    env = toolenvs.load(page, tokenizer=byte_codec, user="{question}", max_turns=4)
    tasks = [env.tasks[index] for index in range(2)]
    grown = loop.run(grow(env, EngineAgent(Pieces(byte_codec, _PIECES)), tasks, Shape(rounds=rounds), n=1, seed=seed))
    rng = np.random.default_rng(seed)
    leaves = [replace(leaf, turn_rewards=tuple(rng.normal(size=len(leaf.turn_rewards)))) for leaf in grown]
    groups = [[leaf for leaf in leaves if leaf.group == group and trainable(leaf)] for group in ("0", "1")]
    batch = pad(sequences_of_groups(groups))
    found = assign_credit(CreditSettings(estimator="segment"), batch).advantages
    number = 0
    for members in groups:
        mean = sum(leaf.reward for leaf in members) / len(members)
        owners = {leaf.key: leaf.sampled_by or (leaf.key,) * len(leaf.turn_rewards) for leaf in members}
        for leaf in members:
            before, value, parent = None, mean, mean
            for turn, owner in enumerate(owners[leaf.key], start=1):
                below = [one for one in members if owners[one.key][turn - 1 : turn] == (owner,)]
                if before != below:
                    before, parent = below, value
                    value = sum(one.reward for one in below) / len(below)
                own = (batch.episodes[:, None] == number) & (batch.turns == turn) & (batch.mask == Mask.POLICY)
                assert own.any() == (owner == leaf.key)
                assert found[own].tolist() == pytest.approx([value - parent] * int(own.sum()), abs=1e-5)
            number += 1
