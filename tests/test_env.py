"""Every registered page keeps Gymnasium's contract, and gives the same episode in any process."""

import copy
import os
import pickle
import subprocess
import sys
import warnings

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env

import toolenvs
from toolenvs.assets import page_files
from toolenvs.env import ToolEnv
from toolenvs.errors import InfrastructureError, PageError, SandboxError, TaskError
from toolenvs.protocols import Call
from toolenvs.spaces import Unicode

PAGES = sorted(page_files())
INFO = {
    "stop", "messages", "transcript", "budget", "calls", "reward_terms", "ending", "success", "metrics", "task",
    "fault",
}  # fmt: skip


def test_every_page_is_registered() -> None:
    assert {f"toolenvs/{name}" for name in PAGES} <= set(gym.registry)


@pytest.mark.parametrize("name", PAGES)
def test_check_env_without_warnings(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gym.make(f"toolenvs/{name}", render_mode="ansi")
        check_env(env.unwrapped)
        env.close()


def scripted_actions(env: ToolEnv) -> list[str]:
    """A turn with a call, a malformed turn, a wrong answer: in the page's own protocol."""
    protocol = env.blueprint.protocol
    program = "import random\nprint(random.random(), hash('x'), {'a', 'b', 'c'})"
    calls = []
    for tool, argument in protocol.targets[:1]:
        name = argument or next(iter(env.blueprint.tools[tool].parameters["properties"]))
        calls.append(protocol.write_call(Call(tool, {name: program})))
    read = env.blueprint.page.protocol.reading_stop
    if calls and read:  # the turn behind a call only reads
        calls.append("So it says." + read)
    answer = "I think\n" + protocol.write_answer("\\boxed{12}")
    if protocol.parse(answer).answer is None and env.blueprint.page.protocol.no_call == "malformed":
        return [*calls, *[answer] * (env.blueprint.page.budget.max_turns or 0)]  # nothing ends it but what is done
    return [*calls, answer]


def play(name: str) -> list[object]:
    """All that two episodes of a page say, without wall-clock times."""
    env = ToolEnv(name)
    said: list[object] = []
    for seed in (3, None):
        text, info = env.reset(seed=seed)
        said.append((text, info["task"], info["stop"], info["messages"]))
        for action in scripted_actions(env):
            text, reward, terminated, truncated, info = env.step(action)
            kept = {key: info[key] for key in sorted(INFO - {"transcript", "budget", "calls"})}
            calls = [(call.tool, call.arguments, call.result, call.status) for call in info["calls"]]
            said.append((text, reward, terminated, truncated, kept, calls, info["transcript"].text))
            if terminated or truncated:
                break
    env.close()
    return said


@pytest.mark.parametrize("name", PAGES)
def test_episodes_are_equal_across_processes_and_hash_seeds(name: str) -> None:
    here = os.path.dirname(__file__)
    program = f"import sys; sys.path.insert(0, {here!r}); from test_env import play; print(play({name!r}))"
    outputs = set()
    for hash_seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        outputs.add(done.stdout)
    assert outputs == {f"{play(name)}\n"}


@pytest.mark.parametrize("name", PAGES)
def test_info_keys_never_change_and_pickle(name: str) -> None:
    env = ToolEnv(name)
    text, info = env.reset(seed=0)
    assert set(info) == INFO
    assert text == info["transcript"].text
    assert text in env.observation_space
    for action in scripted_actions(env):
        before = info["transcript"].text
        text, reward, terminated, truncated, info = env.step(action)
        assert set(info) == INFO
        assert reward == pytest.approx(sum(info["reward_terms"].values()))
        assert info["transcript"].text.startswith(before + action[:20])
        assert info["transcript"].text.endswith(text)
        assert pickle.loads(pickle.dumps(info)) == info
        assert (info["success"] is None) == (info["ending"] is None) == (not (terminated or truncated))
        if info["ending"]:
            break
    assert info["ending"]
    env.close()


def test_reset_options() -> None:
    env = ToolEnv("ReTool-v0")
    tasks = env.blueprint.tasks
    assert env.reset(options={"task": 5})[1]["task"] == tasks[5].id
    assert env.reset(options={"task": tasks[7].id})[1]["task"] == tasks[7].id
    assert env.reset(options={"task": tasks[9]})[1]["task"] == tasks[9].id
    actions = scripted_actions(env)[:1]
    plain, _ = env.reset(options={"task": 5})
    text, info = env.reset(options={"task": 5, "prefix": actions, "progress": 0.25})
    assert text.startswith(plain + actions[0])
    assert text == info["transcript"].text
    assert env.episode is not None
    assert env.episode.progress == 0.25
    for options, message in (
        ({"tsk": 1}, r"unknown option 'tsk'; did you mean 'task'"),
        ({"task": "nope"}, "nope"),
        ({"prefix": ["\\boxed{1}"]}, "ends the episode"),
    ):
        with pytest.raises(TaskError, match=message):
            env.reset(options=options)
    env.close()


def test_reset_without_seed_goes_on_with_the_stream() -> None:
    env, twin = ToolEnv("ReTool-v0"), ToolEnv("ReTool-v0")
    tasks = [env.reset(seed=seed)[1]["task"] for seed in (1, None, None)]
    assert tasks == [twin.reset(seed=seed)[1]["task"] for seed in (1, None, None)]
    assert len(set(tasks)) > 1


def test_misuse_is_named() -> None:
    env = ToolEnv("ReTool-v0")
    with pytest.raises(TaskError, match="call reset before step"):
        env.step("x")
    with pytest.raises(TaskError, match="call reset before fork"):
        env.fork()
    env.reset(seed=0)
    with pytest.raises(TaskError, match="an action is a str, not int"):
        env.step(3)  # type: ignore[arg-type]
    env.step("\\boxed{1}")
    with pytest.raises(TaskError, match="has ended"):
        env.step("again")
    with pytest.raises(ValueError, match="did you mean 'ansi'"):
        ToolEnv("ReTool-v0", render_mode="ansii")
    with pytest.raises(PageError, match="did you mean 'max_turns'"):
        gym.make("toolenvs/ReTool-v0", max_trns=3)
    env.close()
    env.close()


def test_an_action_longer_than_the_space_ends_the_episode() -> None:
    env = ToolEnv("ReTool-v0", spaces={"action_length": 50})
    env.reset(seed=0)
    text, _, terminated, truncated, info = env.step("x" * 51)
    assert (text, terminated, truncated, info["ending"]) == ("", False, True, "length")


@pytest.mark.parametrize("action", ["", "\0", "\ud800", "é漢😀" * 500, "<code>" * 2000, "```output" * 500])
@pytest.mark.parametrize("name", PAGES)
def test_any_string_is_an_action(name: str, action: str) -> None:
    env = ToolEnv(name)
    env.reset(seed=0)
    assert action in env.action_space
    text, reward, *_ = env.step(action)
    assert isinstance(text, str)
    assert reward <= 1
    env.close()


def test_forks_carry_the_live_interpreter() -> None:
    env = gym.make("toolenvs/ReTool-v0", session="stateful", render_mode="ansi")
    env.reset(seed=0)
    env.step("<code>x = 41</code>")
    left, right = env.fork(n=2)
    assert "42" in left.step("<code>x += 1; print(x)</code>")[0]
    assert "43" in right.step("<code>x += 2; print(x)</code>")[0]
    assert "41" in env.step("<code>print(x)</code>")[0]
    assert left.reset()[1]["task"] == env.reset()[1]["task"]
    for one in (left, right, env):
        one.close()


def test_render() -> None:
    for mode, mark in (("ansi", "\x1b[32m"), ("html", '<span class="policy"')):
        env = ToolEnv("ReTool-v0", render_mode=mode)
        assert env.render() is None
        env.reset(seed=0)
        env.step("<code>print(1)</code>")
        assert mark in str(env.render())
        env.close()
    env = ToolEnv("ReTool-v0")
    env.reset(seed=0)
    assert env.render() is None


def test_a_broken_tool_is_found_before_the_first_episode() -> None:
    env = ToolEnv("ReTool-v0")

    async def check() -> None:
        raise SandboxError("no sandbox here")

    env.blueprint.tools["python"].check = check  # type: ignore[method-assign]
    with pytest.raises(InfrastructureError, match="no sandbox here"):
        env.reset(seed=0)


async def test_blocking_calls_work_inside_a_running_loop() -> None:
    env = ToolEnv("ReTool-v0")  # as in a notebook
    env.reset(seed=0)
    assert "42" in env.step("<code>print(6 * 7)</code>")[0]
    env.close()


@pytest.mark.parametrize(
    "wrap",
    [
        lambda env: gym.wrappers.RecordEpisodeStatistics(env),
        lambda env: gym.wrappers.TimeLimit(env, 5),
        lambda env: gym.wrappers.OrderEnforcing(env),
        lambda env: gym.wrappers.PassiveEnvChecker(env),
        lambda env: gym.wrappers.Autoreset(env),
        lambda env: gym.wrappers.TransformReward(env, lambda reward: 2 * reward),
        lambda env: gym.wrappers.TransformObservation(env, str.strip, Unicode(65_536)),
        lambda env: gym.wrappers.FlattenObservation(env),
    ],
)
def test_gymnasiums_wrappers(wrap: object) -> None:
    env = wrap(gym.make("toolenvs/ReTool-v0"))  # type: ignore[operator]
    text, _ = env.reset(seed=0)
    assert text in env.observation_space
    text, *_ = env.step("<code>print(6 * 7)</code>")
    assert text in env.observation_space
    assert env.step("\\boxed{1}")[2]
    env.close()


def test_a_page_of_ones_own(tmp_path: object) -> None:
    file = tmp_path / "Mine-v0.toml"  # type: ignore[operator]
    file.write_text(page_files()["ReTool-v0"].read_text("utf-8"), "utf-8")
    toolenvs.register("mine/Mine-v0", file)
    try:
        env = gym.make("mine/Mine-v0", max_calls=1)
        assert env.reset(seed=0)[1]["budget"]["calls"].left == 1
        env.close()
    finally:
        gym.registry.pop("mine/Mine-v0")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"progress": 1.5}, "progress is a number from 0 to 1"),
        ({"progress": float("nan")}, "progress is a number from 0 to 1"),
        ({"progress": "half"}, "progress is a number from 0 to 1"),
        ({"prefix": "<code>1</code>"}, "prefix is a list of actions"),
        ({"prefix": [1]}, "prefix is a list of actions"),
        ({"task": -1}, "no task -1"),
        ({"task": True}, "no task True"),
        ({"task": 1.7}, "no task 1.7"),
    ],
)
def test_reset_options_are_read_strictly(options: dict[str, object], message: str) -> None:
    env = ToolEnv("ReTool-v0")
    with pytest.raises(TaskError, match=message):
        env.reset(options=options)


