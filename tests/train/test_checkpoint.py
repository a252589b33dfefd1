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


def test_further_parts_come_back_and_must_be_the_same(tmp_path, layer):
    critic = torch.nn.Linear(3, 1)
    path = save(tmp_path, layer, 1, parts={"critic": critic})
    other = torch.nn.Linear(3, 1)
    checkpoint.load(path, model=layer, optimizers=Optimizers(layer, lr=0.1), parts={"critic": other})
    assert torch.equal(other.weight, critic.weight)
    for parts in (None, {"proximal": other}):
        with pytest.raises(ConfigError, match="run and checkpoint differ in critic"):
            checkpoint.load(path, model=layer, optimizers=Optimizers(layer, lr=0.1), parts=parts)


def test_frozen_weights_are_left_out_and_left_alone(tmp_path):
    layers = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    layers[0].requires_grad_(False)
    path = checkpoint.save(tmp_path, step=1, model=layers, optimizers=Optimizers(layers, lr=0.1), sampler=0)
    assert set(torch.load(path)["model"]) == {"1.weight", "1.bias"}
    trained = layers[1].weight.detach().clone()
    torch.nn.init.zeros_(layers[0].weight)
    torch.nn.init.zeros_(layers[1].weight)
    checkpoint.load(path, model=layers, optimizers=Optimizers(layers, lr=0.1))
    assert torch.equal(layers[1].weight, trained)
    assert not layers[0].weight.any()
    layers[0].requires_grad_(True)
    with pytest.raises(ConfigError, match=r"differ in 0\.bias, 0\.weight"):
        checkpoint.load(path, model=layers, optimizers=Optimizers(layers, lr=0.1))
