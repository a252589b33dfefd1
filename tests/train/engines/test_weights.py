"""Weights as a file: what comes back is what went in."""

import pytest
import torch

from toolenvs.errors import EngineError
from toolenvs.train.engines.weights import read_weights, weights_file, write_weights


def test_tied_tensors_are_written_once_and_read_by_every_name(trainer, tmp_path):
    path = tmp_path / "weights.safetensors"
    state = trainer.state_dict()
    write_weights(state, path)
    back = read_weights(path)
    assert back.keys() == state.keys()
    assert all(torch.equal(back[name], state[name]) for name in state)
    assert "lm_head.weight" in state
    once = sum({tensor.data_ptr(): tensor.numel() * 4 for tensor in state.values()}.values())
    assert once <= path.stat().st_size < once + 20_000


def test_views_of_one_storage_keep_their_own_values(tmp_path):
    whole = torch.arange(12.0).reshape(3, 4)
    state = {
        "rows": whole[:2],
        "columns": whole[:, 1:],
        "turned": whole.T,
        "none": torch.empty(0),
        "empty": torch.empty(0),
    }
    write_weights(state, tmp_path / "w")
    back = read_weights(tmp_path / "w")
    assert all(torch.equal(back[name], state[name]) for name in state)


@pytest.mark.parametrize("damage", [lambda raw: raw[: len(raw) // 2], lambda raw: b"", lambda raw: b"x" * len(raw)])
def test_a_damaged_file_is_refused(trainer, tmp_path, damage):
    path = tmp_path / "w"
    write_weights(trainer.state_dict(), path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(EngineError, match="push them again"):
        read_weights(path)


def test_the_file_of_a_push_is_gone_afterwards(trainer):
    with weights_file(trainer.state_dict()) as path:
        assert path.exists()
    assert not path.parent.exists()
