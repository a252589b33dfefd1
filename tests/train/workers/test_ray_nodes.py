"""A Ray cluster of several nodes, as processes of this machine: one of them goes, with the worker on it."""

import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

from toolenvs.train.engines.sync import push
from toolenvs.train.workers.pool import Workers

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("default")]
SAMPLES, SEED = 4, 3


@pytest.fixture
def nodes(monkeypatch):
    """A head and another node, of one core each, which are no other program's "auto"."""
    from ray._private import utils
    from ray.cluster_utils import Cluster

    monkeypatch.setattr(utils, "write_ray_address", lambda *_, **__: None)
    folder = Path(tempfile.mkdtemp(prefix="ray-nodes-", dir="/tmp"))
    common = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False, "temp_dir": str(folder)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = Cluster(initialize_head=True, head_node_args=common)
        cluster.add_node(num_cpus=1, object_store_memory=80 << 20)
    yield cluster
    cluster.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


def test_a_node_that_goes_takes_no_episode_with_it(nodes, spec, sampling, env, trainer, plain):
    from toolenvs.train.workers.ray_cluster import RayCluster

    tasks = [env.tasks[index] for index in range(8)]
    workers = Workers(RayCluster(2, address=nodes.address), spec, 2, sampling=sampling, episodes=8, start_s=120)
    try:
        push(workers, trainer, 1)
        told = plain(workers.collect(tasks, n=SAMPLES, seed=SEED))
        (other,) = nodes.worker_nodes
        advance, gone = workers._advance, []

        def striking():
            if not gone:
                gone.append(other)
                nodes.remove_node(other, allow_graceful=False)
            advance()

        workers._advance = striking
        found = plain(workers.collect(tasks, n=SAMPLES, seed=SEED))
        assert found[0] == told[0]
        assert all(map(np.array_equal, found[1], told[1]))
        assert workers.replaced == 1
        # The worker in its place waits for a node with room; the one that is left goes on alone.
        push(workers, trainer, 2)
        assert len(workers.members()) == 1
    finally:
        workers.close()
