"""What a recipe says about workers."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class WorkerSettings:
    """Who rolls out."""

    workers: int = 0
    """Processes that roll out, each with an engine of its own; with 0 the trainer does it itself."""
    ray_address: str = ""
    """The Ray cluster that they are started in, such as "10.0.0.1:6379" or "auto"; with "" one of this machine alone,
    which ends with the run."""
    worker_cpus: float = 1.0
    """CPU cores that each of them claims."""
    worker_gpus: float = 0.0
    """GPUs that each of them claims."""
    worker_episodes: int = 32
    """Episodes that a worker is handed at a time, in whole groups; what dies with it is rolled out again."""
    object_store_mb: int = 0
    """Bound of the memory that Ray's store of this machine takes for weights and trajectories; 0 for one that fits the
    policy."""
