"""Trajectories as one self-contained HTML file: no network, no server, no build.

Whatever a policy or a program wrote reaches the page as data: escaped in Python, or set as text by the page's own
script, which is the only one that its content security policy lets run.
"""

import base64
import hashlib
import html as markup
import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from toolenvs import render
from toolenvs.codec import TokenCodec
from toolenvs.rollout.trajectory import Trajectory
from toolenvs.tokens import TokenTranscript

__all__ = ["LIMIT", "TokenCodec", "html", "write"]

LIMIT = 200
"""Episodes that are embedded where the caller names no other number."""
_MAX_BYTES_OF_CHARACTER = 4
_SHOWN_BYTES = 2_000
_IMAGES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
"""How files of each kind begin: by what they are, not by what they are called."""
_CONTROLS = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"} | {127: "\u2421"}
_DIRECTIONS = {
    code: f"[U+{code:04X}]" for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_VISIBLE = _CONTROLS | _DIRECTIONS | _SURROGATES
"""What a browser would drop or obey, or no file can hold, as something to see: control characters, marks that turn text
around, halves of characters."""


def write(
    path: str | Path,
    trajectories: Iterable[Trajectory],
    *,
    title: str = "trajectories",
    limit: int = LIMIT,
    codec: TokenCodec | None = None,
) -> tuple[int, int]:
    """Write trajectories to an HTML file; see `html`.

    Returns:
        How many episodes were embedded, and how many there were.
    """
    text, embedded, total = _page(trajectories, title, limit, codec)
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return embedded, total


def html(
    trajectories: Iterable[Trajectory],
    *,
    title: str = "trajectories",
    limit: int = LIMIT,
    codec: TokenCodec | None = None,
) -> str:
    """The page that shows trajectories.

    Args:
        trajectories: what to show; read once, so a generator over a large file will do.
        title: of the page.
        limit: episodes that are embedded, the first ones; the figures at the top are over all of them.
        codec: decodes the tokens that the policy sampled; without it they are shown as ids.
    """
    return _page(trajectories, title, limit, codec)[0]


def _page(trajectories: Iterable[Trajectory], title: str, limit: int, codec: TokenCodec | None) -> tuple[str, int, int]:
    remaining = iter(trajectories)
    totals = _Totals()
    episodes = [_episode(totals.count(one), codec) for one in itertools.islice(remaining, limit)]
    for one in remaining:
        totals.count(one)
    data = {"episodes": episodes, "totals": totals.figures(), "decoded": codec is not None}
    script, style = _asset("pages.js") + _asset("script.js"), render.CSS + _asset("style.css")
    parts = {
        "title": markup.escape(_plain(title)),
        "policy": f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; img-src data:",
        "style": style,
        "data": json.dumps(_plain(data), separators=(",", ":")).replace("<", "\\u003c"),
        "script": script,
    }
    page = re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _asset("template.html"))
    return page, len(episodes), totals.episodes


class _Totals:
    """Figures over all episodes, the ones that are not embedded included."""

    def __init__(self) -> None:
        self.episodes = 0
        self.failed = 0
        self.success = 0.0
        self.reward = 0.0

    def count(self, trajectory: Trajectory) -> Trajectory:
        self.episodes += 1
        if trajectory.failed:
            self.failed += 1
        else:
            self.success += trajectory.success or 0.0
            self.reward += trajectory.reward
        return trajectory

    def figures(self) -> dict[str, float | None]:
        whole = self.episodes - self.failed
        return {
            "episodes": self.episodes,
            "failed": self.failed,
            "success": self.success / whole if whole else None,
            "reward": self.reward / whole if whole else None,
        }


def _episode(trajectory: Trajectory, codec: TokenCodec | None) -> dict[str, Any]:
    return {
        "env": trajectory.env,
        "task": trajectory.task,
        "key": trajectory.key,
        "group": trajectory.group,
        "seed": str(trajectory.seed),  # a number of JavaScript would lose digits
        "question": trajectory.question,
        "golds": trajectory.golds,
        "ending": trajectory.ending,
        "failed": trajectory.failed,
        "success": trajectory.success,
        "fault": trajectory.fault,
        "reward": trajectory.reward,
        "rewards": trajectory.turn_rewards,
        "terms": trajectory.reward_terms,
        "usage": trajectory.usage,
        "seconds": trajectory.seconds,
        "calls": [
            {
                "turn": call.turn,
                "tool": call.tool,
                "status": call.status,
                "seconds": call.seconds,
                "arguments": {name: _argument(value) for name, value in call.arguments.items()},
                "result": call.result,
                "files": [_file(name, content) for name, content in call.files.items()],
                "page": call.page or None,
            }
            for call in trajectory.calls
        ],
        "transcript": render.html(trajectory.transcript),
        "turns": [segment.turn for segment in trajectory.transcript.segments],
        "tokens": None if trajectory.tokens is None else _tokens(trajectory.tokens, codec),
    }


def _tokens(tokens: TokenTranscript, codec: TokenCodec | None) -> dict[str, Any]:
    ids = tokens.ids.tolist()
    return {
        "ids": ids,
        "text": None if codec is None else _pieces(ids, codec),
        "mask": "".join(map(str, tokens.mask.tolist())),
        "logprobs": [round(logprob, 4) for logprob in tokens.logprobs.tolist()],
    }


def _pieces(ids: list[int], codec: TokenCodec) -> list[str]:
    """Text of each token; a character that several tokens spell stands on the last of them."""
    decode = lru_cache(maxsize=65_536)(codec.decode)
    pieces: list[str] = []
    waiting: tuple[int, ...] = ()
    for token in ids:
        waiting += (token,)
        text = decode(waiting)
        if text.endswith("\ufffd") and len(waiting) < _MAX_BYTES_OF_CHARACTER:
            pieces.append("")
            continue
        pieces.append(text)
        waiting = ()
    return pieces


def _file(name: str, content: bytes) -> dict[str, Any]:
    """A file by its name; a picture whole, of a kind that can hold no script; of a text the beginning."""
    image = next((kind for start, kind in _IMAGES.items() if content.startswith(start)), None)
    if image is not None:
        return {"name": name, "bytes": len(content), "image": f"{image};base64,{base64.b64encode(content).decode()}"}
    beginning = content[:_SHOWN_BYTES].decode("utf-8", "replace")
    return {"name": name, "bytes": len(content), "text": beginning if "\0" not in beginning else None}


def _argument(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _plain(value: Any) -> Any:
    """`value` as JSON can hold it and a reader can see it: no infinite number, no invisible character."""
    if isinstance(value, str):
        return value.translate(_VISIBLE)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_plain(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _source(text: str) -> str:
    """The content security policy's name for an inline script or style."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
