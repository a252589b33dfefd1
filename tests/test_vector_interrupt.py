"""A vector step that Ctrl-C interrupts leaves nothing running: no coroutine, and no program of a model."""

import asyncio
import os
import signal
import threading
from pathlib import Path

import pytest

from toolenvs import loop
from toolenvs.vector import ToolVectorEnv

pytestmark = pytest.mark.usefixtures("heeded_interrupts")

_COUNT = 3
_PR_SET_NAME = 15
_NAME = f"ti{os.getpid()}"
"""By which the programs are found among all processes; they cannot be found otherwise from outside their cells."""
_PROGRAM = f"""<code>
import ctypes
ctypes.CDLL(None).prctl({_PR_SET_NAME}, b"{_NAME}", 0, 0, 0)
while True:
    pass
</code>"""


def _programs() -> list[Path]:
    found = []
    for comm in Path("/proc").glob("[0-9]*/comm"):
        try:
            if comm.read_text().strip() == _NAME:
                found.append(comm.parent)
        except OSError:  # ended meanwhile
            continue
    return found


async def _others() -> list[str]:
    return [str(task) for task in asyncio.all_tasks() if task is not asyncio.current_task()]


def _interrupt_once_all_run(given_up: threading.Event) -> threading.Thread:
    def watch() -> None:
        while not given_up.wait(0.02):
            if len(_programs()) == _COUNT:
                os.kill(os.getpid(), signal.SIGINT)
                return

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


@pytest.mark.parametrize("session", ["stateless", "stateful"])
def test_an_interrupted_step_leaves_nothing_running(session: str) -> None:
    envs = ToolVectorEnv(_COUNT, page="ReTool-v0", session=session, timeout_s=60.0)
    envs.reset(seed=0)
    given_up = threading.Event()
    watch = _interrupt_once_all_run(given_up)
    try:
        with pytest.raises(KeyboardInterrupt):
            envs.step([_PROGRAM] * _COUNT)
    finally:
        given_up.set()
        watch.join()
    for _ in range(500):  # a killed process is gone once its parent has taken note of it
        if not _programs():
            break
        threading.Event().wait(0.02)
    assert _programs() == []
    assert loop.run(_others()) == []
    envs.reset(seed=0)
    texts = envs.step(["<code>print(6 * 7)</code>"] * _COUNT)[0]
    assert all("42" in text for text in texts)
    envs.close()
