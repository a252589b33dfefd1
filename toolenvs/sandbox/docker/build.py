"""Make the image that the docker backend runs.

    python -m toolenvs.sandbox.docker.build [--image toolenvs-sandbox:latest]

It holds this machine's Python with the packages that `sandboxes/` lists, as far as they are installed here; nothing is
pulled. To start from a registry's image instead, build `sandboxes/docker/Dockerfile`.
"""

import argparse
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

from toolenvs.errors import SandboxError
from toolenvs.sandbox import limits
from toolenvs.sandbox.docker import options, rootfs
from toolenvs.sandbox.docker.engine import Engine


def build(image: str | None = None, packages: Iterable[str] | None = None) -> list[str]:
    """Make the image at the engine; the packages in it.

    Args:
        image: its name and tag; None: what `sandboxes/docker.toml` says.
        packages: distributions, each with what it needs; None: what `sandboxes/packages.toml` lists.

    Raises:
        ConfigError: this machine's Python cannot be copied.
        MissingExtraError: the SDK is not installed.
        SandboxError: no engine answers, or it refuses the image.
    """
    name, _, tag = (image or options.defaults().image).partition(":")
    engine = Engine()
    try:
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder, "rootfs.tar")
            found = rootfs.write(archive, packages or limits.listed()["packages"])
            changes = [f"ENV PATH={rootfs.SEARCH_PATH}", 'CMD ["python3"]']
            answer = engine.api.import_image_from_file(str(archive), name, tag or "latest", changes)
        for line in answer.splitlines():
            problem = json.loads(line).get("error")
            if problem:
                raise SandboxError(f"the Docker engine refuses the image: {problem}")
    finally:
        engine.close()
    return found


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m toolenvs.sandbox.docker.build", description="Make the image.")
    parser.add_argument("--image", default=options.defaults().image, help="its name and tag")
    image = parser.parse_args().image
    print(f"{image}: Python with {', '.join(build(image))}")


if __name__ == "__main__":
    main()