def test_a_prompt_longer_than_the_space_is_named() -> None:
    env = ToolEnv("ReTool-v0", observation_length=300)
    with pytest.raises(TaskError, match="has .* characters; set spaces.observation_length"):
        env.reset(seed=0)
    with pytest.raises(TaskError, match="call reset"):
        env.step("x")


def test_a_copy_is_a_fork_and_a_fresh_environment_pickles() -> None:
    env = ToolEnv("ReTool-v0", session="stateful", **{"tasks.set": "arithmetic"})
    env.reset(seed=3)
    env.step("<code>x = 6</code>")
    for copied in (copy.copy(env), copy.deepcopy(env)):
        assert "\n7</interpreter>" in copied.step("<code>x += 1; print(x)</code>")[0]
        copied.close()
    with pytest.raises(TaskError, match="cannot be pickled"):
        pickle.dumps(env)
    env.step("\\boxed{1}")
    again = pickle.loads(pickle.dumps(env))
    assert again.reset()[0] == env.reset()[0]
    assert again.reset(seed=4)[0] == env.reset(seed=4)[0]
    with pytest.raises(ValueError, match="fork: n = 0"):
        env.fork(0)
    env.close()
    again.close()


def test_a_reset_with_wrong_options_changes_nothing() -> None:
    env = ToolEnv("ReTool-v0")
    env.reset(seed=3)
    transcript = env.episode.transcript
    for options in ({"task": "nope"}, {"progress": 2}, {"prefix": [1]}, {"taks": 1}):
        with pytest.raises(TaskError):
            env.reset(seed=9, options=options)
    assert env.episode.transcript == transcript
    env.step("\\boxed{1}")
    fresh = ToolEnv("ReTool-v0")
    fresh.reset(seed=3)
    assert env.reset()[0] == fresh.reset()[0]
