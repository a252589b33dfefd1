import pytest

from toolenvs.errors import ConfigError
from toolenvs.train.metrics import MetricsWriter, read_metrics, without_times
from toolenvs.train.plots import learning_curve


def write(folder, steps, resume_at=None):
    with MetricsWriter(folder, resume_at) as writer:
        for step in steps:
            writer.write(step, {"reward": step / 10, "rollout_s": 1.5})


def test_a_resumed_file_equals_an_uninterrupted_one(tmp_path):
    write(tmp_path / "whole", range(1, 7))
    write(tmp_path / "cut", range(1, 6))
    write(tmp_path / "cut", range(4, 7), resume_at=3)
    assert read_metrics(tmp_path / "cut") == read_metrics(tmp_path / "whole")


def test_a_line_that_a_crash_cut_short_is_left_out(tmp_path):
    write(tmp_path, range(1, 4))
    path = tmp_path / "metrics.jsonl"
    path.write_text(path.read_text()[:-9])
    assert [line["step"] for line in read_metrics(tmp_path)] == [1, 2]
    write(tmp_path, [3], resume_at=2)
    assert [line["step"] for line in read_metrics(tmp_path)] == [1, 2, 3]


def test_damage_inside_the_file_is_an_error_with_its_line(tmp_path):
    write(tmp_path, range(1, 4))
    path = tmp_path / "metrics.jsonl"
    path.write_text("{" + path.read_text())
    with pytest.raises(ConfigError, match="line 1"):
        read_metrics(tmp_path)


def test_a_new_run_does_not_write_into_an_old_one(tmp_path):
    write(tmp_path, [1])
    with pytest.raises(ConfigError, match="another run"):
        MetricsWriter(tmp_path)
    with pytest.raises(ConfigError, match=r"metrics\.jsonl is missing"):
        read_metrics(tmp_path / "nowhere")


def test_a_run_that_never_reached_a_checkpoint_begins_again(tmp_path):
    write(tmp_path, range(4))
    write(tmp_path, range(2), resume_at=0)
    assert [line["step"] for line in read_metrics(tmp_path)] == [0, 1]


def test_values_that_are_not_finite_become_null(tmp_path):
    with MetricsWriter(tmp_path) as writer:
        writer.write(1, {"gradient_norm": float("nan"), "reward": 1.0})
    assert read_metrics(tmp_path) == [{"step": 1, "gradient_norm": None, "reward": 1.0}]


def test_times_are_told_apart_by_their_unit():
    assert without_times({"step": 1, "rollout_s": 2.0, "reward": 0.5}) == {"step": 1, "reward": 0.5}


def test_the_learning_curve_is_a_picture_of_the_runs(tmp_path):
    for run in ("a", "b"):
        write(tmp_path / run, range(1, 5))
    path = learning_curve({run: tmp_path / run for run in "ab"}, ["reward"], tmp_path / "curve.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ConfigError, match="entropy"):
        learning_curve({"a": tmp_path / "a"}, ["entropy"], tmp_path / "curve.png")
