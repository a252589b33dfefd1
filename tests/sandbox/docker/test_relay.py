"""The relay, without a container: orders that come faster than they are carried out."""

import asyncio
from collections.abc import Callable

import pytest

from toolenvs.sandbox.docker import frames
from toolenvs.sandbox.docker.frames import Reply, Request
from toolenvs.sandbox.docker.relay import Relay
from toolenvs.sandbox.local import LocalBox


class Standing(Relay):
    """A relay that is told its orders, and keeps its replies."""

    def __init__(self, box: LocalBox) -> None:
        super().__init__(box)
        self._loop = asyncio.get_running_loop()
        self._replies: asyncio.Queue[Reply] = asyncio.Queue()

    def order(self, *requests: Request) -> None:
        for request in requests:  # as from one read
            self._obey(request)

    def _send(self, reply: Reply) -> None:
        self._replies.put_nowait(reply)

    async def replies(self, count: int) -> dict[int, int]:
        """Status by nonce."""
        return {reply.nonce: reply.status for reply in [await self._replies.get() for _ in range(count)]}


def _run(nonce: int, session: int, code: bytes = b"1") -> Request:
    return Request(frames.RUN, nonce, session, 0, 10.0, code)


async def test_a_run_that_is_cancelled_before_it_begins_is_answered() -> None:
    with LocalBox(tier="fork") as box:
        relay = Standing(box)
        relay.order(_run(7, 0), Request(frames.CANCEL, 7), _run(8, 0))
        assert await relay.replies(2) == {7: frames.CANCELLED, 8: 0}
        assert not relay._tasks


_CLOSED: dict[str, Callable[[Standing], object]] = {
    "run": lambda relay: relay.order(_run(7, 1), Request(frames.CLOSE, 0, 1)),
    "run, then cancelled": lambda relay: relay.order(
        _run(7, 1), Request(frames.CANCEL, 7), Request(frames.CLOSE, 0, 1)
    ),
    "copied": lambda relay: relay.order(
        _run(6, 2), Request(frames.FORK, 7, 2, 3), Request(frames.CLOSE, 0, 3), Request(frames.CLOSE, 0, 2)
    ),
}


@pytest.mark.parametrize("how", _CLOSED)
async def test_a_session_that_is_closed_while_it_is_being_made_leaves_no_place_taken(how: str) -> None:
    with LocalBox(tier="fork", max_sessions=1) as box:
        relay = Standing(box)
        _CLOSED[how](relay)
        await relay.replies(2 if how == "copied" else 1)
        relay.order(_run(9, 4))
        assert await asyncio.wait_for(relay.replies(1), 60) == {9: 0}
        assert set(relay._sessions) == {4}
