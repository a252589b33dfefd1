"""baselines/tree.py: what it prints is what its branches did."""

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
        root = script.main([])
    printed = capsys.readouterr().out
    ways = {way.label: way for way in root.children}
    assert list(ways) == list(script.WAYS)
    assert [ways[name].shown for name in ("remainder", "two squares")] == ["211", "211"]
    assert {name: [leaf.reward for leaf in way.children] for name, way in ways.items()} == {
        "remainder": [1.0, -1.0],
        "two squares": [1.0, -1.0],
        "half of them": [-1.0, -1.0],
        "a slip": [-1.0, -1.0],
    }
    assert (root.value, ways["remainder"].value, ways["a slip"].value) == (-0.5, 0.0, -1.0)
    assert printed.count("  solved\n") == 2
    assert "remainder: 1 of 2 answers solve it, advantage +0.50" in printed


def test_the_gold_is_right(script: ModuleType) -> None:
    primes = [n for n in range(2, script.LIMIT) if all(n % d for d in range(2, int(n**0.5) + 1))]
    assert script.TASK.golds == (str(sum(p % 4 == 1 for p in primes)),)


def test_a_tree_may_be_narrower(script: ModuleType) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [way.label for way in script.main(["--branches", "1"]).children] == ["remainder"]
