"""An engine in a process of its own: it dies with its owner, and its death is an error of infrastructure."""

import os
import signal
import subprocess
import sys
import time

import pytest

from toolenvs.errors import ConfigError, EngineError
from toolenvs.train.engines.opening import open_for, open_here
from toolenvs.train.engines.process import EngineProcess, environment_of_child
from toolenvs.train.engines.sync import push
from toolenvs.train.engines.transformers import TransformersEngine


def gone(pid):
    """Whether a process is no more; waits for it, for at most a minute."""
    for _ in range(1200):
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rsplit(") ", 1)[1][0] == "Z":
                    return True
        except OSError:  # not there, or just ended
            return True
        time.sleep(0.05)
    return False


def test_a_process_s_life(folder, trainer, asked, disturb, alike):
    engine = EngineProcess(folder, engine="transformers")
    try:
        first = engine.pid
        disturb(trainer)
        assert push(engine, trainer, 2)["engine_mismatch"] < 1e-4
        before = engine.generate(asked(4))

        # Killed: an error for whoever asks, and a new process at the next push.
        os.kill(first, signal.SIGKILL)
        with pytest.raises(EngineError, match="process died"):
            engine.generate(asked(4))
        assert not engine.alive()
        assert push(engine, trainer, 3)["engine_mismatch"] < 1e-4
        second = engine.pid
        assert second != first
        alike(engine.generate(asked(4)), before)
        where = engine._folder
    finally:
        engine.close()
    assert gone(second)
    assert not where.exists()
    engine.close()


_OWNER = """
import sys, time
from toolenvs.train.engines.process import EngineProcess, environment_of_child
if __name__ == "__main__":
    engine = EngineProcess(sys.argv[1], engine="transformers")
    print(engine.pid, flush=True)
    time.sleep(600)
"""


def test_it_ends_with_an_owner_that_is_killed(folder, tmp_path):
    owner = subprocess.Popen(
        [sys.executable, "-c", _OWNER, folder], stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    pid = int(owner.stdout.readline())
    owner.kill()
    owner.wait()
    owner.stdout.close()
    assert gone(pid)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"python": "/nowhere/python"}, "cannot be run"),
        ({"model": "/nowhere/model"}, "no policy can be loaded"),
    ],
)
def test_what_cannot_start_says_why(folder, changes, said):
    given = {"model": folder, "engine": "transformers", **changes}
    with pytest.raises(EngineError, match=said):
        EngineProcess(given.pop("model"), **given)


def test_engines_are_opened_by_name(folder):
    assert isinstance(open_here("transformers", folder), TransformersEngine)
    with pytest.raises(ConfigError, match="did you mean 'vllm'"):
        open_for("vlm", folder)
    with pytest.raises(ConfigError, match="say one of them"):
        open_for("vllm", folder, python="python", url="http://127.0.0.1:1")
    with pytest.raises(ConfigError, match="max_batsch"):
        open_for("transformers", folder, options={"max_batsch": 1})


def test_an_engine_is_none_of_torchrun_s_processes_and_sees_its_own_gpu_alone():
    alone = {"PATH": "/bin", "CUDA_VISIBLE_DEVICES": "4,6"}
    assert environment_of_child(alone) == alone
    numbers = {"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"}
    of_two = {**alone, **numbers, "TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}
    assert environment_of_child(of_two) == {"PATH": "/bin", "CUDA_VISIBLE_DEVICES": "6"}
    del of_two["CUDA_VISIBLE_DEVICES"]
    assert environment_of_child(of_two) == {"PATH": "/bin", "CUDA_VISIBLE_DEVICES": "1"}
