"""Whose fault it is that an agent gave no turn: its own, or that of what it stands on.

The agent's: it raised, hung past its deadline, gave no text, wrote too much. The episode ends as "agent" and is not
solved. Not the agent's: it raised `InfrastructureError`, `ConnectionError` or a `TimeoutError` of its own, which is how
code that asks a model over a network fails; the episode ends as "infrastructure", is tried again and never counts. Any
other error of `toolenvs` says that the set-up is wrong, and is raised on.
"""

import asyncio
import logging
import traceback
from pathlib import Path
from typing import Any

from toolenvs.errors import AgentError, EngineError, ToolenvsError
from toolenvs.rollout.agent import Action, Agent, Request

MAX_TURN_CHARS = 1 << 20
"""Characters of one turn; who writes more has failed."""
_SHOWN_CHARS = 500
_log = logging.getLogger(__name__)


class Guarded:
    """An agent whose failures are told apart.

    Args:
        agent: who acts.
        timeout_s: wall-clock seconds of one turn; None where the agent sees to it itself.
        blame: what its exceptions become: `AgentError`, or `EngineError` where it is code of ours around a model, whose
            fault they are not.
    """

    def __init__(
        self,
        agent: Agent,
        *,
        timeout_s: float | None = None,
        blame: type[AgentError] | type[EngineError] = AgentError,
    ) -> None:
        self._agent = agent
        self._timeout_s = timeout_s
        self._blame = blame

    async def act(self, request: Request) -> Action:
        """The agent's turn.

        Raises:
            AgentError: it gave none, by its own fault.
            EngineError: it gave none, since what it asks is not there.
        """
        deadline = asyncio.timeout(self._timeout_s)
        try:
            async with deadline:
                action = await self._agent.act(request)
        except ToolenvsError:
            raise
        except TimeoutError as error:
            if deadline.expired():
                raise AgentError(f"it gave no turn within {self._timeout_s:g} s") from None
            raise EngineError(f"the agent raised {told(error)}") from error
        except ConnectionError as error:
            raise EngineError(f"the agent raised {told(error)}") from error
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():  # from outside: the evaluation is given up
                raise
            raise AgentError("it cancelled itself") from None
        except (Exception, SystemExit) as error:
            raise self._blame(f"it raised {told(error)}") from error
        return checked(action)

    def release(self, key: str) -> None:
        """The episode is over; what the agent raises at that changes nothing any more."""
        try:
            self._agent.release(key)
        except Exception:
            _log.warning("the agent's release() raised", exc_info=True)


def checked(action: Any) -> Action:
    """`action`, if it is one that an episode can take.

    Raises:
        AgentError: it is not.
    """
    if not isinstance(action, Action):
        raise AgentError(f"it gave {type(action).__name__}, not an Action")
    if action.ids is None:
        checked_text(action.text)
    return action


def checked_text(text: Any) -> str:
    """`text`, if it is a turn.

    Raises:
        AgentError: it is no str, or too long.
    """
    if not isinstance(text, str):
        raise AgentError(f"it gave {type(text).__name__}, not a str")
    if len(text) > MAX_TURN_CHARS:
        raise AgentError(f"it wrote {len(text):,} characters in one turn; {MAX_TURN_CHARS:,} are the most")
    return text


def told(error: BaseException) -> str:
    """An error in a line, with the place that raised it."""
    words = " ".join(f"{type(error).__name__}: {error}".split())[:_SHOWN_CHARS]
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return words
    return f"{words} ({Path(frames[-1].filename).name}, line {frames[-1].lineno}, in {frames[-1].name})"
