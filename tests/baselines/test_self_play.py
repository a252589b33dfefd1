"""baselines/self_play.py: the loop runs, and its figures hang together."""

import importlib.util
import sys

import pytest

from toolenvs import assets


def test_the_loop(capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("baselines_self_play", assets.folder("baselines") / "self_play.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = script
    spec.loader.exec_module(script)
    told = script.main(["--steps", "2", "--batch", "12", "--tries", "3"])
    assert [figures["valid"] for figures in told] == [1.0, 1.0]
    assert [figures["questions"] for figures in told] == [12, 12]
    for figures in told:  # every question was valid and tried, so what one side wins the other loses
        assert figures["proposer_reward"] == pytest.approx(1 - figures["solver_success"])
        assert 0.2 < figures["solver_success"] < 0.9
    assert capsys.readouterr().out.count("step ") == 2
