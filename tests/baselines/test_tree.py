"""baselines/tree.py: what it prints is what its branches did, and each turn is worth what TreeRL says."""

import math
import warnings
from collections.abc import Callable
from types import ModuleType

import pytest

from toolenvs import sandbox


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("tree")


def test_branches_go_on_from_the_live_interpreter(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        if not any(tier.works for tier in sandbox.probe() if tier.tier != "fork"):
            warnings.simplefilter("ignore")  # the stem's programs are run again there, with a warning
        leaves = script.main(["--branches", "2"])
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("0.0")]
    assert [leaf.key for leaf in leaves] == ["0.0", "0.0/0", "0.0/1", "0.0/2", "0.0/3"]
    assert [len(leaf.sampled_by) for leaf in leaves] == [0, 3, 3, 3, 3]
    assert sorted(leaf.sampled_by.count("0.0") for leaf in leaves[1:]) == [1, 1, 2, 2]
    ways = {script.call(program): name for name, program in script.WAYS.items()}
    counts = {"remainder": "211", "two squares": "211", "half of them": "215", "a slip": "218"}
    for leaf, line in zip(leaves, printed, strict=True):
        assert [call.status for call in leaf.calls] == ["ok", "ok"]
        assert leaf.calls[1].result.strip() == counts[ways[leaf.transcript.policy_text(2)]]
        assert line.endswith("solved" if leaf.reward > 0 else "wrong")
        assert line.count("(") == leaf.sampled_by.count("0.0")


def test_the_stem_is_worth_nothing_and_the_rest_what_the_formula_says(script: ModuleType) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        leaves = script.main(["--branches", "1", "--seed", "5"])
    worth = script.advantages(leaves)
    assert worth[0][1] == pytest.approx(0)  # all leaves are below it
    for leaf, turns in zip(leaves, worth, strict=True):
        own = [turn for turn in (1, 2, 3) if not leaf.sampled_by or leaf.sampled_by[turn - 1] == leaf.key]
        assert sorted(turns) == own
    mean = sum(leaf.reward for leaf in leaves) / 3
    for turn in (2, 3):  # a branch of one leaf: (R - mean) + (R - V(parent)), times n / (n - 1)
        for leaf, turns in zip(leaves[1:], worth[1:], strict=True):
            if leaf.sampled_by.count(leaf.key) != 4 - turn:
                continue
            before = leaf.sampled_by[: turn - 1]
            below = [other.reward for other in leaves if (other.sampled_by or (other.key,) * 3)[: turn - 1] == before]
            parent = sum(below) / len(below)
            expected = 1.5 * ((leaf.reward - mean) + (leaf.reward - parent))
            assert turns[turn] == pytest.approx(expected, abs=1e-5)
            assert math.isfinite(expected)


def test_the_gold_is_right(script: ModuleType) -> None:
    primes = [n for n in range(2, script.LIMIT) if all(n % d for d in range(2, int(n**0.5) + 1))]
    assert script.TASK.golds == (str(sum(p % 4 == 1 for p in primes)),)
