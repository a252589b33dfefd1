"""What a container's programs leave comes back, and nothing is put where nothing can be written."""

import pytest

from toolenvs.errors import ConfigError
from toolenvs.sandbox.docker.box import DockerBox

PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 2])"


def test_figures_come_back(box: DockerBox) -> None:
    (drawn,) = box.run(PLOT, timeout_s=60).files.values()
    assert drawn.startswith(b"\x89PNG\r\n\x1a\n")
    with box.session() as session:
        assert session.run(PLOT, timeout_s=60).files == {"figure-1.png": drawn}
        assert session.run("1").files == {}


def test_how_an_interpreter_ended_is_told(box: DockerBox) -> None:
    for code, exit_code in {"1": None, "import os; os._exit(7)": 7, "import os; os.abort()": -6}.items():
        assert box.run(code).exit_code == exit_code


async def test_files_cannot_be_given(box: DockerBox) -> None:
    with box.session() as session:
        for place in (box, session):
            with pytest.raises(ConfigError, match="in the fork tier programs have no folder"):
                place.run("1", files={"a": b"x"})
            with pytest.raises(ConfigError, match="in the fork tier programs have no folder"):
                await place.arun("1", files={"a": b"x"})
