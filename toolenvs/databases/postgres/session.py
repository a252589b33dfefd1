"""One connection to the server: rows one by one, and a cancel from this side at the deadline."""

import contextlib
import select
import time
from collections.abc import Generator
from typing import Any

import psycopg
from psycopg import pq

_CANCEL_S = 0.15
"""For the server to end a query that was cancelled; after that the connection is dropped."""


class ServerError(Exception):
    """What the server says against a query; `state` is its SQLSTATE, "" where the client itself failed."""

    def __init__(self, state: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.state = state
        self.hint = hint


class Late(Exception):
    """The query was cancelled at its deadline."""


class Session:
    """A connection that is opened again when it was dropped."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self.open()

    def open(self) -> None:
        """Connect.

        Raises:
            psycopg.OperationalError: the server does not answer.
        """
        self.connection = psycopg.connect(self._conninfo, autocommit=True, connect_timeout=10)
        self._low = self.connection.pgconn

    def script(self, sql: str) -> None:
        """Run statements of our own.

        Raises:
            ServerError: one failed.
        """
        result = self._low.exec_(sql.encode())
        if result.status not in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
            raise self._error(result)

    def ensure(self) -> None:
        """Connect again where the connection is gone."""
        if self._low.status != pq.ConnStatus.OK or self._low.transaction_status != pq.TransactionStatus.IDLE:
            with contextlib.suppress(Exception):
                self.connection.close()
            self.open()

    def rows(self, sql: str, until: float) -> Generator[Any, None, None]:
        """Run one statement by the extended protocol, which takes no second one; a one-row result for each row, and at
        last one without rows. Leaving early cancels it.

        Raises:
            Late: it was cancelled at `until`, a time of `time.monotonic`.
            ServerError: the server refused it, or it failed.
        """
        self._low.send_query_params(sql.encode(), None)
        self._low.set_single_row_mode()
        done = False
        try:
            while True:
                self._wait(until)
                result = self._low.get_result()
                if result is None:
                    done = True
                    return
                if result.status in (pq.ExecStatus.SINGLE_TUPLE, pq.ExecStatus.TUPLES_OK):
                    yield result
                elif result.status not in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.EMPTY_QUERY):
                    raise self._error(result)
        finally:
            if not done:
                self._stop()

    def _wait(self, until: float) -> None:
        """Until a result can be taken without blocking."""
        while self._low.flush():
            select.select([], [self._low.socket], [], max(until - time.monotonic(), 0))
            if time.monotonic() > until:
                raise Late
        while self._low.is_busy():
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._low.socket], [], [], left)[0]:
                raise Late
            try:
                self._low.consume_input()
            except psycopg.OperationalError as error:
                raise ServerError("", str(error)) from None

    def _stop(self) -> None:
        """Cancel what runs; where the server does not obey at once, drop the connection."""
        if self._low.status != pq.ConnStatus.OK:
            return
        until = time.monotonic() + _CANCEL_S
        with contextlib.suppress(Exception):
            self._low.get_cancel().cancel()
            while True:
                self._wait(until)
                if self._low.get_result() is None:
                    return
        self.connection.close()

    def _error(self, result: Any) -> ServerError:
        field = pq.DiagnosticField
        state, message, hint = (
            (result.error_field(one) or b"").decode("utf-8", "replace")
            for one in (field.SQLSTATE, field.MESSAGE_PRIMARY, field.MESSAGE_HINT)
        )
        return ServerError(state, message or result.error_message.decode("utf-8", "replace").strip(), hint)
