"""`ToolVectorEnv`: many episodes stepped at once; a step waits for the slowest tool only."""

import asyncio
import operator
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from toolenvs import loop
from toolenvs.env import ToolEnv
from toolenvs.errors import TaskError

T = TypeVar("T")
Texts = tuple[str, ...]
Step = tuple[str, float, bool, bool, dict[str, Any]]


class ToolVectorEnv(VectorEnv[Texts, Sequence[str], NDArray[Any]]):
    """`num_envs` environments of one page, sharing its tools and tasks.

    Observations and actions are tuples of strings. Episodes of one step run concurrently, so that a slow program in
    one of them does not keep the calls of the others waiting.

    Args:
        num_envs: number of environments.
        autoreset_mode: "NextStep", "SameStep" or "Disabled", as Gymnasium's own vector environments.
        **keywords: those of `ToolEnv`: `page`, and the keys of the page.
    """

    env_class: ClassVar[type[ToolEnv]] = ToolEnv

    def __init__(
        self,
        num_envs: int,
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        **keywords: Any,
    ) -> None:
        if isinstance(num_envs, bool) or num_envs < 1:
            raise ValueError(f"num_envs = {num_envs}; at least one environment is needed")
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        first = self.env_class(**keywords)
        self.envs = [first, *(first.twin() for _ in range(num_envs - 1))]
        self.metadata = {**first.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = first.render_mode
        self.single_observation_space, self.single_action_space = first.observation_space, first.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._texts = [""] * num_envs

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Texts, dict[str, Any]]:
        """Begin an episode in every environment, or in those of `options["reset_mask"]`.

        Args:
            seed: an int seeds environment i with seed + i; a sequence gives each its own.
            options: see `ToolEnv.reset`; `reset_mask`, a bool array, chooses environments.
        """
        chosen = dict(options or {})
        mask = np.asarray(chosen.pop("reset_mask", np.ones(self.num_envs)), dtype=np.bool_)
        seeds = self._seeds(seed)
        if len(seeds) != self.num_envs or mask.shape != (self.num_envs,):
            raise ValueError(f"seed and reset_mask need one value for each of the {self.num_envs} environments")
        which = np.flatnonzero(mask)
        self.envs[0]._chosen(chosen)  # what is wrong with the options is said before anything changes
        for index in which:
            self.envs[index].reseed(seeds[int(index)])
        begun = loop.run(_settle([self.envs[index].areset(options=chosen) for index in which]))
        infos: dict[str, Any] = {}
        for index, (text, info) in zip(which, begun, strict=True):
            self._texts[index] = text
            infos = self._add_info(infos, info, int(index))
        return tuple(self._texts), infos

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, Sequence | np.ndarray):
            return [None if one is None else operator.index(one) for one in seed]
        return [operator.index(seed) + i for i in range(self.num_envs)]

    def step(
        self, actions: Sequence[str]
    ) -> tuple[Texts, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Take one turn in every environment.

        Args:
            actions: one string an environment.

        Raises:
            TaskError: an action is no string, or `reset` was not called; no environment has taken a turn.
            ToolenvsError: an environment is set up wrongly; the others have taken their turn.
        """
        if isinstance(actions, str) or len(actions) != self.num_envs:
            raise ValueError(f"{len(actions)} actions for {self.num_envs} environments")
        for index, (env, action) in enumerate(zip(self.envs, actions, strict=True)):
            if env.episode is None:
                raise TaskError(f"environment {index}: call reset before step")
            if not isinstance(action, str):
                raise TaskError(f"environment {index}: an action is a str, not {type(action).__name__}")
        ended = [index for index, env in enumerate(self.envs) if env.ended]
        if self.autoreset_mode is AutoresetMode.DISABLED and ended:
            raise ValueError(f"environments {ended} have ended; reset them first")
        steps = loop.run(_settle([self._step(index, action) for index, action in enumerate(actions)]))
        infos: dict[str, Any] = {}
        for index, (text, _, _, _, info) in enumerate(steps):
            self._texts[index] = text
            final = info.pop("_final", None)
            if final is not None:
                infos = self._add_info(infos, final, index)
            infos = self._add_info(infos, info, index)
        rewards = np.array([step[1] for step in steps], dtype=np.float64)
        terminations = np.array([step[2] for step in steps], dtype=np.bool_)
        truncations = np.array([step[3] for step in steps], dtype=np.bool_)
        return tuple(self._texts), rewards, terminations, truncations, infos

    async def _step(self, index: int, action: str) -> Step:
        env = self.envs[index]
        if env.ended:
            text, info = await env.areset()
            return text, 0.0, False, False, info
        text, reward, terminated, truncated, info = await env.astep(action)
        if (terminated or truncated) and self.autoreset_mode is AutoresetMode.SAME_STEP:
            final = {"final_obs": text, "final_info": info}
            text, info = await env.areset()
            info["_final"] = final
        return text, reward, terminated, truncated, info

    def _add_info(self, vector_infos: dict[str, Any], env_info: dict[str, Any], env_num: int) -> dict[str, Any]:
        """As Gymnasium's, but `success` keeps the None of running episodes, whichever environment comes first."""
        if "success" in env_info:
            vector_infos.setdefault("success", np.full(self.num_envs, None, dtype=object))
        return super()._add_info(vector_infos, env_info, env_num)

    def render(self) -> tuple[str | None, ...]:  # type: ignore[override]
        """Every transcript."""
        return tuple(env.render() for env in self.envs)

    def close_extras(self, **keywords: Any) -> None:
        """End every episode."""
        for env in self.envs:
            env.close()


async def _settle(coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """All results; where some failed, the first failure, once nothing runs any more."""
    results = await asyncio.gather(*coroutines, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results  # type: ignore[return-value]
