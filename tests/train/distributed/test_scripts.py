"""The scripts under torchrun: the same tasks, numbers and files as one process gives."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolenvs.rollout import read_trajectories
from toolenvs.train import checkpoint
from toolenvs.train.metrics import read_metrics, without_times
from toolenvs.train.policy import load_policy, save_policy
from toolenvs.train.tiny.model import build_model

pytestmark = pytest.mark.heavy
SCRIPTS = Path(__file__).with_name("scripts.py")


@pytest.fixture
def policy(tokenizer, tmp_path):
    """A folder with an untrained tiny policy."""
    return str(save_policy(tmp_path / "policy", build_model(tokenizer, seed=0, width=24, layers=2, heads=2), tokenizer))


def close(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, float):
            assert found[name] == pytest.approx(value, rel=1e-4, abs=1e-5), name
        else:
            assert found[name] == value, name


def test_two_processes_give_what_one_gives(policy, tmp_path):
    names = ["grpo", "grpo-tree", "grpo-drafts", "ppo", "sft"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    both = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"),
            *(str(SCRIPTS), str(tmp_path / "two"), policy, *names),
        ],
        env=environment,
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )
    assert both.returncode == 0, both.stderr
    assert both.stdout.count("held-out success") == len(names)  # one process prints
    subprocess.run([sys.executable, str(SCRIPTS), str(tmp_path / "one"), policy, *names], env=environment, check=True)
    for name in names:
        one, two = tmp_path / "one" / name, tmp_path / "two" / name
        lines = [list(map(without_times, read_metrics(folder))) for folder in (two, one)]
        for found, expected in zip(*lines, strict=True):
            close(found, expected)
        files = [
            {str(path.relative_to(folder)) for path in folder.rglob("*") if "tensorboard" not in path.parts}
            for folder in (two, one)
        ]
        assert files[0] == files[1]
        (newest, expected) = (checkpoint.list_checkpoints(folder / "checkpoints")[-1] for folder in (two, one))
        assert newest.name == expected.name
        states = [load_policy(str(folder / "model"))[0].state_dict() for folder in (two, one)]
        assert states[0].keys() == states[1].keys()
        assert all((states[0][key] - value).abs().max() < 1e-4 for key, value in states[1].items())
    for name in names[:-1]:
        shown = [
            [
                (episode.key, episode.task, episode.group, episode.seed, episode.transcript.text)
                for episode in read_trajectories(tmp_path / size / name / "trajectories/step-000002.jsonl")
            ]
            for size in ("two", "one")
        ]
        assert shown[0] == shown[1]
    assert json.loads((tmp_path / "two/grpo/metrics.jsonl").read_text("utf-8").splitlines()[-1])["gradient_norm"] > 0
