"""Answers get lost, servers die and come back: nothing is done twice, and nothing is the policy's failure."""

import asyncio
import socket
import time
from typing import Any

import gymnasium as gym
import pytest

import toolenvs
from toolenvs import remote
from toolenvs.agents.scripted import FromFunction
from toolenvs.errors import InfrastructureError, TaskError
from toolenvs.remote import link as links
from toolenvs.remote.transports import Transport
from toolenvs.retrieval.http.connections import TransportFault
from toolenvs.rollout import collect

CODE = "<code>\n```python\n{}\n```\n</code>"
COUNT = CODE.format("n = globals().get('n', 0) + 1\nprint('count', n)")
STATEFUL = {"tools.python.session": "stateful"}
ALLOW = ("tools.python.session", "budget.*")


class Lossy(Transport):
    """Carries every question to the server, and loses the first answers to each."""

    def __init__(self, inner: Transport, lost: int) -> None:
        self.inner, self.lost = inner, lost
        self.asked: dict[str, int] = {}

    async def send(self, operation: str, session: str, body: dict[str, Any]) -> Any:
        what = f"{operation} {session} {body.get('number')} {body.get('copy')}"
        self.asked[what] = self.asked.get(what, 0) + 1
        answer = await self.inner.send(operation, session, body)
        if self.asked[what] <= self.lost:
            raise TransportFault("lost on the way back")
        return answer


