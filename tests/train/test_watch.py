"""Events of a run: one at each onset and end, the same after a resumption."""

import pytest

from toolenvs.errors import ConfigError
from toolenvs.rollout import read_trajectories
from toolenvs.train.watch import Watch, read_events


def high(lines):
    return "It is high: lower it." if (lines[-1].get("x") or 0) > 5 else None


def watched(folder, values, lines=()):
    watch = Watch(folder, {"high": high}, lines)
    start = len(lines) + 1
    told = [watch.look(step, {"x": value}) for step, value in enumerate(values, start=start)]
    watch.close()
    return told


def test_a_warning_is_told_once_until_it_ends_and_begins_again(tmp_path):
    assert watched(tmp_path, [1, 9, 9, 2, 7]) == [[], ["It is high: lower it."], [], [], ["It is high: lower it."]]
    assert [(event["step"], event["monitor"], event["event"]) for event in read_events(tmp_path)] == [
        (2, "high", "begins"),
        (4, "high", "ends"),
        (5, "high", "begins"),
    ]
    assert read_events(tmp_path)[0]["text"] == "It is high: lower it."


def test_a_resumed_run_has_the_events_of_one_that_was_not_interrupted(tmp_path):
    (tmp_path / "whole").mkdir()
    (tmp_path / "cut").mkdir()
    watched(tmp_path / "whole", [1, 9, 9, 2, 7])
    watched(tmp_path / "cut", [1, 9, 9, 8])
    kept = [{"step": step, "x": x} for step, x in enumerate([1, 9, 9], start=1)]
    assert watched(tmp_path / "cut", [2, 7], kept) == [[], ["It is high: lower it."]]
    assert (tmp_path / "cut/events.jsonl").read_bytes() == (tmp_path / "whole/events.jsonl").read_bytes()


def test_a_run_goes_on_without_looking_at_old_lines_anew(tmp_path):
    watched(tmp_path, [1, 9, 9])
    looked = []
    lines = [{"step": step, "x": x} for step, x in enumerate([1, 9, 9], start=1)]
    watch = Watch(tmp_path, {"high": lambda seen: looked.append(len(seen)) or "It is high still."}, lines)
    assert looked == []
    assert watch.look(4, {"x": 9}) == []  # told already
    assert looked == [4]
    watch.close()
    watched(tmp_path, [1])  # another run
    assert read_events(tmp_path) == []


def test_values_that_are_not_finite_reach_monitors_as_none(tmp_path):
    seen = []
    watch = Watch(tmp_path, {"seeing": lambda lines: seen.append(lines[-1])})
    watch.look(1, {"x": float("nan"), "y": 1.0})
    watch.close()
    assert seen == [{"step": 1, "x": None, "y": 1.0}]


def test_a_torn_last_line_is_left_out_and_damage_before_it_told(tmp_path):
    watched(tmp_path, [9, 1])
    path = tmp_path / "events.jsonl"
    path.write_text(path.read_text()[:-5])
    assert [event["step"] for event in read_events(tmp_path)] == [1]
    path.write_text("{\n" + path.read_text())
    with pytest.raises(ConfigError, match="line 1"):
        read_events(tmp_path)
    assert read_events(tmp_path / "elsewhere") == []


def test_events_are_no_trajectories(tmp_path):
    watched(tmp_path, [9])
    assert list(read_trajectories(tmp_path)) == []
