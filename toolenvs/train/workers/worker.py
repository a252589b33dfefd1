"""One worker: an engine and the environments of a run, in a process of its own."""

import os
import pickle
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolenvs import blueprint
from toolenvs.agents.engine import EngineAgent, GenerateRequest, Generation, Sampling
from toolenvs.errors import ConfigError, EngineError, MissingExtraError, ToolenvsError, leaves
from toolenvs.loop_thread import LoopThread
from toolenvs.rollout import collect
from toolenvs.tasks.task import Task
from toolenvs.train.engines.opening import folder_of, open_for
from toolenvs.train.engines.weights import unpack_weights

Answer = tuple[str, Any]
"""How a call ended, and its value: "ok", "stale" with why, or "error" with an error's class and its words."""
OK, STALE, ERROR = "ok", "stale", "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSpec:
    """What a worker is made from; the same for all workers of a run. Its paths must mean the same on every machine."""

    page: str
    env: Mapping[str, Any]
    """Overrides of the page for training."""
    test_env: Mapping[str, Any]
    """Overrides of the page for evaluation, those of training included."""
    model: str
    engine: str
    engine_python: str = ""
    engine_options: Mapping[str, Any] = field(default_factory=dict)
    threads: int = 0
    folder: str = ""
    """The trainer's working folder, which relative paths start from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What all shares of one rollout have in common."""

    tasks: Sequence[Task]
    sampling: Sampling
    test: bool = False
    """Whether these are tasks of the evaluation."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of `toolenvs.rollout.collect`."""


class _Stale(Exception):
    """The engine died, or has other weights than were asked for."""


class Worker:
    """An engine and the environments.

    Args:
        spec: of the run.

    Raises:
        ConfigError: something in it does not fit, or cannot be loaded here.
        EngineError: the engine did not start.
        MissingExtraError: a package is not installed here.
    """

    def __init__(self, spec: WorkerSpec) -> None:
        import torch
        from transformers import AutoTokenizer

        if spec.folder and Path(spec.folder).is_dir():
            os.chdir(spec.folder)
        if spec.threads:
            torch.set_num_threads(spec.threads)
        source = folder_of(spec.model)
        try:
            tokenizer = AutoTokenizer.from_pretrained(source)
        except (OSError, ValueError) as error:
            raise ConfigError(f"no tokenizer can be loaded from {source!r} on {os.uname().nodename}: {error}") from None
        self._env = blueprint.load(spec.page, tokenizer=tokenizer, **spec.env)
        self._test_env = blueprint.load(spec.page, tokenizer=tokenizer, **spec.test_env)
        self.engine = open_for(spec.engine, spec.model, python=spec.engine_python, options=spec.engine_options)
        self._thread = LoopThread("toolenvs-worker", owner="this worker", error=EngineError)

    def load(self, weights: bytes, version: int) -> int:
        """Take over new weights; gives the engine's version.

        Raises:
            EngineError: the engine refuses them.
        """
        self.engine.push_weights(unpack_weights(weights), version)
        return self.engine.version

    def roll_out(self, job: bytes, part: range, version: int) -> bytes:
        """The trajectories of a part of a job's tasks, pickled."""
        self._fresh(version)
        wanted: Job = pickle.loads(job)
        env = self._test_env if wanted.test else self._env
        agent = EngineAgent(self.engine, wanted.sampling)
        trajectories = self._thread.run(collect(env, agent, wanted.tasks, part=part, **wanted.options))
        if any(trajectory.failed for trajectory in trajectories):
            self._fresh(version)  # where the engine died, that was no rollout
        return pickle.dumps(trajectories)

    def generate(self, requests: Sequence[GenerateRequest], version: int) -> list[Generation]:
        """As of the engine."""
        self._fresh(version)
        return self.engine.generate(requests)

    def close(self) -> None:
        """Close the engine and the tools."""
        self.engine.close()
        for env in (self._env, self._test_env):
            self._thread.run(env.close())
        self._thread.close()

    def _fresh(self, version: int) -> None:
        if self.engine.version != version:
            raise _Stale(f"its weights are those of version {self.engine.version}, not {version}")
        if not self.engine.alive():
            raise _Stale("its engine died")


class Host:
    """What a cluster's process holds: a worker, once it was opened. Errors are answers, so that they can travel."""

    def __init__(self) -> None:
        self._worker: Worker | None = None

    def call(self, method: str, *arguments: Any) -> Answer:
        """Answer `open` with a `WorkerSpec`, or a method of `Worker`."""
        try:
            if method == "open":
                self._worker = Worker(*arguments)
                engine = self._worker.engine
                return OK, (engine.max_context, engine.continuous)
            assert self._worker is not None  # it was opened first
            return OK, getattr(self._worker, method)(*arguments)
        except _Stale as stale:
            return STALE, str(stale)
        except Exception as error:  # whatever it is, the trainer has to hear of it
            return ERROR, _told(error)


def _told(error: BaseException) -> tuple[str, str]:
    """Class and words of an error of the package's own; of any other, which is a fault, its traceback too."""
    found = list(leaves(error))
    own = next((leaf for leaf in found if isinstance(leaf, ToolenvsError)), None)
    if own is None or not all(isinstance(leaf, ToolenvsError) for leaf in found):
        return "EngineError", "a worker failed: " + "".join(traceback.format_exception(error)).strip()
    return ("ConfigError" if isinstance(own, MissingExtraError) else type(own).__name__), str(own)
