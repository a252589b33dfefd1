"""`ToolEnv`: an environment as a `gymnasium.Env`, whose observations and actions are text."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from numbers import Real
from typing import Any

import gymnasium as gym

from toolenvs import blueprint, loop, render
from toolenvs.episode import Episode, Turn
from toolenvs.errors import TaskError, did_you_mean
from toolenvs.info import info
from toolenvs.page import Page
from toolenvs.spaces import Unicode
from toolenvs.tasks.task import Task, TaskSet

_RESET_OPTIONS = ("task", "prefix", "progress")


class ToolEnv(gym.Env[str, str]):
    """A language model acts through tools; each step is one turn of it.

    The observation is the new text only, exactly as it stands in the transcript: the rendered prompt after `reset`,
    the tool's feedback after `step`, "" at the end. The action is the text that the policy wrote this turn; generate
    it up to one of `info["stop"]`, and keep the stop string in it. `terminated` tells an ending that the task itself
    has, `truncated` one that a budget or a fault imposed; `info["ending"]` names it. `info` is a
    `toolenvs.info.Info`.

    Args:
        page: a bundled page's id, a TOML file, or a `Page`.
        render_mode: None, "ansi" or "html".
        tasks: a task set to use in place of the page's own, or keys of its section that are overridden.
        tokenizer: a fast tokenizer, for pages whose budgets are in tokens; see `Blueprint`.
        overrides: keys of the page; see `toolenvs.page.load`.

    Raises:
        PageError: no such page, or a key or value is wrong.
    """

    metadata = {"render_modes": ["ansi", "html"], "render_fps": 1}  # noqa: RUF012 - declared so by gymnasium.Env

    def __init__(
        self,
        page: str | Page,
        *,
        render_mode: str | None = None,
        tasks: TaskSet | Mapping[str, Any] | None = None,
        tokenizer: Any = None,
        **overrides: Any,
    ) -> None:
        self._check_render_mode(render_mode)
        self._made_of = {"page": page, "tasks": tasks, "tokenizer": tokenizer, **overrides}
        self.blueprint = blueprint.load(**self._made_of)
        self.render_mode = render_mode
        self._make_spaces()
        self.episode: Episode | None = None

    def _check_render_mode(self, render_mode: str | None) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode {render_mode!r}: {did_you_mean(str(render_mode), ('ansi', 'html'))}")

    def _make_spaces(self) -> None:
        lengths = self.blueprint.page.spaces
        self.observation_space = Unicode(lengths.observation_length)
        self.action_space = Unicode(lengths.action_length)

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: chooses the task and seeds the tools; None goes on with the random stream of the last seed.
            options: `task` (an id, an index or a `Task`), `prefix` (actions to replay before handing over),
                `progress` (0 to 1, for curricula).

        Returns:
            The prompt (and all that the prefix added to it), and `info`.

        Raises:
            TaskError: no such task or option, or the prefix ends the episode.
            InfrastructureError: a tool does not work here.
        """
        self._chosen(options)  # what is wrong with them is said before anything changes
        self.reseed(seed)
        return loop.run(self.areset(options=options))

    async def areset(self, *, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """The asynchronous form of `reset`, without seeding."""
        task, prefix, progress = self._chosen(options)
        await self._close_episode()
        await self.blueprint.check()
        index, episode_seed = (int(n) for n in self.np_random.integers(1 << 31, size=2))
        which = task or index % len(self.blueprint.tasks)
        episode = await self._begin(which, seed=episode_seed, progress=progress)
        try:
            text = episode.prompt + await episode.replay(prefix)
            if len(text) > self.blueprint.page.spaces.observation_length:
                raise TaskError(
                    f"what the policy reads first of task {episode.task.id!r} has {len(text)} characters; "
                    f"set spaces.observation_length of {self.blueprint.page.id} to that at least"
                )
        except BaseException:
            await episode.close()
            raise
        self.episode = episode
        return text, dict(info(episode, Turn(observation=text)))

    async def _begin(self, which: Task | int, *, seed: int, progress: float) -> Episode:
        """An episode about a task, or the one of that index."""
        return Episode(self.blueprint, self.blueprint.task(which), seed=seed, progress=progress)

    def _chosen(self, options: Mapping[str, Any] | None) -> tuple[Task | None, Sequence[str], float]:
        """The task, prefix and progress of `reset`'s options."""
        which, prefix, progress = _read_options(options or {})
        return None if which is None else self.blueprint.task(which), prefix, progress

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one turn of the policy.

        Args:
            action: the text that the policy wrote this turn.

        Returns:
            New text, reward, terminated, truncated, and `info`.

        Raises:
            TaskError: no episode is running.
        """
        return loop.run_alone(self.astep(action))

    async def astep(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """The asynchronous form of `step`."""
        if self.episode is None:
            raise TaskError("call reset before step")
        if not isinstance(action, str):
            raise TaskError(f"an action is a str, not {type(action).__name__}")
        limit = self.blueprint.page.spaces.action_length
        turn = await self.episode.step(action[:limit], cut_short=len(action) > limit)
        return turn.observation, turn.reward, turn.terminated, turn.truncated, dict(info(self.episode, turn))

    @property
    def ended(self) -> bool:
        """True where the episode has ended and `reset` is due."""
        return self.episode is not None and self.episode.ending is not None

    def reseed(self, seed: int | None) -> None:
        """Seed the random stream that tasks and tools are drawn from; None goes on with the last one."""
        super().reset(seed=seed)

    def twin(self) -> "ToolEnv":
        """Another environment over the same blueprint, with no episode yet."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, episode=None, _np_random=None, _np_random_seed=None)
        twin._make_spaces()
        return twin

    def fork(self, n: int = 1) -> list["ToolEnv"]:
        """`n` independent copies of this environment with its running episode, the tools' state included.

        Raises:
            TaskError: no episode is running.
            ValueError: `n` is less than 1.
        """
        if n < 1:
            raise ValueError(f"fork: n = {n}; at least one copy is needed")
        return [loop.run(self._afork()) for _ in range(n)]

    async def _afork(self) -> "ToolEnv":
        if self.episode is None:
            raise TaskError("call reset before fork")
        copy = self._copy()
        copy.episode = await self.episode.fork()
        return copy

    def _copy(self) -> "ToolEnv":
        """A twin whose random stream stands where this one's does."""
        copy = self.twin()
        copy.np_random = deepcopy(self.np_random)
        copy._np_random_seed = self._np_random_seed
        return copy

    def __copy__(self) -> "ToolEnv":
        return self._copy() if self.episode is None else self.fork()[0]

    def __deepcopy__(self, memo: dict[int, Any]) -> "ToolEnv":
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        if self.episode is not None and not self.ended:
            raise TaskError("a running episode holds live tools and cannot be pickled: pickle before reset, or fork")
        state = {"_np_random": self._np_random, "_np_random_seed": self._np_random_seed, "spec": self.spec}
        return _remake, (type(self), self._made_of, self.render_mode), state

    def render(self) -> str | None:
        """The transcript with authorship shown, as `render_mode` says."""
        if self.render_mode is None or self.episode is None:
            return None
        draw = render.ansi if self.render_mode == "ansi" else render.html
        return draw(self.episode.transcript)

    def close(self) -> None:
        """End the running episode and free what it holds. Closing twice is allowed."""
        loop.run(self._close_episode())

    async def _close_episode(self) -> None:
        episode, self.episode = self.episode, None
        if episode is not None:
            await episode.close()


def _remake(kind: type[ToolEnv], made_of: dict[str, Any], render_mode: str | None) -> ToolEnv:
    return kind(**made_of, render_mode=render_mode)


def _read_options(options: Mapping[str, Any]) -> tuple[Any, Sequence[str], float]:
    """The task, prefix and progress of `reset`'s options."""
    for key in options:
        if key not in _RESET_OPTIONS:
            raise TaskError(f"reset: unknown option {key!r}; {did_you_mean(str(key), _RESET_OPTIONS)}")
    prefix = options.get("prefix") or ()
    if not isinstance(prefix, Sequence) or isinstance(prefix, str) or not all(isinstance(one, str) for one in prefix):
        raise TaskError(f"reset: prefix is a list of actions, each a str, not {prefix!r:.80}")
    progress = options.get("progress", 0.0)
    if isinstance(progress, bool) or not isinstance(progress, Real) or not 0 <= float(progress) <= 1:
        raise TaskError(f"reset: progress is a number from 0 to 1, not {progress!r}")
    return options.get("task"), tuple(prefix), float(progress)
