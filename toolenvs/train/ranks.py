"""The processes of one training run, as torchrun starts them, each with its rank.

    torchrun --nproc-per-node 2 baselines/grpo.py ...

Without torchrun there is one process: then each function here is what it means for one, and nothing is started.

A process that dies closes its connections, and one that hangs runs into the timeout; the others then end with a
`RankError`. All of them must call what waits for all (`total`, `gather`, `meet`) in the same order.
"""

import atexit
import contextlib
import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from toolenvs.errors import RankError

T = TypeVar("T")

TIMEOUT_S = 1800.0
"""Wall-clock seconds that processes wait for one another: longer than any rollout takes."""
_SIGNS = ("gloo", "nccl", "connection closed", "connection reset", "timed out", "monitoredbarrier", "tcpstore")
"""Words of the errors that torch raises where another process is gone."""

_control: Any = None
"""A group on the CPU, for objects and for waiting."""
_timeout_s = TIMEOUT_S


def start(timeout_s: float = TIMEOUT_S) -> None:
    """Join the other processes that torchrun started; a second call does nothing.

    Args:
        timeout_s: wall-clock seconds after which a process that is waited for has failed.

    Raises:
        RankError: they did not all come.
    """
    global _control, _timeout_s
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or dist.is_initialized():
        return
    backend = "gloo"
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        backend = "cpu:gloo,cuda:nccl"
    _timeout_s = timeout_s
    with explained("the start"):
        dist.init_process_group(backend, timeout=timedelta(seconds=timeout_s))
        _control = dist.new_group(backend="gloo", timeout=timedelta(seconds=timeout_s))


def end() -> None:
    """Wait for the others at the end of a run that went well; a further run in the same processes may follow."""
    if size() > 1:
        meet("the end of the run")
        atexit.unregister(_leave)
        atexit.register(_leave)


def _leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


@contextlib.contextmanager
def joined(timeout_s: float = TIMEOUT_S) -> Iterator[None]:
    """Within, the processes that torchrun started are joined, and errors of connections say what they mean."""
    start(timeout_s)
    with explained("the run"):
        yield
        end()


def size() -> int:
    """Number of processes."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """This process's number, from 0."""
    return dist.get_rank() if size() > 1 else 0


def chief() -> bool:
    """Whether this is the process that writes and prints."""
    return rank() == 0


def share(count: int) -> range:
    """This process's part of `count` pieces of work."""
    return range(count * rank() // size(), count * (rank() + 1) // size())


def shared(count: int, work: Callable[[range], list[T]]) -> list[T]:
    """`work` on a part of `count` pieces in each process; every process gets the results of all, in order."""
    if size() == 1:
        return work(range(count))
    return [one for part in gather(work(share(count))) for one in part]


def by_first(count: int, work: Callable[[range], list[T]]) -> list[T]:
    """`work` on all `count` pieces in the first process; every process gets the results."""
    return gather(work(range(count)) if chief() else [])[0]


def gather(value: T) -> list[T]:
    """The values of all processes, by rank, in each of them.

    Raises:
        RankError: a process died, or did not come in time.
    """
    if size() == 1:
        return [value]
    meet("gathering")
    values: list[Any] = [None] * size()
    with explained("gathering"):
        dist.all_gather_object(values, value, group=_control)
    return values


def total(values: Tensor) -> Tensor:
    """The sum of all processes' values.

    Raises:
        RankError: a process died, or did not come in time.
    """
    if size() == 1:
        return values
    values = values.clone()
    with explained("a sum"):
        dist.all_reduce(values)
    return values


def meet(what: str) -> None:
    """Wait for all processes.

    Args:
        what: where, for the error message.

    Raises:
        RankError: a process died, or did not come in time.
    """
    if size() > 1:
        with explained(what):
            dist.monitored_barrier(group=_control, timeout=timedelta(seconds=_timeout_s), wait_all_ranks=True)


@contextlib.contextmanager
def explained(where: str) -> Iterator[None]:
    """Within, an error of torch that comes of another process's end is raised as what it is."""
    try:
        yield
    except RuntimeError as error:
        explain(error, where)
        raise


def explain(error: BaseException, where: str) -> None:
    """Raise a `RankError` from an error of torch that comes of another process's end; else do nothing.

    Raises:
        RankError: it does.
    """
    said = " ".join(str(error).split())
    if not isinstance(error, RuntimeError) or int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return
    if isinstance(error, dist.DistError) or any(sign in said.lower() for sign in _SIGNS):
        raise RankError(
            f"rank {os.environ.get('RANK', '0')} waited for the other processes at {where}, and one of them died or "
            f"did not come within {_timeout_s:g} s. Look for the first error among their outputs; where all of them "
            f"work and one takes long, give them more time (rank_timeout_s). torch says: {said[:500]}"
        ) from error
