"""baselines/self_play.py: the loop runs, and its figures hang together."""

from collections.abc import Callable
from types import ModuleType

import pytest


def test_the_loop(load_script: Callable[[str], ModuleType], capsys: pytest.CaptureFixture[str]) -> None:
    told = load_script("self_play").main(["--steps", "2", "--batch", "12", "--tries", "3"])
    assert [figures["valid"] for figures in told] == [1.0, 1.0]
    assert [figures["questions"] for figures in told] == [12, 12]
    for figures in told:  # every question was valid and tried, so what one side wins the other loses
        assert figures["proposer_reward"] == pytest.approx(1 - figures["solver_success"])
        assert 0.2 < figures["solver_success"] < 0.9
    assert capsys.readouterr().out.count("step ") == 2
