"""verifiers: our pages as tasksets of its version 1, with an environment that plays them.

verifiers finds a taskset by the name of an installed module that exports it. Two lines make one:

    # my_retool.py
    from toolenvs.adapters.verifiers import PageEnv, PageTaskset
    __all__ = ["PageEnv", "PageTaskset"]

    env = load_environment("my_retool", page="toolenvs/ReTool-v0")      # or: eval my_retool --env.taskset.page ...

The model writes messages; each is a turn of an episode of ours, and its feedback comes back as a user's message.
Tools, budgets, protocol and reward are the page's; tokens and masks are verifiers' own, which knows who wrote what. An
episode that infrastructure ended is an error of verifiers' environment, which its trainer leaves out. This module
imports verifiers.
"""

import itertools
from collections.abc import Iterator
from typing import Any

from toolenvs import blueprint
from toolenvs.blueprint import Blueprint
from toolenvs.episode import Episode
from toolenvs.errors import MissingExtraError
from toolenvs.protocols.base import Message

try:
    import verifiers.v1 as vf
    from verifiers.v1.errors import EnvError
except ImportError as error:
    raise MissingExtraError("verifiers", "verifiers", "tasksets of verifiers") from error

__all__ = ["PageEnv", "PageTaskset"]
_blueprints: dict[str, Blueprint] = {}
_seeds = itertools.count()


class PageTasksetConfig(vf.TasksetConfig):  # type: ignore[misc]
    """Which page, and how it is changed."""

    page: str = "toolenvs/ReTool-v0"
    """The environment."""
    overrides: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it
    """Keys of the page."""
    count: int | None = None
    """Of the first tasks; None for all."""


class PageData(vf.TaskData):  # type: ignore[misc]
    """A task of a page on verifiers' wire."""

    page: str = ""
    overrides: dict[str, Any] = {}  # noqa: RUF012


class PageTask(vf.Task[PageData, vf.State, vf.TaskConfig]):  # type: ignore[misc]
    """A task of a page. `PageEnv` records its reward."""

    @property
    def key(self) -> str:
        """The page and the task's id in it."""
        return f"{self.data.page}/{self.data.id}"


class PageTaskset(vf.Taskset[PageTask, PageTasksetConfig]):  # type: ignore[misc]
    """The tasks of a page."""

    def load(self) -> Iterator[PageTask]:
        """Each task with the page's prompt."""
        config = self.config
        env = _environment(config.page, config.overrides)
        for index in range(len(env.tasks) if config.count is None else min(config.count, len(env.tasks))):
            task = env.tasks[index]
            system, prompt = _prompt(env.prompt_messages(task))
            yield PageTask(
                PageData(id=task.id, prompt=prompt, system_prompt=system, page=config.page, overrides=config.overrides)
            )


class PageEnvConfig(vf.EnvConfig):  # type: ignore[misc]
    """Who plays: a chat without tools of its own, since the page has its own."""

    agent: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"})


class PageEnv(vf.Env[PageEnvConfig]):  # type: ignore[misc]
    """Plays one task as one episode of its page."""

    async def run(self, task: Any, agents: Any) -> None:
        """The episode. Its reward is recorded as "environment", its terms and success as metrics.

        Raises:
            EnvError: infrastructure failed, so that no reward may be drawn from the episode.
        """
        env = _environment(task.data.page, task.data.overrides)
        await env.check()
        episode = Episode(env, env.task(task.data.id), seed=next(_seeds))
        paid, terms = 0.0, dict[str, float]()
        try:
            async with agents.agent.interaction(task) as chat:
                reply = await chat.turn()
                while episode.ending is None:
                    said = "" if reply.terminated else reply.last_reply
                    before = len(episode.messages)
                    turn = await episode.step(said, cut_short=reply.terminated)
                    paid += turn.reward
                    for name, value in turn.reward_terms.items():
                        terms[name] = terms.get(name, 0.0) + value
                    if turn.ending is None:
                        reply = await chat.turn(_feedback(episode, before, turn.observation))
                if episode.ending == "infrastructure":
                    raise EnvError(f"{task.data.page}, task {task.data.id!r}: {turn.fault}")
                chat.trace.record_reward("environment", paid)
                chat.trace.record_metrics({**terms, "success": float(episode.success or 0.0)})
        finally:
            await episode.close()


def load_environment(module: str, *, page: str, count: int | None = None, **overrides: Any) -> Any:
    """An environment of verifiers over a page.

    Args:
        module: a module that exports `PageEnv` and `PageTaskset`, see above.
        page: the environment.
        count: of the first tasks; None for all.
        overrides: keys of the page.
    """
    taskset = PageTasksetConfig(id=module, page=page, count=count, overrides=overrides)
    return vf.load_environment(PageEnvConfig(taskset=taskset))


def _prompt(messages: tuple[Message, ...]) -> tuple[str | None, str]:
    """The system's message and the user's."""
    system = [m["content"] for m in messages if m["role"] == "system"]
    return system[0] if system else None, "\n\n".join(m["content"] for m in messages if m["role"] != "system")


def _feedback(episode: Episode, before: int, observation: str) -> str:
    """What the tool gave, or the text as it stands in the policy's own message."""
    if not episode.blueprint.protocol.turn_end:
        return observation.strip("\n")
    return "\n".join(m["content"] for m in episode.messages[before:] if m["role"] == "tool")


def _environment(page: str, overrides: dict[str, Any]) -> Blueprint:
    """The environment, once a process."""
    key = repr((page, sorted(overrides.items())))
    if key not in _blueprints:
        _blueprints[key] = blueprint.load(page, **overrides)
    return _blueprints[key]
