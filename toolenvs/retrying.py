"""Requests that are sent again where an answer was lost or put off: how often, after which waits, until when."""

import asyncio
import email.utils
import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
_FIRST_WAIT_S = 0.25
_LONGEST_WAIT_S = 10.0
_OWN = random.Random()  # not the process's own numbers, which its user may have seeded


class AttemptFailed(Exception):
    """One attempt failed.

    Args:
        fault: what was wrong.
        final: whether another attempt would fare no better.
        after_s: how long the server asks to wait.
    """

    def __init__(self, fault: str, *, final: bool = False, after_s: float = 0.0) -> None:
        super().__init__(fault)
        self.final = final
        self.after_s = after_s


async def retried(
    attempt: Callable[[], Awaitable[T]],
    *,
    name: str,
    error: Callable[[str], Exception],
    attempts: int,
    answer_s: float,
    end_s: float,
) -> T:
    """What the first attempt gives that succeeds; the waits between them double.

    Args:
        attempt: one of them; raises `AttemptFailed`.
        name: of what is asked, for the message.
        error: what is raised in the end.
        attempts: how many there may be.
        answer_s: after so long an attempt counts as failed.
        end_s: when the last one has to be over, as of `time.monotonic`.

    Raises:
        Exception: `error`, all of them failed, one did for good, or no time is left.
    """
    fault, tried = "no time was left", 0
    for number in range(attempts):
        left_s = end_s - time.monotonic()
        if left_s <= 0:
            break
        tried += 1
        after_s = 0.0
        try:
            async with asyncio.timeout(min(left_s, answer_s)):
                return await attempt()
        except TimeoutError:
            fault = "no answer in time"
        except AttemptFailed as failed:
            fault, after_s = str(failed), failed.after_s
            if failed.final:
                break
        left_s = end_s - time.monotonic()
        if number + 1 == attempts or after_s >= left_s:
            break
        wait_s = jittered(min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2**number))
        await asyncio.sleep(max(after_s, min(wait_s, left_s / 2)))  # time is left for another attempt
    raise error(f"{name} failed, asked {times(tried)}: {fault}")


def jittered(wait_s: float) -> float:
    """Something between half of a wait and all of it, in seconds, so that those who wait do not come back at once."""
    return wait_s * _OWN.uniform(0.5, 1.0)


def times(count: int) -> str:
    """A count in words: "once", "3 times"."""
    return "once" if count == 1 else f"{count} times"


def retry_after_s(header: str) -> float:
    """Seconds that a Retry-After header asks to wait (RFC 9110, 10.2.3): a number of them, or a date; 0 for neither."""
    header = header.strip()
    if header.isascii() and header.isdigit():
        return float(header[:9])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0
