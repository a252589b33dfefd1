"""OpenEnv's interface, both sides of it, over loopback; `openenv/` holds them against the package itself."""

import contextlib
import copy
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import httpx
import pytest
from gymnasium.utils.env_checker import check_env
from websockets.sync.client import ClientConnection, connect
from websockets.sync.server import serve as serve_sockets

import toolenvs
from tests.serve.serving import in_thread
from toolenvs import loop
from toolenvs.adapters.openenv import MAX_MESSAGE_BYTES, Remote, application
from toolenvs.agents.scripted import FromFunction
from toolenvs.errors import ConfigError, InfrastructureError, PageError
from toolenvs.rollout import collect
from toolenvs.serve import run

Message = dict[str, Any]


@contextlib.contextmanager
def serving(page: str = "Sokoban-v0", **options: Any) -> Iterator[str]:
    listener = run.bind("127.0.0.1", 0)
    told = application(page, **options)
    with in_thread(run.config(told, head_s=5, grace_s=1, quick=True, max_message_bytes=MAX_MESSAGE_BYTES), listener):
        yield run.url(listener)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(max_sessions=3) as address:
        yield address


@contextlib.contextmanager
def socket(url: str) -> Iterator[Callable[..., Message]]:
    """`ask(type, data)`, or `ask(raw=text)`."""
    with connect(url.replace("http", "ws") + "/ws", proxy=None) as connection:

        def ask(kind: str = "", data: Any = None, raw: str | bytes | None = None) -> Message:
            message = {"type": kind} if data is None else {"type": kind, "data": data}
            connection.send(json.dumps(message) if raw is None else raw)
            told: Message = json.loads(connection.recv(timeout=60))
            return told

        yield ask
        assert isinstance(connection, ClientConnection)


def acts(*actions: str) -> str:
    return f"so</think><answer>{' || '.join(actions)}</answer>"


def test_an_episode_is_that_of_the_page(url: str) -> None:
    env = gymnasium.make("toolenvs/Sokoban-v0")
    text, info = env.reset(seed=7)
    with socket(url) as ask:
        told = ask("reset", {"seed": 7, "episode_id": "e-1"})
        assert told["type"] == "observation"
        data = told["data"]
        assert (data["reward"], data["done"]) == (None, False)
        assert data["observation"]["text"] == text
        assert data["observation"]["task"] == info["task"]
        assert data["observation"]["messages"] == info["messages"]
        assert ask("state") == {
            "type": "state",
            "data": {"episode_id": "e-1", "step_count": 0, "page": "Sokoban-v0", "task": info["task"]},
        }
        task = toolenvs.load("Sokoban-v0").task(info["task"])
        turns = ["hm", *(acts(call["actions"]) for call in task.extra["calls"])]
        for number, turn in enumerate(turns, start=1):
            text, reward, terminated, truncated, info = env.step(turn)
            data = ask("step", {"message": turn})["data"]
            assert (data["reward"], data["done"]) == (reward, terminated or truncated)
            seen = data["observation"]
            assert (seen["text"], seen["truncated"], seen["ending"]) == (text, truncated, info["ending"])
            assert seen["reward_terms"] == info["reward_terms"]
            assert ask("state")["data"]["step_count"] == number
        assert (data["done"], seen["success"], seen["ending"]) == (True, 1.0, "done")
        over = ask("step", {"message": "more"})
        assert over["data"]["code"] == "VALIDATION_ERROR"
        assert ask("reset", {})["data"]["done"] is False
    env.close()


@pytest.mark.parametrize(
    ("sent", "code", "told"),
    [
        ({"raw": "{"}, "INVALID_JSON", "no JSON"),
        ({"raw": b"\xff\x00"}, "INVALID_JSON", "no JSON"),
        ({"raw": "[" * 100_000}, "INVALID_JSON", "nested too deeply"),
        ({"raw": "[]"}, "VALIDATION_ERROR", "an object"),
        ({"kind": "fly"}, "UNKNOWN_TYPE", "no message of type 'fly'"),
        ({"kind": "step", "data": {"message": "a"}}, "VALIDATION_ERROR", "send reset before step"),
        ({"kind": "step", "data": {"message": 3}}, "VALIDATION_ERROR", '"message"'),
        ({"kind": "step", "data": {"message": "a", "speed": 1}}, "VALIDATION_ERROR", '"message"'),
        ({"kind": "step", "data": []}, "VALIDATION_ERROR", "must be an object"),
        ({"kind": "reset", "data": {"seed": -1}}, "VALIDATION_ERROR", "seed"),
        ({"kind": "reset", "data": {"seed": True}}, "VALIDATION_ERROR", "seed"),
        ({"kind": "reset", "data": {"episode_id": 3}}, "VALIDATION_ERROR", "episode_id"),
        ({"kind": "reset", "data": {"task": "none"}}, "VALIDATION_ERROR", "no task is called 'none'"),
    ],
)
def test_what_is_wrong_is_answered_and_the_session_goes_on(url: str, sent: Message, code: str, told: str) -> None:
    with socket(url) as ask:
        answer = ask(**sent)
        assert (answer["type"], answer["data"]["code"]) == ("error", code)
        assert told in answer["data"]["message"]
        assert ask("reset", {"seed": 1, "unheard_of": 2})["type"] == "observation"


