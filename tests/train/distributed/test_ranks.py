"""Several processes train as one does: gradients, moments, metrics and checkpoints; and none waits for the dead."""

import signal

import pytest
import torch

pytestmark = pytest.mark.heavy
SIZE = 2


def assert_same(found, expected, where=""):
    """Equal within 1e-9, all the way down."""
    assert type(found) is type(expected), where
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), where
        for name, value in expected.items():
            assert_same(found[name], value, f"{where}/{name}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for number, value in enumerate(expected):
            assert_same(found[number], value, f"{where}/{number}")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=0, abs=1e-9), where
    else:
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-9, msg=lambda said: f"{where}: {said}")


def test_two_processes_train_and_resume_as_one_does(run, program, tmp_path):
    program.save_after_two(tmp_path)
    cases = ["sharing", "updates", "critic", "imitation", "muon", "short", "save_after_two", "go_on_from_one"]
    found = run(cases, tmp_path, SIZE)
    assert found["sharing"] == {
        "shared": [(0, 0), (1, 0), (2, 1), (3, 1), (4, 1)],
        "few": [(0, 1)],
        "by_first": [(0, 0), (1, 0), (2, 0)],
    }
    for name in program.FORMS:
        expected = program.trained(name, program.FORMS[name], muon_lr=0.0)
        assert all(gradient.abs().max() > 1e-3 for gradient in expected["gradients"])
        assert_same(found["updates"][name], expected, name)
    assert_same(found["critic"], program.critic(tmp_path), "critic")
    assert_same(found["imitation"], program.imitation(tmp_path), "imitation")

    # Muon orthogonalises in bfloat16: a gradient that differs by its last bit may be rounded the other way.
    expected = program.muon(tmp_path)
    assert_same(found["muon"]["gradients"][:1], expected["gradients"][:1])
    apart = (found["muon"]["weights"] - expected["weights"]).abs()
    assert apart.max() < 1e-3
    assert apart.mean() < 1e-6

    expected = program.short(tmp_path)
    assert found["short"]["types"] == expected["types"] == ["torch.float32"]
    assert found["short"]["moved"] > 0.9
    (one,), (other,) = found["short"]["gradients"], expected["gradients"]
    assert torch.nn.functional.cosine_similarity(one, other, dim=0) > 0.98

    # A checkpoint of two processes is gone on from by one, and one's by two; each process draws what is its own.
    whole = program.save_after_four(tmp_path)
    for name, resumed in (("from two", program.go_on_from_two(tmp_path)), ("from one", found["go_on_from_one"])):
        for network in ("weights", "critic", "proximal"):
            apart = (resumed[network] - whole[network]).abs()
            assert apart.max() < 1e-3, (name, network)
            assert apart.mean() < 1e-6, (name, network)
    assert [len(drawn) for drawn in found["go_on_from_one"]["drawn"]] == [2, 2]


def test_a_process_that_is_killed_ends_the_others_with_an_error_that_says_so(start, tmp_path):
    processes = start("killed", tmp_path, SIZE)
    said = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [1, -signal.SIGKILL]
    assert "RankError: rank 0 waited for the other processes at the run, and one of them died" in said[0]


def test_a_process_that_hangs_is_waited_for_no_longer_than_the_timeout(start, tmp_path):
    processes = start("hanging", tmp_path, SIZE, timeout_s=2)
    said = processes[0].communicate(timeout=300)[1]
    (tmp_path / "over").touch()
    processes[1].communicate(timeout=300)
    assert processes[0].returncode == 1
    assert "RankError: rank 0 waited for the other processes at gathering" in said
    assert "did not come within 2 s" in said
