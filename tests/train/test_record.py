"""A run's folder tells what it was set to, and with which versions it ran."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch

from toolenvs.errors import ConfigError
from toolenvs.train.record import read_settings, write_settings


@dataclass(frozen=True)
class Settings:
    output: str = "runs/a"
    steps: int = 10
    env: dict = field(default_factory=dict)
    where: Path = Path("x")


def test_settings_and_versions_are_kept(tmp_path):
    write_settings(tmp_path, "GRPO", Settings(env={"budget.max_turns": 3}), 0)
    told = read_settings(tmp_path)
    assert told["script"] == "GRPO"
    assert told["settings"] == {"output": "runs/a", "steps": 10, "env": {"budget.max_turns": 3}, "where": "x"}
    assert told["versions"]["torch"] == torch.__version__
    assert told["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert told["resumed"] == []


def test_a_resumed_run_keeps_what_was_changed(tmp_path):
    write_settings(tmp_path, "GRPO", Settings(), 0)
    write_settings(tmp_path, "GRPO", Settings(steps=20), 10)
    write_settings(tmp_path, "GRPO", Settings(steps=20), 15)
    told = read_settings(tmp_path)
    assert told["settings"]["steps"] == 20
    assert told["resumed"] == [
        {"after_step": 10, "before": {"settings": {"steps": 10}, "versions": {}}},
        {"after_step": 15, "before": {"settings": {}, "versions": {}}},
    ]


@pytest.mark.parametrize("text", ["", "[]", "{}", "{"])
def test_damage_is_told(tmp_path, text):
    with pytest.raises(ConfigError, match=r"settings\.json is missing"):
        read_settings(tmp_path)
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_settings(tmp_path)


def test_it_is_json_that_others_read(tmp_path):
    write_settings(tmp_path, "GRPO", Settings(), 0, device="cuda")
    assert json.loads((tmp_path / "settings.json").read_text())["device"] == "cuda"
