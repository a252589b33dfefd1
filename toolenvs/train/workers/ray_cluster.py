"""Workers in a Ray cluster: one of this machine alone, or one that runs already."""

import atexit
import contextlib
import logging
import math
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from toolenvs.errors import EngineError, MissingExtraError
from toolenvs.train.workers.cluster import Cluster, WorkerDied
from toolenvs.train.workers.worker import Host

_MIN_STORE_MB = 128
_MAX_FOLDER = 40
"""Ray lays sockets some 65 characters below its folder, whose addresses may have 107."""
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # it would tell a server on the net
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
}
_SETTLE_S = 20.0


class RayCluster(Cluster):
    """Starts workers as actors.

    Args:
        count: workers that will run at once.
        address: of a cluster that runs already; "" for one of this machine alone, which is closed with this.
        cpus: cores that each worker claims.
        gpus: GPUs that each worker claims.
        threads: calls that a worker answers at once.
        store_mb: bound of the object store of a cluster of this machine.

    Raises:
        EngineError: Ray does not start, or cannot be reached.
        MissingExtraError: Ray is not installed.
    """

    def __init__(
        self,
        count: int,
        *,
        address: str = "",
        cpus: float = 1.0,
        gpus: float = 0.0,
        threads: int = 4,
        store_mb: int = _MIN_STORE_MB,
    ) -> None:
        os.environ.update({name: os.environ.get(name, value) for name, value in _QUIET.items()})
        try:
            import ray
        except ImportError as error:
            raise MissingExtraError("ray", "ray", "rolling out with workers") from error
        self._ray = ray
        self._folder: Path | None = None
        self._owned = not ray.is_initialized()
        """Whether this process was not in a cluster yet."""
        self._closed = False
        atexit.register(self.close)
        try:
            if self._owned:
                self._connect(count, address, cpus, gpus, max(store_mb, _MIN_STORE_MB))
            self._actor = ray.remote(Host).options(
                num_cpus=cpus, num_gpus=gpus, max_concurrency=threads, max_restarts=0, max_task_retries=0
            )
        except (OSError, RuntimeError, ValueError) as error:
            self.close()
            raise EngineError(f"Ray does not start{f' at {address!r}' if address else ''}: {error}") from error

    def _connect(self, count: int, address: str, cpus: float, gpus: float, store_mb: int) -> None:
        common: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if address:
            self._ray.init(address=address, **common)
            return
        self._folder = _folder()
        with _on_loopback():
            self._ray.init(
                num_cpus=max(1, math.ceil(count * cpus)),
                num_gpus=math.ceil(count * gpus),
                object_store_memory=store_mb << 20,
                include_dashboard=False,
                _temp_dir=str(self._folder),
                _node_ip_address="127.0.0.1",
                **common,
            )

    def start(self) -> Any:
        """An actor; Ray finds a machine for it."""
        return self._actor.remote()

    def call(self, hand: Any, method: str, *arguments: Any) -> Any:
        """As of any cluster."""
        return hand.call.remote(method, *arguments)

    def share(self, data: bytes) -> Any:
        """Into the object store, from which each machine fetches it once."""
        return self._ray.put(data)

    def wait(self, calls: Sequence[Any], timeout_s: float) -> list[Any]:
        """As of any cluster."""
        if not calls:
            return []
        ended, _ = self._ray.wait(list(calls), num_returns=1, timeout=timeout_s)
        more, _ = self._ray.wait(list(calls), num_returns=len(calls), timeout=0)
        return [*ended, *(call for call in more if call not in ended)]

    def result(self, call: Any) -> Any:
        """As of any cluster."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(call)
        except errors.RayTaskError as error:  # it could not even be asked
            raise EngineError(f"a worker cannot be asked; is the same toolenvs installed there? {error}") from error
        except errors.RayError as error:
            raise WorkerDied(f"a worker died: {' '.join(str(error).split())}") from error

    def end(self, hand: Any) -> None:
        """As of any cluster."""
        with contextlib.suppress(self._ray.exceptions.RayError, ValueError):
            self._ray.kill(hand)

    def close(self) -> None:
        """Leave the cluster; one of this machine ends, and its folder goes."""
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self.close)
        if self._owned:
            self._ray.shutdown()
        if self._folder is not None:
            _remove(self._folder)


@contextlib.contextmanager
def _on_loopback() -> Iterator[None]:
    """Within, Ray takes 127.0.0.1 for what it says.

    Else it puts the address in its place that others reach this machine by, listens on every one, and runs the code of
    whoever connects.
    """
    from ray._private import services

    kept = services.resolve_ip_for_localhost
    services.resolve_ip_for_localhost = lambda host: host
    try:
        yield
    finally:
        services.resolve_ip_for_localhost = kept


def _folder() -> Path:
    """A new folder for Ray's sockets and logs, under a name that is short enough for them."""
    usual = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="toolenvs-ray-", dir=usual if len(usual) <= _MAX_FOLDER - 21 else "/tmp"))


def _remove(folder: Path) -> None:
    """Remove Ray's folder; processes that are just ending may still write to it."""
    until_s = time.monotonic() + _SETTLE_S
    while folder.exists() and time.monotonic() < until_s:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.05)
