"""The same episodes in another process, whose strings hash otherwise; both talk in JSON lines."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from toolenvs import loop
from toolenvs.blueprint import Blueprint, load
from toolenvs.episode import Episode
from toolenvs.errors import InfrastructureError

SEED = 5


def record(blueprint: Blueprint, index: int, actions: Sequence[str]) -> list[Any]:
    """All that an episode says, turn by turn, without wall-clock times."""
    episode = Episode(blueprint, blueprint.tasks[index], seed=SEED)

    async def run() -> list[Any]:
        said: list[Any] = [[episode.prompt, blueprint.tasks[index].id, list(blueprint.tasks[index].golds)]]
        try:
            for action in actions:
                if episode.ending is not None:
                    break
                turn = await episode.step(action)
                calls = [[call.tool, call.result, call.status] for call in turn.calls]
                terms = {name: repr(value) for name, value in turn.reward_terms.items()}
                said.append([turn.observation, calls, terms, turn.ending, repr(episode.success)])
        except Exception as error:
            said.append(f"{type(error).__name__}: {error}")
        finally:
            await episode.close()
        return said

    return list(json.loads(json.dumps(loop.run(run()))))


class Other:
    """A process that plays episodes as they come. A context manager; it starts with the first episode."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def record(self, source: str, overrides: Mapping[str, Any], index: int, actions: Sequence[str]) -> list[Any]:
        """As `record`, there.

        Raises:
            InfrastructureError: the process ended.
        """
        process = self._process = self._process or self._started()
        asked = {"source": source, "overrides": overrides, "index": index, "actions": actions, "path": sys.path}
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            self.close()
            raise InfrastructureError(f"the process that plays {source} again has ended; run the audit once more")
        return list(json.loads(line))

    def _started(self) -> subprocess.Popen[str]:
        own = os.environ.get("PYTHONHASHSEED")
        environment = {**os.environ, "PYTHONHASHSEED": "2" if own == "1" else "1"}
        return subprocess.Popen(
            [sys.executable, "-c", "from toolenvs.audit.again import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="surrogatepass",
            env=environment,
        )

    def close(self) -> None:
        """End it. Closing twice is allowed."""
        process, self._process = self._process, None
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):  # what was not sent to a process that ended
                    if pipe is not None:
                        pipe.close()
            process.wait()

    def __enter__(self) -> "Other":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def serve() -> None:
    """Play what standard input asks for, and write what came of it."""
    told = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what somebody's tool prints is no reply
    key, blueprint = "", None
    for line in sys.stdin:
        asked = json.loads(line)
        sys.path[:] = asked["path"]
        wanted = json.dumps([asked["source"], asked["overrides"]])
        if blueprint is None or key != wanted:
            if blueprint is not None:
                loop.run(blueprint.close())
            key, blueprint = wanted, load(asked["source"], **asked["overrides"])
        told.write(json.dumps(record(blueprint, asked["index"], asked["actions"])) + "\n")
        told.flush()
    if blueprint is not None:
        loop.run(blueprint.close())
