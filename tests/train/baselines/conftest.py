"""The scripts as modules, an untrained policy on disk, and an environment that needs neither sandbox nor luck."""

import contextlib
import io

import pytest

from toolenvs import sandbox
from toolenvs.errors import SandboxError
from toolenvs.rewards.judges import maths
from toolenvs.rewards.verdict import Reason, Verdict
from toolenvs.sandbox.result import Result
from toolenvs.train.metrics import MetricsWriter, read_metrics, without_times
from toolenvs.train.policy import save_policy
from toolenvs.train.tiny.model import build_model


@pytest.fixture(scope="session")
def script(load_script):
    """`script("grpo")`: the module that baselines/grpo.py is."""
    return load_script


@pytest.fixture(scope="session")
def policy(tokenizer, tmp_path_factory):
    """A folder with an untrained tiny policy."""
    return str(save_policy(tmp_path_factory.mktemp("policy"), build_model(tokenizer, seed=0), tokenizer))


class Calculator:
    """A sandbox's double that runs sums in this process; `dead` makes it fail as a sandbox that died does."""

    def __init__(self):
        self.dead = False

    async def arun(self, code, *, timeout_s, seed=0):
        if self.dead:
            raise SandboxError("the sandbox died")
        if not set(code) <= set("print()+-*0123456789 "):
            return Result("error", error="NameError: unknown")
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                exec(code)
        except SyntaxError as error:
            return Result("error", error=f"SyntaxError: {error.msg}")
        return Result("ok", stdout=printed.getvalue())


@pytest.fixture
def calculator(monkeypatch):
    box = Calculator()
    monkeypatch.setattr(sandbox, "shared", lambda **options: box, raising=False)
    return box


@pytest.fixture
def lenient_judge(monkeypatch):
    """Calls half of all replies right, by their length, so that an untrained policy has something to learn."""

    async def judge(self, moment):
        right = len(moment.transcript.text) % 2 == 0
        return Verdict(right, Reason.MATCH if right else Reason.MISMATCH)

    monkeypatch.setattr(maths.Judge, "__call__", judge)


@pytest.fixture(scope="session")
def small():
    """Settings that both scripts share in tests."""
    env = {
        "prompt.template": "plain",
        "prompt.user": "{question}\n",
        "budget.max_turns": 3,
        "tasks.set": "arithmetic",
        "tasks.size": 50,
    }
    return {"env": env, "test_env": {"tasks.split": "test"}, "test_tasks": 4, "max_turn_tokens": 8}


@pytest.fixture
def training(script, policy, small, calculator, lenient_judge, tmp_path):
    """`training("grpo", **settings)`: a `run(name, **changes)` that trains with this script and gives the folder."""

    def of(name, **settings):
        module = script(name)

        def run(folder, **changes):
            given = {"output": str(tmp_path / folder), "model": policy, **small, **settings, **changes}
            module.main(module.Args(**given))
            return tmp_path / folder

        run.module = module
        return run

    return of


@pytest.fixture
def resumed(monkeypatch):
    """`resumed(run, **settings)`: a run that nobody interrupts, and one that is interrupted after its third step and
    resumed: their numbers and their weights are the same.
    """
    write = MetricsWriter.write

    def interrupted(self, step, line):
        write(self, step, line)
        if step == 3:
            raise KeyboardInterrupt

    def both(run, **settings):
        whole = run("whole", **settings)
        with monkeypatch.context() as patch:
            patch.setattr(MetricsWriter, "write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                run("cut", **settings)
        cut = run("cut", resume=True, **settings)
        same_run(whole, cut)
        return whole, cut

    return both


def same_run(one, other):
    """That two runs have the same numbers, but for times, and the same weights."""
    some, others = (list(map(without_times, read_metrics(folder))) for folder in (one, other))
    assert some == others
    weights, others = ((folder / "model/model.safetensors").read_bytes() for folder in (one, other))
    assert weights == others
