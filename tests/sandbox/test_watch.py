"""Sessions in event loops: what is registered once stays right from run to run, from loop to loop, and past a fork."""

import asyncio
import os
import time

import pytest

from toolenvs.sandbox.local import LocalBox, LocalSession
from toolenvs.sandbox.watch import Watch


async def _count(session: LocalSession, runs: int = 5) -> list[str]:
    return [(await session.arun("x += 1\nprint(x)")).stdout for _ in range(runs)]


def test_a_session_goes_from_loop_to_loop_and_to_threads(box: LocalBox) -> None:
    with box.session() as session:
        session.run("x = 0")
        assert asyncio.run(_count(session)) == ["1\n", "2\n", "3\n", "4\n", "5\n"]
        assert session.run("x += 1\nprint(x)").stdout == "6\n"
        assert asyncio.run(_count(session))[-1] == "11\n"


async def test_many_sessions_share_a_loop(box: LocalBox) -> None:
    sessions = [await box.asession() for _ in range(12)]
    await asyncio.gather(*(session.arun("x = 0") for session in sessions))
    counted = await asyncio.gather(*map(_count, sessions))
    assert counted == [["1\n", "2\n", "3\n", "4\n", "5\n"]] * 12
    for session in sessions:
        session.close()


async def test_an_interpreter_that_ends_or_writes_unasked_keeps_no_loop_busy(box: LocalBox) -> None:
    quiet, restless, other = [await box.asession() for _ in range(3)]
    await restless.arun(
        "import threading, time, os\n"
        "def f():\n  time.sleep(0.05)\n  os.write(1, b'z' * 100)\n"
        "threading.Thread(target=f, daemon=True).start()"
    )
    await quiet.arun("import threading, time, os\nthreading.Timer(0.05, os._exit, [0]).start()")
    await other.arun("x = 0")
    ended, written = quiet._cell, restless._cell
    assert ended is not None
    assert written is not None
    spent_s = time.process_time()
    while ended.alive or not written.streams.poll(0):  # on a busy machine their threads come late
        await other.arun("import time\ntime.sleep(0.05)")
    await other.arun("import time\ntime.sleep(0.5)")  # the loop waits for this one, the two others are ready meanwhile
    assert time.process_time() - spent_s < 0.25
    assert (await restless.arun("print(1)")).stdout == "z" * 100 + "1\n"
    assert (await quiet.arun("print(2)")).status == "crashed"
    assert (await quiet.arun("print(2)")).stdout == "2\n"
    for session in (quiet, restless, other):
        session.close()


async def test_timeouts_of_many_in_one_loop(box: LocalBox) -> None:
    sessions = [await box.asession() for _ in range(4)]
    results = await asyncio.gather(
        *(session.arun("while True: pass", timeout_s=0.1 * (4 - n)) for n, session in enumerate(sessions)),
        box.arun("import time\ntime.sleep(0.2)\nprint('late')"),
    )
    assert [result.status for result in results] == ["timeout"] * 4 + ["ok"]
    for session in sessions:
        session.close()


async def test_a_program_that_reads_slowly_is_sent_all_of_it(box: LocalBox) -> None:
    async with await box.asession() as session:
        await session.arun("1")
        text = "# " + "y" * 1_500_000
        assert (await session.arun(f"{text}\nprint(len({'z' * 1000!r}))")).stdout == "1000\n"


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_host_leaves_the_parents_registrations(box: LocalBox) -> None:
    with box.session() as session:
        session.run("x = 0")

        async def go() -> list[str]:
            first = await _count(session, 1)
            child = os.fork()
            if child == 0:
                session.close()
                os._exit(0)
            os.waitpid(child, 0)
            return first + await _count(session, 2)

        assert asyncio.run(go()) == ["1\n", "2\n", "3\n"]


def test_a_loop_that_notices_late_leaves_what_another_loop_has_taken_over(box: LocalBox) -> None:
    with box.session() as session:
        asyncio.run(session.arun("x = 0"))
        cell = session._cell
        assert cell is not None
        before = cell.watch
        assert before is not None
        stubborn = "while True:\n    try:\n        n = list(range(9))\n    except KeyboardInterrupt: pass"

        async def go() -> str:
            running = asyncio.ensure_future(session.arun(stubborn, timeout_s=0.3))
            await asyncio.sleep(0.1)
            before.leave(cell)
            return (await asyncio.wait_for(running, 20)).status

        assert asyncio.run(go()) == "timeout"
        assert asyncio.run(session.arun("x = 1\nx")).value == "1"


@pytest.mark.parametrize("timeout_s", [1e12, float("inf")])
def test_a_run_may_take_for_ever(box: LocalBox, timeout_s: float) -> None:
    assert box.run("1 + 1", timeout_s=timeout_s).value == "2"
    assert asyncio.run(box.arun("1 + 1", timeout_s=timeout_s)).value == "2"


def test_programs_of_a_loop_that_was_closed_over_them_leave_room_for_others() -> None:
    with LocalBox(max_running=2, max_sessions=1) as box:

        async def stay() -> None:
            async with await box.asession() as session:
                await session.arun("while True: pass", timeout_s=600)

        async def begin() -> list[asyncio.Task[object]]:
            tasks: list[asyncio.Task[object]] = [asyncio.create_task(stay())]
            tasks += [asyncio.create_task(box.arun("while True: pass", timeout_s=600)) for _ in range(3)]
            while box._running._free or box._sessions._free or len(Watch.of_running_loop()._running) < 3:
                await asyncio.sleep(0.001)
            return tasks

        loop = asyncio.new_event_loop()
        tasks = loop.run_until_complete(begin())
        loop.close()
        assert box.run("1").value == "1"
        with box.session() as session:
            assert session.run("2").value == "2"
        for task in tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
