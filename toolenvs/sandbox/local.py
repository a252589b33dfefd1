"""The `local` backend: confined processes on this machine, forked from warm fork servers. Linux only."""

import asyncio
import os
import select
import struct
import sys
import threading
import time
import weakref
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolenvs.errors import ConfigError, ForkError, IsolationError, SandboxError
from toolenvs.sandbox import base, cgroups, inputs, limits
from toolenvs.sandbox.afterwards import Afterwards
from toolenvs.sandbox.cell import COPY_LIMIT_S, Cell, Exchange, enclosure, request
from toolenvs.sandbox.pool import Pool
from toolenvs.sandbox.result import Result
from toolenvs.sandbox.turnstile import Turnstile, caller
from toolenvs.sandbox.watch import Watch


class LocalBox(base.Box):
    """Programs on this machine.

    With many sessions at once, `arun` in one event loop costs less processor time a call than `run` in a thread for
    each (`benchmarks/sandbox.py` measures both).
    """

    def __init__(
        self,
        *,
        min_isolation: str = "fork",
        tier: str | None = None,
        subprocesses: bool = False,
        seed: int | None = 0,
        **options: Any,
    ) -> None:
        """Start the strongest tier that works here, or exactly `tier`.

        Args:
            min_isolation: the weakest tier that is accepted.
            tier: the one that is wanted; None: the strongest.
            subprocesses: let programs start others, such as those of /usr/bin. Needs the hardened tier, where a control
                group bounds them all and ends them; such sessions cannot be forked.
            seed: of programs that are given none; None: one that is drawn, and can be read in `seed`.
            options: limits that replace those of `sandboxes/local.toml`.

        Raises:
            ConfigError: an option is unknown or wrong.
            IsolationError: no tier from `min_isolation` up works here; the message says why for each.
        """
        for name in (min_isolation, tier or min_isolation):
            base.check_tier(name)
        if subprocesses and (tier or "hardened") != "hardened":
            raise ConfigError(f"sandbox: subprocesses are for the hardened tier only, not for {tier!r}")
        self.limits = limits.defaults().override(options)
        self.seed = inputs.seed(seed)
        self.subprocesses = subprocesses
        self._owner = os.getpid()
        self._closed = False
        self._running = Turnstile(self.limits.max_running)
        self._sessions = Turnstile(self.limits.max_sessions)
        self._live: weakref.WeakSet[LocalSession] = weakref.WeakSet()
        self._afterwards = Afterwards()
        tiers = (tier,) if tier else base.TIERS[base.TIERS.index("hardened" if subprocesses else min_isolation) :]
        self.tier, first, self._slots = _strongest(tiers, self.limits, subprocesses, self.seed)
        self._pools = {
            kind: Pool(self.tier, kind, self.limits, slots=self._slots, subprocesses=subprocesses, seed=self.seed)
            for kind in limits.KINDS[1:]
        } | {"bare": first}
        first.refill()

    def run(
        self,
        code: str,
        *,
        timeout_s: float | None = None,
        stdin: str = "",
        seed: int | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> Result:
        """Run `code` in a fresh interpreter; see `Box.run`."""
        block = inputs.block(files, self.tier) if files else b""
        limit_s = inputs.limit_s(timeout_s, self.limits.timeout_s)
        refused = inputs.refused(code, stdin, self.limits.code_chars)
        if refused:
            return refused
        self._check_owner()
        self._running.enter()
        pool = cell = None
        try:
            pool = self._pool(code)
            cell = pool.take()
            seed = self.seed if seed is None else seed
            return _drive(self._exchange(cell, code, limit_s, stdin, seed, block, final=True))
        finally:
            self._leave(pool, cell)

    def arun(
        self,
        code: str,
        *,
        timeout_s: float | None = None,
        stdin: str = "",
        seed: int | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> Coroutine[Any, Any, Result]:
        """As `run`. Cancelling kills the program."""
        block = inputs.block(files, self.tier) if files else b""
        limit_s = inputs.limit_s(timeout_s, self.limits.timeout_s)
        seed = self.seed if seed is None else seed
        return self._arun(caller(), code, limit_s, stdin, seed, block)  # not the task that this will run in

    async def _arun(self, by: object, code: str, limit_s: float, stdin: str, seed: int, block: bytes) -> Result:
        refused = inputs.refused(code, stdin, self.limits.code_chars)
        if refused:
            return refused
        self._check_owner()
        await self._running.aenter(by)
        pool = cell = None
        try:
            pool = self._pool(code)
            cell = await _take(pool)
            return await _adrive(self._exchange(cell, code, limit_s, stdin, seed, block, final=True))
        finally:
            self._leave(pool, cell)

    def _leave(self, pool: Pool | None, cell: Cell | None) -> None:
        """End the cell of a stateless run, have the next one made, then let the next caller in."""
        if pool is None or cell is None:
            self._running.leave()
            return

        def leave() -> None:
            try:
                cell.kill()
                pool.refill()
            finally:
                self._running.leave()

        self._afterwards.do(leave)

    def session(self, *, seed: int | None = None) -> "LocalSession":
        """A stateful interpreter; waits while `max_sessions` are live."""
        self._check_owner()
        self._sessions.enter()
        return LocalSession(self, self.seed if seed is None else seed)

    def asession(self, *, seed: int | None = None) -> "Coroutine[Any, Any, LocalSession]":
        """As `session`."""
        return self._asession(caller(), seed)

    async def _asession(self, by: object, seed: int | None) -> "LocalSession":
        self._check_owner()
        await self._sessions.aenter(by)
        return LocalSession(self, self.seed if seed is None else seed)

    def close(self) -> None:
        """End every program and fork server of this box."""
        if not self._closed and self._owner == os.getpid():
            self._closed = True
            for session in list(self._live):
                session.close()
            self._sessions.end_forsaken()
            self._afterwards.close()
            for pool in self._pools.values():
                pool.close()
            if self._slots is not None:
                self._slots.close()

    @property
    def cgroups(self) -> list[Path]:
        """The control groups that hold the cells' own ones; none below the hardened tier."""
        return [] if self._slots is None else self._slots.folders

    @property
    def server_pids(self) -> list[int]:
        """Process ids of the fork servers that run now."""
        return [server.process.pid for pool in self._pools.values() for server in pool.servers]

    @property
    def _forks(self) -> bool:
        """Whether sessions can be copied."""
        return not self.subprocesses

    def _pool(self, code: str, *, lasting: bool = False) -> Pool:
        """Where a program runs; one that starts a session, whose later ones may import anything: no bare one."""
        self._check_owner()
        kind = limits.kind_for(code)
        return self._pools["full" if lasting and kind == "bare" and limits.third_party() else kind]

    def _check_owner(self) -> None:
        if self._closed:
            raise SandboxError("this sandbox is closed")
        if self._owner != os.getpid():
            raise SandboxError("this sandbox belongs to the parent process: open one here, or use sandbox.shared()")

    def _exchange(
        self, cell: Cell, code: str, limit_s: float, stdin: str, seed: int, block: bytes, *, final: bool
    ) -> Exchange:
        """Ask a cell for a run."""
        nonce = _nonce()
        reseed = seed if cell.fresh and seed != self.seed else None  # with the box's it stands ready
        message = request(code, stdin, block, nonce=nonce, timeout_s=limit_s, seed=reseed, final=final)
        enclosed = enclosure(stdin) if self.tier == "fork" else -1  # elsewhere the cell keeps it in a file
        try:
            return Exchange(cell, self.limits, message, nonce, limit_s, enclosed=enclosed)
        finally:
            if enclosed >= 0:
                os.close(enclosed)


class LocalSession(base.Session):
    """An interpreter that keeps its state."""

    def __init__(self, box: LocalBox, seed: int, cell: Cell | None = None, *, lost: bool = False) -> None:
        self._box = box
        self._seed = seed
        self._cell = cell
        self._lost = lost  # and no result has told so
        self._closed = False
        self._busy = threading.Lock()
        self._alone = base.OneAtATime(self._busy)
        box._live.add(self)

    def run(
        self, code: str, *, timeout_s: float | None = None, stdin: str = "", files: Mapping[str, bytes] | None = None
    ) -> Result:
        """Run `code`; see `Session.run`."""
        box = self._box
        block = inputs.block(files, box.tier) if files else b""
        limit_s = inputs.limit_s(timeout_s, box.limits.timeout_s)
        with self._one_at_a_time():
            refused = inputs.refused(code, stdin, box.limits.code_chars)
            if refused:
                return refused
            cell = self._cell or self._keep(box._pool(code, lasting=True).take(forkable=box._forks))
            try:
                result = _drive(box._exchange(cell, code, limit_s, stdin, self._seed, block, final=False))
            except BaseException:
                cell.kill()
                raise
            finally:
                self._forget_dead()
            return self._telling(result)

    async def arun(
        self, code: str, *, timeout_s: float | None = None, stdin: str = "", files: Mapping[str, bytes] | None = None
    ) -> Result:
        """As `run`. Cancelling kills the interpreter."""
        box = self._box
        block = inputs.block(files, box.tier) if files else b""
        limit_s = inputs.limit_s(timeout_s, box.limits.timeout_s)
        with self._one_at_a_time():
            refused = inputs.refused(code, stdin, box.limits.code_chars)
            if refused:
                return refused
            cell = self._cell or self._keep(await _take(box._pool(code, lasting=True), forkable=box._forks))
            try:
                result = await _adrive(box._exchange(cell, code, limit_s, stdin, self._seed, block, final=False))
            except BaseException:
                cell.kill()
                raise
            finally:
                self._forget_dead()
            return self._telling(result)

    def fork(self) -> "LocalSession":
        """A copy of the interpreter as it is now; see `Session.fork`.

        Absolute paths below /tmp are shared among the copies of one session; relative ones are not. To the program it
        is no fork: hooks of `os.register_at_fork` do not run.

        Raises:
            ForkError: it holds threads, files open for more than reading or written files, or subprocesses are allowed.
            SandboxError: the sandbox itself failed.
        """
        with self._one_at_a_time():
            self._check_forkable()
            self._box._sessions.enter()
            try:
                if self._cell is None:
                    return LocalSession(self._box, self._seed, lost=self._lost)
                copy, exchange = self._begin_copy(self._cell)
                try:
                    _drive(exchange)
                    return self._copied(copy, exchange)
                except BaseException:
                    copy.kill()
                    self._abandon_copying(exchange)
                    raise
                finally:
                    self._forget_dead()
            except BaseException:
                self._box._sessions.leave()
                raise

    def afork(self) -> "Coroutine[Any, Any, LocalSession]":
        """As `fork`. Cancelling leaves the session as it is."""
        return self._afork(caller())

    async def _afork(self, by: object) -> "LocalSession":
        with self._one_at_a_time():
            self._check_forkable()
            await self._box._sessions.aenter(by)
            try:
                if self._cell is None:
                    return LocalSession(self._box, self._seed, lost=self._lost)
                copy, exchange = self._begin_copy(self._cell)
                # A copy that has been asked for is made: its answer would be in the way of the next one.
                copying = asyncio.ensure_future(_adrive(exchange))
                try:
                    await base.finish_first(copying)
                    return self._copied(copy, exchange)
                except BaseException:
                    copy.kill()
                    self._abandon_copying(exchange)
                    raise
                finally:
                    self._forget_dead()
            except BaseException:
                self._box._sessions.leave()
                raise

    def _check_forkable(self) -> None:
        if not self._box._forks and self._cell is not None:
            raise ForkError("the local sandbox refuses every fork with subprocesses: replay the programs")

    def _begin_copy(self, cell: Cell) -> tuple[Cell, Exchange]:
        nonce = _nonce()
        copy: Cell | None = None
        try:
            copy = cell.begin_copy(nonce)
            return copy, Exchange(cell, self._box.limits, b"", nonce, COPY_LIMIT_S)
        except BaseException as error:
            if cell.server.dead or not isinstance(error, SandboxError):  # interrupted: an answer may be on its way
                cell.kill()
                self._forget_dead()
            if copy is not None:
                copy.kill()
            raise

    def _copied(self, copy: Cell, exchange: Exchange) -> "LocalSession":
        refusal = exchange.refusal()
        if refusal is not None:
            raise ForkError(f"this session cannot be copied: {refusal}; replay its programs in a new one")
        return LocalSession(self._box, self._seed, copy)

    def _abandon_copying(self, exchange: Exchange) -> None:
        """Without an answer the original cannot go on: the next one would be taken for it."""
        if not exchange.pump():
            exchange.cell.kill()

    def close(self) -> None:
        """End the interpreter; a run that is going on in it ends as crashed."""
        if self._closed:
            return
        self._closed = self._alone.closed = True
        try:
            if not self._busy.acquire(blocking=False):
                if self._cell is not None:
                    self._cell.end()
            else:
                if self._cell is not None:
                    self._cell.kill()
                self._busy.release()
        finally:  # interrupted too
            self._box._sessions.leave()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self._closed = True
            self._box._sessions.forsake(None if self._cell is None else self._cell.kill)

    def _one_at_a_time(self) -> base.OneAtATime:
        if self._closed:
            raise SandboxError("this session is closed")
        self._box._check_owner()
        return self._alone

    def _telling(self, result: Result) -> Result:
        """The result, with what is to be told about the session's state."""
        lost, self._lost = self._lost, False
        return replace(result, state_lost=True) if lost else result

    def _keep(self, cell: Cell) -> Cell:
        if self._closed:  # while a fork server was starting
            cell.kill()
            raise SandboxError("this session is closed")
        self._cell = cell
        return cell

    def _forget_dead(self) -> None:
        if self._cell is not None:
            if self._closed:
                self._cell.kill()
            if self._cell.closed:
                self._cell = None
                self._lost = True


def _strongest(
    tiers: tuple[str, ...], chosen: limits.Limits, subprocesses: bool, seed: int
) -> tuple[str, Pool, cgroups.Slots | None]:
    if sys.platform != "linux":
        raise IsolationError(f"the local sandbox needs Linux, not {sys.platform}: use a container or a remote backend")
    failures = []
    for tier in reversed(tiers):
        slots: cgroups.Slots | None = None
        pool: Pool | None = None
        try:
            if tier == "hardened":
                if os.geteuid() != 0:
                    raise cgroups.CgroupError("only root can give each session a user of its own")
                slots = cgroups.Slots(chosen, trees=subprocesses)
            pool = Pool(tier, "bare", chosen, slots=slots, subprocesses=subprocesses, seed=seed)
            pool.start()
            if slots is not None:
                _try_out(pool, slots, chosen)
        except (SandboxError, cgroups.CgroupError) as error:
            failures.append(str(error) if len(tiers) == 1 else f"{tier}: {error}")
            if pool is not None:
                pool.close()
            if slots is not None:
                slots.close()
            continue
        return tier, pool, slots
    raise IsolationError(f"no isolation of at least {tiers[0]!r} works here: " + "; ".join(failures))


def _try_out(pool: Pool, slots: cgroups.Slots, chosen: limits.Limits) -> None:
    """Start one cell in its control groups: only it can tell whether that is possible.

    Raises:
        SandboxError: it is not.
    """
    cell = pool.take()
    try:
        nonce = _nonce()
        message = request("", "", nonce=nonce, timeout_s=chosen.timeout_s, seed=0, final=True)
        _drive(Exchange(cell, chosen, message, nonce, chosen.timeout_s))
    finally:
        cell.kill()


_NONCES: list[int] = []


def _nonce() -> int:
    """A number of 64 bits that nobody can guess; asked of the kernel by the dozen."""
    while True:
        try:
            return _NONCES.pop()
        except IndexError:
            _NONCES.extend(struct.unpack("<64Q", os.urandom(512)))


async def _take(pool: Pool, *, forkable: bool = False) -> Cell:
    """A cell; a fork server that has to start does so beside the loop."""
    if not pool.started:
        await asyncio.to_thread(pool.start)
    return pool.take(forkable=forkable)


def _drive(exchange: Exchange) -> Result:
    """Carry an exchange through in this thread."""
    poll, control = exchange.cell.channels, exchange.cell.control.fileno()
    writing = False
    try:
        while True:
            if exchange.sending != writing:
                writing = exchange.sending
                poll.modify(control, select.POLLIN | (select.POLLOUT if writing else 0))
            left_s = exchange.deadline - time.monotonic()
            ready = poll.poll(min(left_s, 86_400.0) * 1000 + 1) if left_s > 0 else None  # it refuses a month and more
            if ready:
                if exchange.pump(ready):
                    break
            elif exchange.pump() or (time.monotonic() >= exchange.deadline and exchange.expire()):
                break
    finally:
        if writing:
            poll.modify(control, select.POLLIN)
    return exchange.conclude()


async def _adrive(exchange: Exchange) -> Result:
    """Carry an exchange through in the running loop."""
    await Watch.of_running_loop().drive(exchange)
    if not exchange.must_wait:
        return exchange.conclude()
    ending = asyncio.ensure_future(asyncio.to_thread(exchange.conclude))
    await base.finish_first(ending)
    return ending.result()
