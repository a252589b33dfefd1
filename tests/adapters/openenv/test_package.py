"""Both directions against the package openenv itself, which lives in an environment of its own."""

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import toolenvs
from toolenvs import loop
from toolenvs.adapters.openenv import Remote
from toolenvs.agents.scripted import FromFunction
from toolenvs.errors import InfrastructureError
from toolenvs.rollout import collect

HERE = Path(__file__).parent
pytestmark = pytest.mark.openenv


@pytest.fixture(scope="session")
def python() -> str:
    """The interpreter of that environment."""
    found = os.environ.get("TOOLENVS_OPENENV_PYTHON", "")
    assert found, "TOOLENVS_OPENENV_PYTHON names no interpreter: run make test-openenv"
    return found


@contextlib.contextmanager
def served(python: str) -> Iterator[str]:
    process = subprocess.Popen([python, str(HERE / "server.py")], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port, "the server did not start"
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)
        assert process.stdout is not None
        process.stdout.close()


def test_its_client_acts_in_our_pages(python: str, openenv_url: str) -> None:
    task = toolenvs.load("Sokoban-v0").task(gymnasium.make("toolenvs/Sokoban-v0").reset(seed=7)[1]["task"])
    turns = ["hm", *(f"so</think><answer>{call['actions']}</answer>" for call in task.extra["calls"])]
    told = subprocess.run(
        [python, str(HERE / "client.py"), openenv_url, json.dumps(turns)], capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    begun, *steps, state, error, again = json.loads(told.stdout)["told"]
    env = gymnasium.make("toolenvs/Sokoban-v0")
    text, _ = env.reset(seed=7)
    assert begun["observation"]["text"] == again["again"] == text
    for turn, seen in zip(turns, steps, strict=True):
        text, reward, terminated, truncated, info = env.step(turn)
        assert (seen["observation"]["text"], seen["reward"], seen["done"]) == (text, reward, terminated or truncated)
    assert seen["observation"]["success"] == info["success"] == 1.0
    assert state["state"]["step_count"] == len(turns)
    assert state["state"]["episode_id"] == "e-1"
    assert "VALIDATION_ERROR" in error["error"]


def test_its_servers_are_environments(python: str) -> None:
    with served(python) as url:
        env = Remote(url, action="by", observation="line")
        assert env.reset(seed=2)[0] == "0 of 5"
        assert env.step("3") == ("3 of 5", 0.0, False, False, {"line": "3 of 5", "reached": False})
        assert env.step("2") == ("5 of 5", 1.0, True, False, {"line": "5 of 5", "reached": True})
        assert env.reset(options={"goal": 9})[0] == "0 of 9"
        with pytest.raises(InfrastructureError, match="EXECUTION_ERROR"):
            env.step("many")
        env.close()
        env = Remote(url, observation="line")
        env.reset(seed=2)
        with pytest.raises(gymnasium.error.InvalidAction, match="does not take this action"):
            env.step('{"times": "2"}')
        assert env.step('{"by": "1"}')[0] == "1 of 5"
        env.close()


def test_a_page_acts_in_them(python: str) -> None:
    with served(python) as url:
        kwargs: dict[str, Any] = {"url": url, "action": "by", "observation": "line"}
        tool = {
            "env": "toolenvs.adapters.openenv:Remote",
            "kwargs": kwargs,
            "render": "observation",
            "success": "reached",
        }
        blueprint = toolenvs.load(
            "FrozenLake-v0", user="{question}", tasks={"set": "gym"}, tools={"gym": {**tool, "threaded": True}}
        )
        agent = FromFunction(lambda request: "so</think><answer>1 || 1</answer>")
        episodes = loop.run(collect(blueprint, agent, [blueprint.tasks[index] for index in range(8)], concurrency=4))
        assert {episode.ending for episode in episodes} == {"done"}
        assert {(episode.success, episode.reward) for episode in episodes} == {(1.0, 1.0)}
