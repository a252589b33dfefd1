"""The local backend works inside a container with the engine's default settings, as root and as an ordinary user."""

import json
from pathlib import Path

import pytest

import toolenvs
from toolenvs.sandbox.docker.engine import Engine

from .conftest import IMAGE, Running

# The package's own `__init__` would import what the image lacks.
_PROGRAM = """
import json, sys, types
package = sys.modules["toolenvs"] = types.ModuleType("toolenvs")
package.__path__ = ["/src/toolenvs"]
from toolenvs import sandbox
from toolenvs.errors import ForkError
told = {}
with sandbox.open("local") as box:
    told["tier"] = box.tier
    told["stateless"] = box.run("import numpy, sympy; print(numpy.ones(3).sum(), sympy.Integer(6) * 7)").stdout
    with box.session() as session:
        session.run("x = 20")
        told["stateful"] = session.run("x + 22").value
        told["timeout"] = session.run("while True: pass", timeout_s=0.3).status
        told["kept"] = session.run("x").value
        told["memory"] = session.run("b = bytearray(2 << 30)").status
        told["file"] = session.run("open('/src/toolenvs/__init__.py').read()").status
        told["socket"] = session.run("import socket; socket.socket()").error
        told["parent"] = session.run("import os; os.kill(os.getppid(), 9)").error
        with session.fork() as copy:
            told["copy"] = copy.run("x += 1; x").value, session.run("x").value
        told["root"] = session.run("import os; os.getuid() == 0").value
print(json.dumps(told))
"""


@pytest.mark.parametrize("user", ["0:0", "12345:12345"], ids=["root", "user"])
def test_the_local_sandbox_works_inside_a_default_container(user: str, engine: Running, sdk: Engine) -> None:
    root = Path(toolenvs.__file__).parents[1]
    host = sdk.api.create_host_config(network_mode="none", binds={str(root): {"bind": "/src", "mode": "ro"}})
    command = ["python3", "-B", "-I", "-c", _PROGRAM]
    made = sdk.api.create_container(IMAGE, command, user=user, host_config=host, working_dir="/")["Id"]
    try:
        sdk.api.start(made)
        code = sdk.api.wait(made)["StatusCode"]
        said = sdk.api.logs(made).decode()
    finally:
        sdk.remove(made)
    assert code == 0, said
    told = json.loads(said)
    assert told.pop("socket").startswith("PermissionError")
    assert told.pop("parent").startswith("PermissionError")
    assert told == {
        "tier": "fork",
        "stateless": "3.0 42\n",
        "stateful": "42",
        "timeout": "timeout",
        "kept": "20",
        "memory": "memory",
        "file": "error",
        "copy": ["21", "20"],
        "root": "False",
    }
