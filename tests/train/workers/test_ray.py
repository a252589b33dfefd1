"""Workers in a real Ray cluster of this machine: one cluster and two workers for the file, looked for afterwards."""

import contextlib
import os
import signal
import warnings
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch

from toolenvs.errors import EngineError
from toolenvs.train.engines.sync import push
from toolenvs.train.metrics import read_metrics, without_times
from toolenvs.train.record import read_settings
from toolenvs.train.workers.pool import Workers
from toolenvs.train.workers.ray_cluster import RayCluster

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("default")]
STORE_MB, SAMPLES, SEED = 128, 4, 3


def leftovers():
    """Ray's usual folder, where there is one, and processes of this one."""
    return set(Path("/tmp").glob("ray")), {child.pid for child in psutil.Process().children(recursive=True)}


@pytest.fixture(scope="module")
def workers(spec, sampling):
    before = leftovers()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = RayCluster(3, store_mb=STORE_MB)  # one of them for the run below
    folder = cluster._folder
    made = Workers(cluster, spec, 2, sampling=sampling, episodes=8)
    assert folder.exists()
    yield made
    made.close()
    made.close()
    after = leftovers()
    assert not folder.exists()
    assert after[0] == before[0]
    assert after[1] <= before[1]
    import ray

    assert not ray.is_initialized()


@pytest.fixture
def tasks(env):
    return [env.tasks[index] for index in range(8)]


def pids():
    """The processes of all workers, oldest first."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "ray::Host" in " ".join(child.cmdline()):
                found.append((child.create_time(), child.pid))
    return [pid for _, pid in sorted(found)]


async def test_trajectories_are_the_same_as_in_the_trainer_itself(workers, tasks, locally, plain, trainer):
    assert push(workers, trainer, 0)["engine_mismatch_max"] < 1e-3
    told, logprobs = plain(await locally(tasks, n=SAMPLES, seed=SEED))
    found, numbers = plain(workers.collect(tasks, n=SAMPLES, seed=SEED))
    assert found == told
    assert all(np.allclose(some, others, atol=1e-4) for some, others in zip(logprobs, numbers, strict=True))
    again = plain(workers.collect(tasks, n=SAMPLES, seed=SEED))
    assert again[0] == found
    assert all(map(np.array_equal, again[1], numbers))


def test_nothing_of_it_listens_beyond_this_machine(workers):
    found = []
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            found += [one.laddr.ip for one in process.net_connections(kind="inet") if one.status == "LISTEN"]
    assert found
    assert {ip.removeprefix("::ffff:") for ip in found} == {"127.0.0.1"}


def test_many_pushes_stay_within_the_store(workers, monkeypatch):
    import ray

    # Each of them takes a quarter of the store, so that what is not let go would spill to disk.
    ballast = {"model.norm.weight": torch.ones((STORE_MB << 18) // 4)}
    monkeypatch.setattr(Workers, "_load", lambda self, member: self._ask(member, "load_nothing", self._weights))
    monkeypatch.setattr(
        Workers, "_answered", lambda self, asked, kind, value: setattr(asked.member, "version", self.version)
    )
    for version in range(1, 9):
        workers.push_weights(ballast, version)
    assert ray.cluster_resources()["object_store_memory"] <= STORE_MB << 20
    assert list(Path(workers._cluster._folder).rglob("ray_spilled_objects*/*")) == []


def test_a_killed_worker_loses_nothing(workers, tasks, trainer, plain, monkeypatch):
    push(workers, trainer, 20)
    told = plain(workers.collect(tasks, n=SAMPLES, seed=SEED))
    advance, killed = workers._advance, []

    def striking():
        left = [pid for pid in pids() if pid not in killed]
        if left and not killed and any(asked.method == "roll_out" for asked in workers._asked.values()):
            killed.append(left[0])
            os.kill(killed[-1], signal.SIGKILL)
        advance()

    monkeypatch.setattr(workers, "_advance", striking)
    found = plain(workers.collect(tasks, n=SAMPLES, seed=SEED))
    assert found[0] == told[0]
    assert all(map(np.array_equal, found[1], told[1]))
    assert workers.replaced == len(killed) == 1
    assert {version for one in found[0] for version in one["tokens"]["versions"]} == {-1, 20}
    assert push(workers, trainer, 21)["engine_mismatch"] < 1e-3


def test_a_run_with_workers_has_the_numbers_of_one_without(workers, run):
    alone = [without_times(line) for line in read_metrics(run("alone"))]
    folder = run("workers", workers=1, worker_episodes=4)
    lines = [without_times(line) for line in read_metrics(folder)]
    assert [line["step"] for line in lines] == [0, 1, 2]
    for one, other in zip(lines, alone, strict=True):
        assert one.pop("workers_replaced", 0) == 0
        pushed = {name: one.pop(name) for name in ("engine_mismatch", "engine_mismatch_max") if name in one}
        assert one == pytest.approx(other, abs=1e-3)
        assert all(value < 1e-3 for value in pushed.values())
    assert read_settings(folder)["versions"]["ray"]
    assert (folder / "model/model.safetensors").exists()


def test_a_cluster_that_is_not_there_is_an_error(monkeypatch):
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **_: (_ for _ in ()).throw(ConnectionError("nobody there")))
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    with pytest.raises(EngineError, match="Ray does not start at '127.0.0.1:1': nobody there"):
        RayCluster(1, address="127.0.0.1:1")
