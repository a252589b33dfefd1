"""How the host waits for a reply, without a container."""

import asyncio
from concurrent.futures import Future

import pytest

from toolenvs.sandbox.docker.box import _patiently
from toolenvs.sandbox.docker.frames import Reply


@pytest.mark.parametrize("turns", range(5))
async def test_a_cancelling_that_comes_with_the_reply_is_not_lost(turns: int) -> None:
    future: Future[Reply] = Future()
    waiting = asyncio.create_task(_patiently(future, 60.0, lambda _: None))
    await asyncio.sleep(0)
    future.set_result(Reply(1, 0))
    for _ in range(turns):
        await asyncio.sleep(0)
    if waiting.cancel():
        with pytest.raises(asyncio.CancelledError):
            await waiting
    else:
        assert (await waiting).nonce == 1