def test_prefixes_and_lone_surrogates_pass(url: str) -> None:
    with socket(url) as ask:
        told = ask("reset", {"seed": 1, "prefix": ["hm"]})
        assert "Nothing was done" in told["data"]["observation"]["text"]
        assert ask("step", {"message": "\ud800\0漢😀"})["data"]["reward"] == -0.1


def test_a_server_that_is_full_says_so_and_has_room_again(url: str) -> None:
    with contextlib.ExitStack() as stack:
        asks = [stack.enter_context(socket(url)) for _ in range(3)]
        assert [ask("reset", {})["type"] for ask in asks] == ["observation"] * 3
        with connect(url.replace("http", "ws") + "/ws", proxy=None) as fourth:
            told = json.loads(fourth.recv(timeout=60))
            assert (told["type"], told["data"]["code"], told["data"]["max_sessions"]) == (
                "error",
                "CAPACITY_REACHED",
                3,
            )
        assert httpx.post(url + "/reset", json={}, trust_env=False).status_code == 503
    for _ in range(3_000):  # those that went are noticed in their own time
        if httpx.post(url + "/reset", json={}, trust_env=False).status_code == 200:
            break
        threading.Event().wait(0.02)
    with socket(url) as ask:
        assert ask("reset", {})["type"] == "observation"


def test_web_pages_are_not_let_in(url: str) -> None:
    with pytest.raises(Exception, match="403"):
        connect(url.replace("http", "ws") + "/ws", origin="https://example.com", proxy=None)  # type: ignore[arg-type]


def test_over_http(url: str) -> None:
    def get(path: str) -> Message:
        told: Message = httpx.get(url + path, trust_env=False).json()
        return told

    assert get("/health") == {"status": "healthy"}
    assert get("/metadata")["name"] == "Sokoban-v0"
    assert get("/state")["step_count"] == 0
    schema = get("/schema")
    assert schema["action"]["required"] == ["message"]
    begun = httpx.post(url + "/reset", json={"seed": 7}, trust_env=False).json()
    assert set(begun["observation"]) == set(schema["observation"]["properties"])
    told = httpx.post(url + "/step", json={"action": {"message": "hm"}, "seed": 7}, trust_env=False).json()
    assert (told["reward"], told["done"]) == (-0.1, False)
    for body in ([], {"action": 3}, {"action": {}}, {"action": {"message": "a"}, "seed": "x"}):
        assert httpx.post(url + "/step", json=body, trust_env=False).status_code == 422
    assert httpx.post(url + "/step", content=b"{", trust_env=False).status_code == 400


def test_an_environment_of_openenv_is_a_gymnasium_environment(url: str) -> None:
    env = Remote(url, action="message", observation="text")
    text, info = env.reset(seed=7)
    assert info["ending"] is None
    assert text == gymnasium.make("toolenvs/Sokoban-v0").reset(seed=7)[0]
    task = toolenvs.load("Sokoban-v0").task(info["task"])
    for call in task.extra["calls"]:
        text, reward, terminated, truncated, info = env.step(acts(call["actions"]))
    assert (terminated, truncated, info["success"], info["ending"]) == (True, False, 1.0, "done")
    assert reward > 9
    with pytest.raises(TypeError):  # as a fork finds
        copy.deepcopy(env)
    env.close()
    env.close()
    check_env(Remote(url, action="message", observation="text"), skip_render_check=True)


