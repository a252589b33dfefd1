"""Find the folders of pages, images, data and scripts: beside the package in a checkout, inside it when installed."""

from functools import cache
from pathlib import Path

from toolenvs.errors import ConfigError

_PACKAGE = Path(__file__).resolve().parent


@cache
def folder(kind: str) -> Path:
    """The folder `kind`: "envs", "sandboxes", "corpora" or "baselines".

    Raises:
        ConfigError: the installation lacks it.
    """
    for candidate in (_PACKAGE / "_assets" / kind, _PACKAGE.parent / kind):
        if candidate.is_dir():
            return candidate
    raise ConfigError(f"no folder {kind!r} beside or inside {_PACKAGE.name}: reinstall toolenvs")


def page_files() -> dict[str, Path]:
    """Every bundled page by its id."""
    return {path.stem: path for path in sorted(folder("envs").glob("*.toml"))}
