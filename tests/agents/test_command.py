"""Commands that act: every way to misbehave, and that nothing is left of them."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toolenvs
from toolenvs.agents import command as commands
from toolenvs.agents.command import Command
from toolenvs.agents.guarded import Guarded
from toolenvs.errors import ConfigError
from toolenvs.rollout import Trajectory, collect

_LOOP = """
import json, os, sys, time
def tell(answer):
    print(json.dumps(answer), flush=True)
for number, line in enumerate(sys.stdin):
    asked = json.loads(line)
    {body}
"""


@pytest.fixture
def agent(tmp_path: Path) -> Any:
    """`agent(body)`: the command line of a program that runs `body` for each line."""

    def write(body: str, *, loop: bool = True) -> str:
        file = tmp_path / "an agent.py"
        indented = body.strip().replace("\n", "\n    ")
        file.write_text(_LOOP.format(body=indented) if loop else body, "utf-8")
        return f"{sys.executable} '{file}'"

    return write


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    for pid in children:
        with contextlib.suppress(OSError):  # it has just ended
            assert b"an agent.py" not in Path(f"/proc/{pid}/cmdline").read_bytes()


async def _play(
    line: str, *, tasks: int = 1, timeout_s: float = 60.0, retries: int = 0, shown: list[str] | None = None
) -> list[Trajectory]:
    blueprint = toolenvs.load("ReTool-v0")
    command = Command(line, timeout_s=timeout_s, show=(shown if shown is not None else []).append)
    try:
        chosen = [blueprint.tasks[index] for index in range(tasks)]
        return await collect(blueprint, Guarded(command.within(blueprint)), chosen, retries=retries)
    finally:
        await command.close()


async def test_a_command_acts_turn_by_turn(agent: Any) -> None:
    line = agent(
        """
if asked["turn"] == 1:
    tell({"text": "<code>print(6 * 7)</code>", "prompt_tokens": 10, "completion_tokens": 3, "turn": 1})
else:
    assert asked["messages"][-1]["role"] == "assistant" and "42" in asked["text"]
    tell({"text": "\\\\boxed{%s}" % asked["last_result"], "prompt_tokens": 20, "completion_tokens": 4})
"""
    )
    for trajectory in await _play(line, tasks=3):
        assert (trajectory.ending, trajectory.calls[0].result) == ("answer", "42")
        assert (trajectory.prompt_tokens, trajectory.completion_tokens) == (30, 7)
        assert len(trajectory.agent_seconds) == 2


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("print('thinking...', flush=True)", "its line is no JSON: 'thinking...'; logs belong on standard error"),
        ("print('[' * 100_000, flush=True)", "its line is no JSON"),
        ("tell(['text'])", "its line is no JSON object"),
        ("tell({'answer': 'x'})", 'its line has no "text": {"answer": "x"}'),
        ("tell({'text': 7})", "it gave int, not a str"),
        ("tell({'text': 'x' * (1 << 20) + 'x'})", "it wrote 1,048,577 characters in one turn"),
        ("tell({'text': 'x', 'episode': 'another'})", "it answered episode 'another', and was asked for '0.0'"),
        ("raise KeyError('a bug')", "it ended with code 1; its last words: Traceback (most recent call last)"),
        ("sys.exit(0)", "it ended with code 0"),
        ("os.abort()", "it was ended by SIGABRT"),
        ("sys.stdout.close(); os.close(1); time.sleep(60)", "it closed its output and went on"),
    ],
)
async def test_its_own_failures(agent: Any, body: str, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "_LAST_WORDS_S", 1.0 if "sleep" in body else 30.0)
    (trajectory,) = await _play(agent(body))
    assert (trajectory.ending, trajectory.success) == ("agent", 0.0)
    assert trajectory.fault is not None
    assert trajectory.fault.startswith(fault) or fault in trajectory.fault


async def test_a_line_without_end_is_cut_off(agent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "MAX_LINE_BYTES", 1 << 20)
    (trajectory,) = await _play(agent("while True: sys.stdout.write('x' * 65536)"))
    assert (trajectory.ending, trajectory.fault) == ("agent", "it wrote a line of more than 1,048,576 bytes")


async def test_a_command_that_hangs_is_killed_and_another_goes_on(agent: Any, tmp_path: Path) -> None:
    hung = tmp_path / "hung"
    line = agent(
        f"""
if asked["task"].endswith("/1"):
    child = os.fork()
    if child: open({str(hung)!r}, "w").write(str(child))
    time.sleep(1000)
tell({{"text": "\\\\boxed{{1}}"}})
"""
    )
    blueprint = toolenvs.load("ReTool-v0")
    command = Command(line)
    (child,) = command._children
    told = []
    try:
        for number, timeout_s in enumerate((60.0, 1.0, 60.0)):  # it runs by the time that it hangs
            child._timeout_s = timeout_s
            told += await collect(blueprint, Guarded(command.within(blueprint)), [blueprint.tasks[number]], retries=0)
    finally:
        await command.close()
    assert [trajectory.ending for trajectory in told] == ["answer", "agent", "answer"]
    assert told[1].fault == "it gave no line within 1 s"
    if hung.exists() and hung.read_text():  # what it started goes with it
        started = Path("/proc") / hung.read_text() / "stat"
        while started.exists() and started.read_text().rpartition(")")[2].split()[0] != "Z":
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
async def test_one_that_is_killed_from_outside_is_infrastructure(agent: Any, name: str) -> None:
    line = agent(f"import signal; os.kill(os.getpid(), signal.{name})")
    (trajectory,) = await _play(line)
    assert (trajectory.ending, trajectory.fault) == ("infrastructure", f"the agent was killed from outside by {name}")


async def test_it_may_say_that_it_is_not_to_blame(agent: Any) -> None:
    shown: list[str] = []
    line = agent(
        """