def test_actions_as_json(url: str) -> None:
    env = Remote(url, observation="text")
    env.reset(seed=1)
    assert "Nothing was done" in env.step('{"message": "hm"}')[0]
    for action in ("hm", "[1]", '{"massage": "hm"}'):
        with pytest.raises(gymnasium.error.InvalidAction):
            env.step(action)
    assert env.step('{"message": "hm"}')[1] == -0.1  # the episode goes on
    shown = Remote(url, action="message", render_mode="ansi")
    text, _ = shown.reset(seed=1)
    assert "\nending: \n" in text
    assert "\ntruncated: false\n" in text
    assert shown.render() == text
    env.close()
    shown.close()


def test_a_page_over_an_environment_of_openenv(url: str) -> None:
    """Our page acts in our own server's page, as in anybody's."""
    blueprint = toolenvs.load(
        "FrozenLake-v0",
        user="{question}",
        tasks={"set": "gym"},
        tools={
            "gym": {
                "env": "toolenvs.adapters.openenv:Remote",
                "kwargs": {"url": url, "action": "message", "observation": "text"},
                "separator": "%%",
                "render": "observation",
                "threaded": True,
            }
        },
    )
    inner = "so<|hm|></think><answ3r>Up</answ3r>"
    agent = FromFunction(lambda request: f"so</think><answer>{inner}</answer>")
    episodes = loop.run(collect(blueprint, agent, [blueprint.tasks[index] for index in range(4)], concurrency=2))
    for episode in episodes:
        assert (episode.ending, episode.success) == ("done", 0.0)  # as the inner turns are spent
        assert episode.reward == pytest.approx(-0.5)
        assert [call.status for call in episode.calls] == ["ok"] * 5
        assert "Nothing was done" in episode.calls[0].result


@contextlib.contextmanager
def answering(*answers: Any) -> Iterator[str]:
    """A server that answers each message with the next of these, whatever it was."""

    def handle(connection: Any) -> None:
        for answer in answers:
            connection.recv()
            if answer is None:
                return
            connection.send(answer if isinstance(answer, str) else json.dumps(answer))
        with contextlib.suppress(Exception):
            connection.recv()

    with serve_sockets(handle, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.socket.getsockname()[1]}"
        finally:
            server.shutdown()
            thread.join(60)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (None, "reset failed: ConnectionClosed"),
        ("{", "reset failed: JSONDecodeError"),
        ([], "reset failed: TypeError"),
        ({"type": "observation"}, "reset failed: KeyError"),
        ({"type": "observation", "data": 3}, "reset failed: TypeError"),
        ({"type": "error", "data": {"code": "EXECUTION_ERROR", "message": "boom"}}, r"reset: boom \(EXECUTION_ERROR\)"),
        ({"type": "error", "data": {"code": "CAPACITY_REACHED", "message": "full"}}, "full"),
        ({"type": "error", "data": {"code": "VALIDATION_ERROR", "message": "no"}}, "no"),
    ],
)
def test_a_server_that_fails_is_infrastructure(answer: Any, told: str) -> None:
    with answering(answer) as address:
        env = Remote(address, action="message")
        with pytest.raises(InfrastructureError, match=told):
            env.reset(seed=0)
        env.close()


def test_observations_of_any_kind() -> None:
    fields = {"echo": "hi", "n": 3, "l": [1], "metadata": {"success": True}}
    begun = {"observation": fields, "reward": None, "metadata": {"version": 1}}
    bare = {"observation": "plain", "reward": True, "done": True}
    answers = [{"type": "observation", "data": data} for data in (begun, bare, {"observation": None})]
    with answering(*answers) as address:
        env = Remote(address, action="message", max_chars=20)
        told = {"echo": "hi", "n": 3, "l": [1], "success": True, "version": 1}
        assert env.reset(seed=0) == ("echo: hi\nn: 3\nl: [1]"[:20], told)
        assert env.step("a") == ("plain", 1.0, True, False, {})
        assert env.step("a") == ("", 0.0, False, False, {})
        env.close()


def test_nobody_listens() -> None:
    with contextlib.closing(run.bind("127.0.0.1", 0)) as listener:
        address = run.url(listener)
    with pytest.raises(InfrastructureError, match="reset failed: ConnectionRefusedError"):
        Remote(address).reset(seed=0)


def test_what_is_wrong_is_said() -> None:
    for address in ("ws://127.0.0.1:1", "127.0.0.1:1", "http://", ""):
        with pytest.raises(ConfigError, match="no address of a server"):
            Remote(address)
    with pytest.raises(ConfigError, match="max_sessions = 0"):
        application("Sokoban-v0", max_sessions=0)
    with pytest.raises(PageError, match="there is no page"):
        application("Sokobann-v0")