@pytest.fixture
def lossy(transport: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make the link of a server lose answers."""

    def make(url: str, lost: int) -> Lossy:
        link = links.shared(url, transport=transport)
        broken = Lossy(link._transport, lost)
        monkeypatch.setattr(link, "_transport", broken)
        return broken

    return make


def test_a_turn_whose_answer_was_lost_is_not_taken_twice(serve: Any, lossy: Any, transport: str) -> None:
    with serve(allow=ALLOW) as served:
        env = toolenvs.connect(served.url, "ReTool-v0", transport=transport, **STATEFUL)
        broken = lossy(served.url, 2)
        env.reset(seed=0)
        for count in (1, 2, 3):
            assert f"\ncount {count}<" in env.step(COUNT)[0]
        (copy,) = env.fork()
        assert "\ncount 4<" in copy.step(COUNT)[0]
        assert "\ncount 4<" in env.step(COUNT)[0]
        assert served.metric("turns_total") == 5
        assert served.sessions == 2
        assert max(broken.asked.values()) == 3
        broken.lost = 0
        env.close()
        copy.close()
        assert served.sessions == 0


def test_a_turn_that_goes_on_for_long_is_asked_for_again(serve: Any, transport: str) -> None:
    with serve(hold_s=0.1) as served:
        env = toolenvs.connect(served.url, "ReTool-v0", transport=transport, deadline_s=3.0)
        env.reset(seed=0)
        assert "slept" in env.step(CODE.format("import time; time.sleep(0.5); print('slept')"))[0]
        assert served.metric("turns_total") == 1
        env.close()


def test_a_server_that_died_ends_the_episode_as_infrastructure(serve: Any, transport: str) -> None:
    with serve() as served:
        env = toolenvs.connect(served.url, "ReTool-v0", transport=transport, deadline_s=0.5)
        env.reset(seed=0)
        env.step(CODE.format("print(1)"))
        served.stop()
        text, reward, terminated, truncated, info = env.step(CODE.format("print(2)"))
        assert (text, reward, terminated, truncated, info["ending"]) == ("", 0.0, False, True, "infrastructure")
        assert "in vain" in info["fault"]
        assert info["success"] is None
        assert info["transcript"].policy_text().endswith(CODE.format("print(2)"))
        with pytest.raises(TaskError, match="has ended"):
            env.step("")
        text, info = env.reset(seed=1)  # it is still dead
        assert (text, info["ending"]) == ("", None)
        (copy,) = env.fork()
        for lost in (env, copy):
            assert lost.step("anything")[1:4] == (0.0, False, True)
            with pytest.raises(TaskError, match="has ended"):
                lost.step("")
        served.start()
        assert env.reset(seed=1)[0]
        assert "3" in env.step(CODE.format("print(3)"))[0]
        env.close()


def test_a_server_that_came_back_knows_the_session_no_more(serve: Any, transport: str) -> None:
    with serve() as served:
        env = toolenvs.connect(served.url, "ReTool-v0", transport=transport, deadline_s=20.0)
        env.reset(seed=0)
        served.stop()
        served.start()
        assert env.step(CODE.format("print(1)"))[4]["ending"] == "infrastructure"
        env.reset(seed=0)
        served.stop()
        served.start()
        with pytest.raises(InfrastructureError, match="no such session"):
            env.fork()
        env.close()


def test_a_vector_outlives_its_server(serve: Any) -> None:
    with serve() as served:
        vector = gym.make_vec(
            "toolenvs/Remote-v0", num_envs=2, vectorization_mode="vector_entry_point",
            url=served.url, page="ReTool-v0", deadline_s=0.3,
        )  # fmt: skip
        vector.reset(seed=0)
        served.stop()
        _, rewards, _, truncations, infos = vector.step([COUNT] * 2)
        assert (rewards.tolist(), truncations.tolist()) == ([0.0, 0.0], [True, True])
        assert infos["ending"].tolist() == ["infrastructure"] * 2
        assert vector.step([COUNT] * 2)[0] == ("", "")  # a reset that finds nobody
        served.start()
        assert vector.step([COUNT] * 2)[3].tolist() == [True, True]
        assert all(vector.step([COUNT] * 2)[0])
        vector.close()


async def test_rollouts_fail_one_by_one_and_go_on_when_it_is_back(serve: Any) -> None:
    with serve() as served:
        far = remote.load(served.url, "ReTool-v0", deadline_s=0.3)
        tasks = [far.tasks[i] for i in range(4)]
        agent = FromFunction(lambda request: COUNT if request.turn == 1 else "<answer>\\boxed{1}</answer>")
        served.stop()
        failed = await collect(far, agent, tasks, retries=0)
        assert [trajectory.ending for trajectory in failed] == ["infrastructure"] * 4
        assert all(trajectory.failed and trajectory.fault for trajectory in failed)
        served.start()
        assert [trajectory.ending for trajectory in await collect(far, agent, tasks)] == ["answer"] * 4
        assert served.sessions == 0


async def test_a_turn_that_is_cancelled_ends_its_episode(served: Any) -> None:
    far = remote.load(served.url, "ReTool-v0")
    before = served.sessions
    episode = await far.begin(0, seed=0, progress=0.0)
    turn = asyncio.create_task(episode.step(CODE.format("import time; time.sleep(30)")))
    while served.metric("running") == 0:
        await asyncio.sleep(0.01)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert episode.ending == "infrastructure"
    while served.sessions > before:
        await asyncio.sleep(0.01)
    while served.metric("running") > 0:
        await asyncio.sleep(0.01)


def test_a_server_that_answers_with_something_else_is_infrastructure(
    monkeypatch: pytest.MonkeyPatch, served: Any
) -> None:
    env = toolenvs.connect(served.url, "ReTool-v0")
    link = env.blueprint.link
    env.reset(seed=0)
    for nonsense in ({}, {"turn": {}, "state": {}}, {"turn": [], "state": None}):

        async def answered(*_: Any, told: Any = nonsense, **__: Any) -> Any:
            return told

        with monkeypatch.context() as patch:
            patch.setattr(link, "aask", answered)
            assert "something else" in str(env.step(COUNT)[4]["fault"])
        env.reset(seed=0)
    env.close()


@pytest.mark.parametrize("told", [{}, {"tasks": None}, {"tasks": []}, {"tasks": [{}]}, {"tasks": [None] * 64}])
def test_tasks_that_are_none_are_infrastructure(monkeypatch: pytest.MonkeyPatch, served: Any, told: Any) -> None:
    blueprint = remote.load(served.url, "ReTool-v0")
    monkeypatch.setattr(blueprint.link, "ask", lambda *_: told)
    for look in (lambda: blueprint.tasks[0], lambda: blueprint.tasks.find("x"), lambda: list(blueprint.tasks)):
        with pytest.raises(InfrastructureError, match="answered with something else"):
            look()


def test_a_port_that_speaks_something_else_is_infrastructure(transport: str) -> None:
    import threading

    listener = socket.create_server(("127.0.0.1", 0))

    def greet() -> None:
        while True:
            try:
                connection = listener.accept()[0]
            except OSError:
                return
            connection.recv(1000)
            connection.sendall(b"SSH-2.0-no\r\n")
            connection.close()

    thread = threading.Thread(target=greet)
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(InfrastructureError, match="in vain"):
        toolenvs.connect(url, "ReTool-v0", transport=transport, deadline_s=0.2)
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


def test_a_client_that_is_gone_is_cleaned_up_after_and_one_that_waits_is_not(serve: Any) -> None:
    with serve(lease_s=3.0) as served:
        kept, gone = toolenvs.connect(served.url, "ReTool-v0"), toolenvs.connect(served.url, "ReTool-v0")
        for env in (kept, gone):
            env.reset(seed=0)
        link = links.shared(served.url)
        link._kept.pop(gone.episode.key)  # as if its process were dead
        while served.metric("sessions_expired") < 1:
            assert served.sessions >= 1
            time.sleep(0.05)
        assert served.sessions == 1
        assert gone.step("")[4]["ending"] == "infrastructure"
        assert "3" in kept.step(CODE.format("print(3)"))[0]
        kept.close()
        gone.close()


def test_heartbeats_go_on_whatever_happens_to_one(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(lease_s=3.0) as served:
        env = toolenvs.connect(served.url, "ReTool-v0")
        link = links.shared(served.url)
        send, beats = link._transport.send, list[int]()

        async def stumbling(operation: str, session: str, body: dict[str, Any]) -> Any:
            if operation == "heartbeat":
                beats.append(len(body["sessions"]))
                if len(beats) == 1:
                    raise RuntimeError("stumbled")
            return await send(operation, session, body)

        monkeypatch.setattr(link._transport, "send", stumbling)
        env.reset(seed=0)
        while len(beats) < 5:
            assert served.sessions == 1
            time.sleep(0.05)
        assert beats == [1] * len(beats)
        env.close()
        assert link._sessions() == []


def test_an_environment_that_nobody_holds_any_more_is_let_go(serve: Any) -> None:
    import gc

    with serve(lease_s=0.4) as served:
        env = toolenvs.connect(served.url, "ReTool-v0")
        env.reset(seed=0)
        del env
        gc.collect()
        while served.sessions:
            time.sleep(0.05)
        assert served.metric("sessions_expired") == 1


def test_a_turn_that_takes_too_long_ends_as_infrastructure(serve: Any) -> None:
    with serve(step_s=0.3) as served:
        env = toolenvs.connect(served.url, "ReTool-v0")
        env.reset(seed=0)
        info = env.step(CODE.format("import time; time.sleep(60)"))[4]
        assert (info["ending"], info["fault"]) == ("infrastructure", "the turn took longer than 0.3 s")
        env.close()