for part in ("ask", "ing\\n"): sys.stderr.write(part); sys.stderr.flush(); time.sleep(0.02)
tell({"infrastructure": "rate limited"} if number == 0 else {"text": "\\\\boxed{1}"})
"""
    )
    (trajectory,) = await _play(line)
    assert (trajectory.ending, trajectory.fault) == ("infrastructure", "the agent says: rate limited")
    (trajectory,) = await _play(line, retries=1, shown=shown)
    assert trajectory.ending == "answer", "the same process is asked again"
    assert shown == ["asking", "asking"]


async def test_a_process_may_end_behind_each_answer(agent: Any) -> None:
    line = agent("tell({'text': '<code>print(1)</code>' if asked['turn'] < 4 else '\\\\boxed{1}'}); sys.exit(0)")
    (trajectory,) = await _play(line)
    assert (trajectory.ending, len(trajectory.calls)) == ("answer", 3)


async def test_a_line_that_nobody_asked_for_is_found(agent: Any, tmp_path: Path) -> None:
    line = agent(
        """
tell({"text": "<code>print(1)</code>"})
tell({"text": "<code>print(2)</code>"})
"""
    )
    (trajectory,) = await _play(line)
    assert trajectory.ending == "agent"
    assert (trajectory.fault or "").startswith("it wrote a line that nobody asked for")


async def test_standard_error_is_shown_to_a_bound(agent: Any) -> None:
    shown: list[str] = []
    body = """
for _ in range(40): sys.stderr.write("e" * 9999 + "\\n")
sys.stderr.flush()
tell({"text": "\\\\boxed{1}"})
"""
    (trajectory,) = await _play(agent(body), shown=shown)
    assert trajectory.ending == "answer"
    assert "(the agent writes more than is shown)" in shown
    assert sum(map(len, shown)) < 3 * commands._SHOWN_BYTES


async def test_processes_share_the_episodes_and_keep_each_ones_turns(agent: Any) -> None:
    line = agent(
        """
seen = globals().setdefault("seen", {})
turns = seen.setdefault(asked["episode"], [])
turns.append(asked["turn"])
text = "<code>print(%d)</code>" % os.getpid() if asked["turn"] < 3 else "\\\\boxed{1}"
tell({"text": text if turns == list(range(1, asked["turn"] + 1)) else "lost"})
"""
    )
    blueprint = toolenvs.load("ReTool-v0")
    command = Command(line, processes=2)
    try:
        tasks = [blueprint.tasks[index] for index in range(6)]
        trajectories = await collect(blueprint, Guarded(command.within(blueprint)), tasks)
    finally:
        await command.close()
    assert [t.ending for t in trajectories] == ["answer"] * 6
    pids = [{call.result for call in t.calls} for t in trajectories]
    assert all(len(each) == 1 for each in pids), "an episode stays with its process"
    assert len(set.union(*pids)) == 2


async def test_an_evaluation_that_is_given_up_leaves_no_process(agent: Any, tmp_path: Path) -> None:
    started = tmp_path / "started"
    job = asyncio.ensure_future(_play(agent(f"open({str(started)!r}, 'w').write(str(os.getpid())); time.sleep(1000)")))
    while not (started.exists() and started.read_text()):
        await asyncio.sleep(0.01)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


async def test_a_machine_that_cannot_start_a_process_is_infrastructure(
    agent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none(*_: Any, **__: Any) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", none)
    (trajectory,) = await _play(agent("tell({'text': 'x'})"))
    assert trajectory.ending == "infrastructure"
    assert "no process can be started for the agent" in (trajectory.fault or "")


@pytest.mark.parametrize("line", ["", "no-such-program --flag", "'an open quote"])
def test_what_is_no_command(line: str) -> None:
    with pytest.raises(ConfigError, match="the command"):
        Command(line)


def test_no_process_at_all() -> None:
    with pytest.raises(ConfigError, match="processes = 0: give at least 1"):
        Command("cat", processes=0)


async def test_lines_are_plain_json(agent: Any, tmp_path: Path) -> None:
    kept = tmp_path / "line"
    await _play(agent(f"open({str(kept)!r}, 'w').write(line); tell({{'text': ''}})"))
    asked = json.loads(kept.read_text())
    assert asked["env"] == "ReTool-v0"
    assert set(asked) == {
        "episode", "env", "task", "turn", "text", "messages", "stop", "tools", "last_result", "reading",
        "max_new_tokens", "seed",
    }  # fmt: skip


async def test_counts_beyond_belief_are_none(agent: Any) -> None:
    line = agent('tell({"text": "\\\\boxed{1}", "prompt_tokens": 10**400, "completion_tokens": -1})')
    (trajectory,) = await _play(line)
    assert (trajectory.prompt_tokens, trajectory.completion_tokens) == (None, None)


async def test_what_it_says_of_infrastructure_can_be_written_anywhere(agent: Any) -> None:
    (trajectory,) = await _play(agent('tell({"infrastructure": chr(0xD800) + "down"})'))
    assert (trajectory.ending, trajectory.fault) == ("infrastructure", "the agent says: ?down")
