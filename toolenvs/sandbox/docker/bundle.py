"""The code that a container runs: this package's own files, sent when it starts.

So an image needs Python and the packages that programs import, nothing of ours, and cannot be of another version.
"""

import json
from functools import cache
from pathlib import Path

import toolenvs
from toolenvs import assets

_HERE = "/tmp/toolenvs"
"""Where the files go: a tmpfs of the container that no program can read."""

BOOT = f"""
import os, sys
def read(size):
    data = b""
    while len(data) < size:
        piece = os.read(0, size - len(data))
        if not piece:
            os._exit(0)
        data += piece
    return data
def part():
    return read(int.from_bytes(read(8), "big"))
import json, types
for name, text in json.loads(part()).items():
    path = "{_HERE}/" + name
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
for name in ("toolenvs", "toolenvs.sandbox", "toolenvs.sandbox.docker"):
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = ["{_HERE}/" + name.replace(".", "/")]
from toolenvs.sandbox.docker import relay
relay.main(part())
"""
"""The program of a container. The packages are stood in for: their own `__init__` would import what is not there."""


def part(data: bytes) -> bytes:
    """Something of the start, as it is sent."""
    return len(data).to_bytes(8, "big") + data


@cache
def code() -> bytes:
    """The files: the sandbox, what it stands on, and its pages."""
    package = Path(toolenvs.__file__).parent
    sources = [package / "errors.py", package / "assets.py", *(package / "sandbox").rglob("*.py")]
    files = {f"toolenvs/{path.relative_to(package).as_posix()}": path for path in sources}
    files |= {f"sandboxes/{path.name}": path for path in assets.folder("sandboxes").glob("*.toml")}
    return part(json.dumps({name: path.read_text("utf-8") for name, path in files.items()}).encode())
