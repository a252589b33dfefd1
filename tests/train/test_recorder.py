"""What a run tells: to its folder, to the terminal, to W&B."""

import io
import sys
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from toolenvs.errors import ConfigError, MissingExtraError
from toolenvs.train.metrics import read_metrics
from toolenvs.train.progress import StepProgress
from toolenvs.train.record import read_settings
from toolenvs.train.recorder import Recorder, RecorderSettings
from toolenvs.train.watch import read_events


@dataclass(frozen=True, kw_only=True)
class Settings(RecorderSettings):
    steps: int = 30
    resume: bool = False
    lr: float = 1e-6
    env: dict = field(default_factory=dict)


def record(folder, settings, steps, done=0):
    recorder = Recorder(folder, "GRPO", settings, done, device="cpu")
    for step in steps:
        norm = 100.0 if step == 12 else 1.0
        recorder.write(step, {"success": 0.5, "gradient_norm": norm, "rollout_s": 0.1, "update_s": 0.2})
    recorder.close()
    recorder.close()


def test_a_run_leaves_its_settings_metrics_and_warnings(tmp_path, capsys):
    record(tmp_path, Settings(), range(1, 31))
    assert len(read_metrics(tmp_path)) == 30
    assert read_settings(tmp_path)["settings"]["lr"] == 1e-6
    assert [(event["step"], event["event"]) for event in read_events(tmp_path)] == [(12, "begins"), (13, "ends")]
    told = capsys.readouterr().err
    assert told.count("The gradient's norm has jumped to 100") == 1
    assert "GRPO 30/30  success 0.50  0.1 + 0.2 s" in told
    assert len(told.splitlines()) < 35


def test_a_resumed_run_goes_on_behind_its_checkpoint(tmp_path):
    record(tmp_path, Settings(), range(1, 20))
    record(tmp_path, Settings(resume=True), range(11, 31), done=10)
    assert [line["step"] for line in read_metrics(tmp_path)] == list(range(1, 31))
    assert [event["step"] for event in read_events(tmp_path)] == [12, 13]
    assert read_settings(tmp_path)["resumed"][0]["after_step"] == 10


def test_a_threshold_that_is_not_there_stops_the_run_before_it_writes(tmp_path):
    with pytest.raises(ConfigError, match="did you mean 'entropy'"):
        record(tmp_path / "run", Settings(monitors={"entropi.fall": 1}), [])
    assert not (tmp_path / "run").exists()


class Wandb:
    """W&B's own face, as its version 0.31 has it, which keeps what it is told."""

    def __init__(self):
        self.runs = []

    def init(self, *, project, name, id, resume, dir, config):
        run = SimpleNamespace(project=project, name=name, id=id, resume=resume, dir=dir, config=config)
        run.logged, run.alerts, run.finished = [], [], 0
        run.log = lambda data, *, step: run.logged.append((step, data))
        run.alert = lambda *, title, text: run.alerts.append(text)
        run.finish = lambda: setattr(run, "finished", run.finished + 1)
        self.runs.append(run)
        return run


def test_wandb_gets_the_same_where_it_is_asked_for(tmp_path, monkeypatch):
    fake = Wandb()
    monkeypatch.setitem(sys.modules, "wandb", fake)
    record(tmp_path / "a", Settings(), range(1, 3))
    assert fake.runs == []
    record(tmp_path / "b", Settings(wandb="mine"), range(1, 20))
    record(tmp_path / "b", Settings(wandb="mine", resume=True), range(11, 13), done=10)
    first, second = fake.runs
    assert (first.project, first.name, first.config["lr"]) == ("mine", "b", 1e-6)
    assert (first.id, first.resume) == (second.id, "allow")
    assert [step for step, _ in first.logged] == list(range(1, 20))
    assert first.logged[0][1]["success"] == 0.5
    assert len(first.alerts) == len(second.alerts) == 1
    assert first.finished == second.finished == 1


def test_wandb_that_is_missing_or_refuses_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(MissingExtraError, match=r"toolenvs\[wandb\]"):
        record(tmp_path / "a", Settings(wandb="mine"), [])
    refusing = Wandb()
    refusing.init = lambda **_: (_ for _ in ()).throw(RuntimeError("no login"))
    monkeypatch.setitem(sys.modules, "wandb", refusing)
    with pytest.raises(ConfigError, match="no login; WANDB_MODE=offline"):
        record(tmp_path / "b", Settings(wandb="mine"), [])


def test_on_a_terminal_a_bar_shows_the_newest_figures(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    progress = StepProgress("GRPO", 10, done=3)
    progress.show(4, {"success": 0.25})
    progress.warn(4, "Something [is] wrong.")
    progress.show(5, {"test_success": 0.75})
    progress.close()
    progress.close()
    told = screen.getvalue()
    assert "5/10" in told
    assert "success 0.25  test 0.75" in told
    assert "step 4: Something [is] wrong." in told
