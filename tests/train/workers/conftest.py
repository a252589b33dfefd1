"""Workers in threads of this process, which die when they are told to, and an environment that needs nothing."""

import contextlib
import itertools
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import pytest
import torch

from toolenvs import blueprint
from toolenvs.agents.engine import EngineAgent, Sampling
from toolenvs.rollout import collect
from toolenvs.train.engines.transformers import TransformersEngine
from toolenvs.train.policy import load_policy, save_policy
from toolenvs.train.tiny.model import build_model
from toolenvs.train.workers.cluster import Cluster, WorkerDied
from toolenvs.train.workers.worker import Host, WorkerSpec

PAGE = "toolenvs/SearchR1-v0"
ENV = {
    "prompt.template": "plain",
    "prompt.user": "{question}\n",
    "budget.max_turns": 2,
    "tasks.passages": 200,
    "tools.search.index": "world:200",
}
"""A policy that writes anything is reminded, so that its episodes have turns."""


@pytest.fixture(scope="session")
def folder(tokenizer, tmp_path_factory):
    """A folder with an untrained tiny policy of distributions far from uniform."""
    network = build_model(tokenizer, seed=0)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.ndim == 2:
                parameter.mul_(4)
    return str(save_policy(tmp_path_factory.mktemp("policy"), network, tokenizer))


@pytest.fixture(scope="session")
def sampling():
    return Sampling(max_turn_tokens=8)


@pytest.fixture(scope="session")
def spec(folder):
    return WorkerSpec(page=PAGE, env=ENV, test_env=ENV, model=folder, engine="transformers")


@pytest.fixture
def trainer(folder):
    """The policy of `folder`, as a trainer has it."""
    return load_policy(folder)[0]


@pytest.fixture
def env(folder):
    return blueprint.load(PAGE, tokenizer=load_policy(folder)[1], **ENV)


@pytest.fixture
def locally(env, folder, sampling):
    """`locally(tasks, n=2, seed=1)`: the same episodes without any worker."""

    async def roll_out(tasks, **options):
        agent = EngineAgent(TransformersEngine(*load_policy(folder)), sampling)
        return await collect(env, agent, tasks, **options)

    return roll_out


@pytest.fixture(scope="session")
def plain():
    """`plain(trajectories)`: all of them but their times, log-probabilities rounded apart."""

    def strip(trajectories):
        told = [trajectory.to_json() for trajectory in trajectories]
        logprobs = [trajectory.tokens.logprobs for trajectory in trajectories]
        for one in told:
            one.pop("seconds")
            one.pop("agent_seconds", None)
            one["tokens"].pop("logprobs")
            one["usage"] = {name: used for name, used in one["usage"].items() if name != "seconds"}
            one["calls"] = [{**call, "seconds": 0} for call in one["calls"]]
        return told, logprobs

    return strip


_loading = threading.Lock()
"""Transformers loads one model at a time in a process."""


SETTINGS = {"steps": 2, "prompts": 4, "samples": 2, "filter": "every", "lr": 1e-4, "test_tasks": 8, "test_every": 2}


@pytest.fixture
def run(load_script, folder, spec, tmp_path):
    """`run(name, **changes)`: train, and give the folder."""
    grpo = load_script("grpo")

    def train(name, **changes):
        output = tmp_path / name
        own = {"output": str(output), "model": folder, "page": spec.page, "env": spec.env, "max_turn_tokens": 8}
        grpo.main(grpo.Args(**{**SETTINGS, **own, **changes}))
        return output

    return train


class Process:
    """A host in a thread."""

    def __init__(self, number):
        self.number = number
        self.host = Host()
        self.thread = ThreadPoolExecutor(4, thread_name_prefix=f"worker-{number}")
        self.at_once = {"now": 0, "most": 0}
        """Rollouts that are going on, and that ever were together."""
        self.dead = threading.Event()

    @contextlib.contextmanager
    def counted(self, counts):
        self.at_once["now"] += counts
        self.at_once["most"] = max(self.at_once.values())
        yield
        self.at_once["now"] -= counts


class Threads(Cluster):
    """A cluster's double: `dies(process, method, count)` is asked before each call whether the worker dies of it."""

    def __init__(self, dies=lambda process, method, count: False):
        self.dies = dies
        self.started = []
        self.closed = False
        self.asked = []
        self._lock = threading.Lock()
        self._counts = itertools.count()

    def start(self):
        process = Process(len(self.started))
        self.started.append(process)
        return process

    def call(self, hand, method, *arguments):
        return hand.thread.submit(self._answer, hand, method, arguments)

    def _answer(self, process, method, arguments):
        with self._lock:
            self.asked.append((process.number, method))
            if self.dies(process.number, method, next(self._counts)):
                process.dead.set()
        if process.dead.is_set():
            raise WorkerDied(f"worker {process.number} died of {method}")
        with _loading if method == "open" else process.counted(method == "roll_out"):
            return process.host.call(method, *arguments)

    def share(self, data):
        return bytes(data)

    def wait(self, calls, timeout_s):
        return list(wait(calls, timeout_s, FIRST_COMPLETED).done)

    def result(self, call: Future):
        return call.result()

    def end(self, hand):
        hand.dead.set()
        hand.thread.shutdown(wait=True)
        if hand.host._worker is not None and hand.host._worker._thread.usable:
            hand.host._worker.close()  # a process would take it along

    def close(self):
        self.closed = True


@pytest.fixture
def threads():
    return Threads
