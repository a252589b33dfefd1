"""Figures and files of programs, from the sandbox to the trajectory and the page that shows it."""

import base64
import dataclasses
import json
import re
from pathlib import Path

import toolenvs
from tests.view.opening import Parsed
from toolenvs import view
from toolenvs.agents.scripted import Scripted
from toolenvs.rollout import TrajectoryWriter, read_trajectories
from toolenvs.rollout.collect import collect
from toolenvs.rollout.trajectory import MAX_FILES_BYTES, CallRecord, Trajectory
from toolenvs.view.episodes import _file

PLOT = "<code>\n```python\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nprint('drawn')\n```\n</code>"
ANSWER = "<answer>\n\\boxed{1}\n</answer>"


async def _episode() -> Trajectory:
    blueprint = toolenvs.load("ReTool-v0", timeout_s=60.0)
    (trajectory,) = await collect(blueprint, Scripted([PLOT, ANSWER]), [blueprint.tasks[0]])
    return trajectory


async def test_a_figure_goes_from_a_program_to_the_page(tmp_path: Path) -> None:
    trajectory = await _episode()
    (call,) = trajectory.calls
    assert (call.result, list(call.files)) == ("drawn", ["figure-1.png"])
    assert call.files["figure-1.png"].startswith(b"\x89PNG")
    with TrajectoryWriter(tmp_path / "t.jsonl") as writer:
        writer.write(trajectory)
    (again,) = read_trajectories(tmp_path / "t.jsonl")
    assert again.calls == trajectory.calls
    page = view.html([again])
    drawn = base64.b64encode(call.files["figure-1.png"]).decode()
    (shown,) = Parsed(page).episodes
    assert shown["calls"][0]["files"][0]["image"] == f"image/png;base64,{drawn}"
    assert "img-src data:" in page


async def test_what_a_trajectory_keeps_is_bounded() -> None:
    from toolenvs.episode import Episode
    from toolenvs.rollout.collect import Record

    blueprint = toolenvs.load("ReTool-v0")
    record = Record(Episode(blueprint, blueprint.tasks[0]))
    large = bytes(MAX_FILES_BYTES)
    assert record.keep({"a": b"x", "b": large, "c": b"y"}) == {"a": b"x", "c": b"y"}
    assert record.keep({"d": large[2:]}).keys() == {"d"}
    assert record.keep({"e": b"z"}) == {}


def test_only_pictures_are_shown_as_pictures() -> None:
    evil = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
    shown = {name: _file(name, content) for name, content in {"a.png": evil, "b": b"\xff\xd8\xff", "c": b"\0"}.items()}
    assert shown["a.png"] == {"name": "a.png", "bytes": len(evil), "text": evil.decode()}
    assert shown["b"]["image"].startswith("image/jpeg;base64,")
    assert shown["c"]["text"] is None


async def test_hostile_files_stay_data() -> None:
    trajectory = await _episode()
    evil = {"</script><img src=x>.png": b"</script><script>alert(1)</script>"}
    call = dataclasses.replace(trajectory.calls[0], files=evil)
    page = view.html([dataclasses.replace(trajectory, calls=(call,))])
    assert len(re.findall(r"<script", page)) == 3
    assert "<img" not in page
    assert Parsed(page).episodes[0]["calls"][0]["files"][0]["text"] == "</script><script>alert(1)</script>"


def test_records_of_earlier_versions_are_read() -> None:
    data = {"turn": 1, "tool": "python", "arguments": {}, "result": "", "status": "ok", "seconds": 0.5}
    record = CallRecord.from_json(data)
    assert record.files == {}
    assert record.to_json() == json.loads(json.dumps(data))
