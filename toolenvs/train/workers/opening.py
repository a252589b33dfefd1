"""The workers that a run's settings ask for."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from toolenvs.agents.engine import Sampling
from toolenvs.errors import ConfigError
from toolenvs.train.engines.opening import check_name
from toolenvs.train.workers.pool import Workers
from toolenvs.train.workers.ray_cluster import RayCluster
from toolenvs.train.workers.worker import WorkerSpec

if TYPE_CHECKING:
    from toolenvs.train.run import RunSettings

_STORE_MB = 256
"""Of the object store, beside the weights: for tasks and trajectories."""


def open_workers(settings: "RunSettings", sampling: Sampling, weights_bytes: int) -> Workers:
    """Start them.

    Args:
        settings: of the run; `workers` is at least 1.
        sampling: of training.
        weights_bytes: size of the policy's weights.

    Raises:
        ConfigError: the settings do not fit.
        EngineError: they do not start.
        MissingExtraError: Ray is not installed.
    """
    check_name(settings.engine)
    if settings.engine_url:
        raise ConfigError(
            f"workers = {settings.workers} and engine_url = {settings.engine_url!r} are both set: each worker has an "
            "engine of its own; leave one of them out"
        )
    if settings.workers < 1 or settings.worker_episodes < 1:
        raise ConfigError(
            f"workers is {settings.workers} and worker_episodes {settings.worker_episodes}: both must be at least 1"
        )
    spec = WorkerSpec(
        page=settings.page,
        env=settings.env,
        test_env={**settings.env, **settings.test_env},
        model=str(Path(settings.model).resolve()) if Path(settings.model).is_dir() else settings.model,
        engine=settings.engine,
        engine_python=settings.engine_python,
        engine_options=settings.engine_options,
        threads=settings.threads,
        folder=os.getcwd(),
    )
    cluster = RayCluster(
        settings.workers,
        address=settings.ray_address,
        cpus=settings.worker_cpus,
        gpus=settings.worker_gpus,
        # The old weights go when the last worker has the new ones.
        store_mb=settings.object_store_mb or _STORE_MB + 3 * (weights_bytes >> 20),
    )
    return Workers(cluster, spec, settings.workers, sampling=sampling, episodes=settings.worker_episodes)
