"""Forks of sessions in containers: what the host and the containers have to agree on."""

import asyncio
import contextlib
import functools
import random

import gymnasium
import pytest

import toolenvs  # noqa: F401  # registers the environments
from toolenvs import sandbox
from toolenvs.errors import ForkError, SandboxError
from toolenvs.sandbox.docker.box import DockerBox

from .conftest import IMAGE, Running


async def test_forks_that_are_cancelled_leave_no_copy_in_the_container(engine: Running) -> None:
    """The container counts sessions as the host does: one that only it knew of would take a place for ever."""
    dice = random.Random(3)
    async with DockerBox(image=IMAGE, max_sessions=2) as box, await box.asession() as session:
        await session.arun("x = 1")

        async def fork() -> None:
            async with await session.afork() as copy:
                await copy.arun("x")

        for _ in range(30):
            task = asyncio.create_task(fork())
            await asyncio.sleep(dice.random() * 0.006)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        async with await session.afork() as copy:
            assert (await copy.arun("x")).value == "1"


def test_a_copy_lives_where_its_original_does_and_ends_with_its_container(engine: Running) -> None:
    with DockerBox(image=IMAGE, containers=2) as box, box.session() as session:
        session.run("x = 1")
        copies = [session.fork() for _ in range(3)]
        assert {copy._container for copy in copies} == {session._container}
        session.close()
        assert [copy.run("x").value for copy in copies] == ["1"] * 3
        with contextlib.suppress(SandboxError):
            copies[0]._container.close()
        for copy in copies:
            lost = copy.run("1")
            assert (lost.value, lost.state_lost) == ("1", True)


def test_sessions_that_nobody_holds_any_more_end_in_the_container_too(engine: Running) -> None:
    with DockerBox(image=IMAGE, max_sessions=2) as box:
        for number in range(8):
            assert box.session().run(f"{number} + 1").value == str(number + 1)
        (container,) = box._containers
        box._sessions.end_forsaken()
        assert container.sessions == 0


def test_all_of_a_boxs_sessions_may_be_copies_of_one(engine: Running) -> None:
    with DockerBox(image=IMAGE, max_sessions=100) as box, contextlib.ExitStack() as opened:
        session = opened.enter_context(box.session())
        session.run("x = [0]")
        copies = [opened.enter_context(session.fork()) for _ in range(99)]
        assert {copy.run(f"x.append({n}); x[-1] - {n} + len(x)").value for n, copy in enumerate(copies)} == {"2"}
        assert session.run("x").value == "[0]"


def test_a_refusal_is_the_interpreters_own(box: DockerBox) -> None:
    with box.session() as session:
        session.run(
            "import threading\nwait = threading.Event()\nthread = threading.Thread(target=wait.wait)\nthread.start()"
        )
        with pytest.raises(ForkError, match="cannot be copied: the program holds threads; replay"):
            session.fork()
        session.run("wait.set()\nthread.join()")
        with session.fork() as copy:
            assert copy.run("wait.is_set()").value == "True"


def test_an_episode_whose_interpreter_is_in_a_container_forks(engine: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.ExitStack() as opened:

        @functools.cache
        def shared(backend: str, **options: object) -> sandbox.Box:
            return opened.enter_context(sandbox.open(backend, image=IMAGE, **options))

        monkeypatch.setattr(sandbox, "shared", shared)
        env = gymnasium.make("toolenvs/ReTool-v0", session="stateful", backend="docker").unwrapped
        env.reset(seed=0)
        env.step("<code>x = [1]</code>")
        branches = env.fork(2)
        for number, branch in enumerate(branches):
            text, *_, info = branch.step(f"<code>x.append({number + 7}); print(x)</code>")
            assert (info["calls"][0].status, f"[1, {number + 7}]" in text) == ("ok", True)
            branch.close()
        assert "[1]" in env.step("<code>print(x)</code>")[0]
        env.close()
