"""Every tutorial, done as it says: files are written, programs and commands run in order, in a folder of its own.

Programs that stand one after another are one program; a command between them begins the next.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

_FOLDER = Path(__file__).parents[2] / "docs" / "tutorials"
_BLOCK = re.compile(r"^```(\w+)(?: title=\"([\w./-]+)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_TRAINS = ("own_page", "train", "scale_out")
"""Those that train, and take a minute or two of CPU time for the policy that they start from."""


def _steps(text: str) -> list[tuple[str, str, str]]:
    """What to do, in order: ("file", name, content), ("python", "", program) or ("sh", "", commands)."""
    steps: list[tuple[str, str, str]] = []
    for language, name, content in _BLOCK.findall(text):
        if name:
            steps.append(("file", name, content))
        elif language == "python" and steps and steps[-1][0] == "python":
            steps[-1] = ("python", "", steps[-1][2] + content)
        elif language in ("python", "sh"):
            steps.append((language, "", content))
    return steps


def _tutorials() -> list[object]:
    return [
        pytest.param(path, id=path.stem, marks=[pytest.mark.heavy] if path.stem in _TRAINS else [])
        for path in sorted(_FOLDER.glob("*.md"))
    ]


@pytest.mark.parametrize("path", _tutorials())
def test_a_tutorial_holds(path: Path, tmp_path: Path) -> None:
    steps = _steps(path.read_text("utf-8"))
    assert steps
    binaries = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"}
    for kind, name, content in steps:
        if kind == "file":
            (tmp_path / name).write_text(content, encoding="utf-8")
            continue
        command = [sys.executable, "-c", content] if kind == "python" else ["bash", "-e", "-c", content]
        told = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert told.returncode == 0, f"{content}\n{told.stdout}\n{told.stderr}"
        assert ": 0 episodes" not in told.stdout, f"what it shows is empty: {content}\n{told.stdout}"
