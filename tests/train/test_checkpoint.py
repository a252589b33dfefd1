import os
import random

import numpy as np
import pytest
import torch

from toolenvs.errors import ConfigError
from toolenvs.train import checkpoint
from toolenvs.train.optim import Optimizers


@pytest.fixture
def layer():
    return torch.nn.Linear(3, 3)


def save(folder, layer, step, **more):
    return checkpoint.save(
        folder, step=step, model=layer, optimizers=Optimizers(layer, lr=0.1), sampler={"order": [2, 0, 1]}, **more
    )


def test_everything_comes_back(tmp_path, layer):
    path = save(tmp_path, layer, 40)
    drawn = torch.rand(3), np.random.rand(3), random.random()
    other = torch.nn.Linear(3, 3)
    step, sampler = checkpoint.load(path, model=other, optimizers=Optimizers(other, lr=0.1))
    assert (path.name, step, sampler) == ("step-000040.pt", 40, {"order": [2, 0, 1]})
    assert torch.equal(other.weight, layer.weight)
    again = torch.rand(3), np.random.rand(3), random.random()
    assert torch.equal(drawn[0], again[0])
    assert np.array_equal(drawn[1], again[1])
    assert drawn[2] == again[2]


def test_only_the_newest_are_kept_in_the_order_of_steps(tmp_path, layer):
    for step in (999_999, 5, 1_000_000, 20):
        save(tmp_path, layer, step, keep=4)
    save(tmp_path, layer, 1_000_001, keep=3)
    names = [path.name for path in checkpoint.list_checkpoints(tmp_path)]
    assert names == ["step-999999.pt", "step-1000000.pt", "step-1000001.pt"]


def test_a_crash_while_writing_leaves_the_previous_checkpoint(tmp_path, layer, monkeypatch):
    save(tmp_path, layer, 1)

    def crash(descriptor):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(OSError, match="disk full"):
        save(tmp_path, layer, 2)
    assert [path.name for path in checkpoint.list_checkpoints(tmp_path)] == ["step-000001.pt"]


def test_a_damaged_or_foreign_file_is_refused_by_name(tmp_path, layer):
    path = save(tmp_path, layer, 1)
    with pytest.raises(ConfigError, match="step-000001"):
        checkpoint.load(path, model=torch.nn.Linear(2, 2), optimizers=Optimizers(layer, lr=0.1))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ConfigError, match="step-000001"):
        checkpoint.load(path, model=layer, optimizers=Optimizers(layer, lr=0.1))


def test_a_checkpoint_cannot_run_code(tmp_path, layer):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "trapped"),)

    torch.save({"step": Trap()}, tmp_path / "step-000001.pt")
    with pytest.raises(ConfigError):
        checkpoint.load(tmp_path / "step-000001.pt", model=layer, optimizers=Optimizers(layer, lr=0.1))
    assert not (tmp_path / "trapped").exists()


def test_a_missing_folder_holds_no_checkpoints(tmp_path):
    assert checkpoint.list_checkpoints(tmp_path / "nothing") == []
