"""Trajectories and learning curves as one self-contained HTML file: no network, no server, no build.

Whatever a policy or a program wrote reaches the page as data, and is set as text by the page's own script, which is the
only one that its content security policy lets run. Of each episode the page holds a row to list it by; the rest is
compressed, and opened when it is looked at, so that ten thousand episodes open as quickly as ten.
"""

import base64
import hashlib
import html as markup
import json
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from toolenvs.codec import TokenCodec
from toolenvs.rollout.trajectory import Trajectory
from toolenvs.view import episodes
from toolenvs.view.packing import CHUNK, Chunks
from toolenvs.view.plain import plain
from toolenvs.view.runs import Run, read_run

__all__ = ["LIMIT", "Run", "TokenCodec", "html", "read_run", "write"]

LIMIT = 10_000
"""Episodes of a run that are embedded where the caller names no other number."""
_SCRIPTS = ("make.js", "data.js", "pages.js", "episode.js", "list.js", "curves.js", "compare.js", "tabs.js")


def write(
    path: str | Path,
    shown: Iterable[Trajectory] | Sequence[Run],
    *,
    title: str = "trajectories",
    limit: int = LIMIT,
    codec: TokenCodec | None = None,
) -> tuple[int, int]:
    """Write trajectories to an HTML file; see `html`.

    Returns:
        How many episodes were embedded, and how many there were.
    """
    text, embedded, total = _page(shown, title, limit, codec)
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return embedded, total


def html(
    shown: Iterable[Trajectory] | Sequence[Run],
    *,
    title: str = "trajectories",
    limit: int = LIMIT,
    codec: TokenCodec | None = None,
) -> str:
    """The page that shows trajectories, and of runs their curves; two runs can be looked at side by side.

    Args:
        shown: trajectories, or runs; what is iterated is read once, so a generator over a large file will do.
        title: of the page.
        limit: episodes of each run that are embedded, the first ones; the figures at the top are over all of them.
        codec: decodes the tokens that the policy sampled; without it they are shown as ids.
    """
    return _page(shown, title, limit, codec)[0]


def _page(
    shown: Iterable[Trajectory] | Sequence[Run], title: str, limit: int, codec: TokenCodec | None
) -> tuple[str, int, int]:
    rows: list[dict[str, Any]] = []
    chunks = Chunks()
    runs: list[dict[str, Any]] = []
    total = 0
    for number, run in enumerate(_as_runs(shown, title)):
        totals = _Totals()
        for step, trajectory in run.episodes:
            if totals.episodes < limit:
                rows.append(plain(episodes.row(trajectory, number, step)))
                chunks.add(episodes.rest(trajectory, codec))
            totals.count(trajectory)
        total += totals.episodes
        runs.append({"label": run.label, "totals": totals.figures(), "metrics": list(run.metrics)})
    names = rows[0] if rows else ()
    data = {
        "runs": plain(runs),
        "columns": {name: [row[name] for row in rows] for name in names},
        "chunk": CHUNK,
        "decoded": codec is not None,
    }
    script, style = "".join(map(_asset, _SCRIPTS)), _asset("style.css")
    parts = {
        "title": markup.escape(plain(title)),
        "policy": f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; img-src data:",
        "style": style,
        "data": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
        "chunks": "".join(chunks.elements()),
        "script": script,
    }
    page = re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _asset("template.html"))
    return page, len(rows), total


def _as_runs(shown: Iterable[Trajectory] | Sequence[Run], title: str) -> Sequence[Run]:
    if isinstance(shown, Sequence) and shown and all(isinstance(one, Run) for one in shown):
        return cast(Sequence[Run], shown)
    return [Run(label=title, episodes=((None, one) for one in cast(Iterable[Trajectory], shown)))]


class _Totals:
    """Figures over all episodes of a run, the ones that are not embedded included."""

    def __init__(self) -> None:
        self.episodes = 0
        self.failed = 0
        self.success = 0.0
        self.reward = 0.0

    def count(self, trajectory: Trajectory) -> None:
        self.episodes += 1
        if trajectory.failed:
            self.failed += 1
        else:
            self.success += trajectory.success or 0.0
            self.reward += trajectory.reward

    def figures(self) -> dict[str, float | None]:
        whole = self.episodes - self.failed
        return {
            "episodes": self.episodes,
            "failed": self.failed,
            "success": self.success / whole if whole else None,
            "reward": self.reward / whole if whole else None,
        }


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _source(text: str) -> str:
    """The content security policy's name for an inline script or style."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
