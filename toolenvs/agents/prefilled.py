"""An agent whose turns begin with tokens that are there already: given to the policy, or sampled by it before."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from toolenvs.agents.engine import EngineAgent
from toolenvs.rollout.agent import Action, Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What a turn begins with."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...] = ()
    """Of each id under the policy as it is; none where the ids were given to it, which then is not trained on them."""
    whole: bool = False
    """Whether it is all of the turn."""


Prefill = Callable[[Request], Beginning | None]
"""What the turn that is asked for begins with; None where the policy writes all of it."""


class Prefilled:
    """Writes turns that begin as `prefill` says, and has the policy go on from there.

    Args:
        agent: the policy.
        prefill: see `Prefill`.
    """

    def __init__(self, agent: EngineAgent, prefill: Prefill) -> None:
        self._agent = agent
        self._prefill = prefill

    async def act(self, request: Request) -> Action:
        """See `Agent.act`. Ids that leave the policy no room in its budget are cut to leave it one token.

        Ids that it was given count in the page's budget, and not among those that it may sample in a turn.
        """
        self._agent.expect(request.key)  # else a batch is generated without an episode that is about to join it
        beginning = self._prefill(request)
        if beginning is None or not beginning.ids:
            return await self._agent.act(request)
        ids, given = beginning.ids, not beginning.logprobs
        room = request.max_new_tokens if given else self._agent.room(request)
        if room is not None and len(ids) > room - (not beginning.whole):
            ids, beginning = ids[: room - 1], replace(beginning, whole=False)
        if not beginning.whole:
            left = None if room is None else room - len(ids)
            rest = await self._agent.act(replace(request, ids=(*(request.ids or ()), *ids), max_new_tokens=left))
        else:
            rest = Action(ids=(), version=self._agent.engine.version)
        logprobs = (0.0,) * len(ids) if given else beginning.logprobs[: len(ids)]
        return replace(
            rest,
            ids=(*ids, *(rest.ids or ())),
            logprobs=(*logprobs, *rest.logprobs),
            given=len(ids) if given else 0,
        )

    def expect(self, key: str) -> None:
        """See `EngineAgent.expect`."""
        self._agent.expect(key)

    def release(self, key: str) -> None:
        """See `Agent.release`."""
        self._agent.release(key)
