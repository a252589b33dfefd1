"""Hashes by which a page and its tasks are known again."""

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from toolenvs.assets import page_files
from toolenvs.errors import PageError
from toolenvs.tasks.task import Task

_WORDS = ("paper", "summary", "audit", "id")
"""What of a page changes no episode."""
_DIGITS = 16


def page_hash(page: str, overrides: Mapping[str, Any]) -> str:
    """Of what a page's file says and what is overridden; comments, the paper and the audit's notes are left out.

    Args:
        page: a bundled page's id, or a TOML file.
        overrides: keys of the page.

    Raises:
        PageError: there is no such page.
    """
    file = page_files().get(page.removeprefix("toolenvs/"), Path(page))
    try:
        table = tomllib.loads(file.read_text("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise PageError(f"{page}: cannot be read: {error}") from error
    said = {key: value for key, value in table.items() if key not in _WORDS}
    return _digest([[said, dict(overrides)]])


def tasks_hash(tasks: Iterable[Task]) -> str:
    """Of the tasks' ids, questions and golds in their order."""
    return _digest([task.id, task.question, list(task.golds)] for task in tasks)


def _digest(parts: Iterable[Any]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(json.dumps(part, sort_keys=True, default=str).encode())
    return digest.hexdigest()[:_DIGITS]
