"""Virtual environments of peers, made under benchmarks/.venvs on first use, and anew when what is pinned changes."""

import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent


def peer_python(name: str, pins: Path, *, dependencies: bool = False) -> Path:
    """The Python of a peer.

    Args:
        name: of its environment.
        pins: a file of requirements.
        dependencies: whether what those require is installed too; else what the file pins and nothing besides, so that
            no requirement brings in, say, a CUDA build of torch.
    """
    folder = HERE / ".venvs" / name
    python, installed = folder / "bin" / "python", folder / "installed.txt"
    if not installed.is_file() or installed.read_text() != pins.read_text():
        print(f"installing {pins.name} into {folder}", file=sys.stderr)
        venv.create(folder, clear=True, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        subprocess.run([*pip, *([] if dependencies else ["--no-deps"]), "-r", str(pins)], check=True)
        installed.write_text(pins.read_text())
    return python
