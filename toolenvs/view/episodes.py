"""An episode as the page's script reads it: a row to list it by, and all the rest to open it with."""

import base64
import json
from functools import lru_cache
from typing import Any

from toolenvs.codec import TokenCodec
from toolenvs.rollout.trajectory import CallRecord, Trajectory
from toolenvs.tokens import TokenTranscript

_MAX_BYTES_OF_CHARACTER = 4
_SHOWN_BYTES = 2_000
_LISTED_CHARACTERS = 300
_IMAGES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
"""How files of each kind begin: by what they are, not by what they are called."""


def row(trajectory: Trajectory, run: int, step: int | None) -> dict[str, Any]:
    """What the list, the filters and the comparison of runs need of an episode."""
    return {
        "run": run,
        "step": step,
        "env": trajectory.env,
        "task": trajectory.task,
        "question": trajectory.question.strip()[:_LISTED_CHARACTERS],
        "ending": trajectory.ending,
        "failed": trajectory.failed,
        "success": trajectory.success,
        "reward": trajectory.reward,
        "turns": len(trajectory.turn_rewards),
        "calls": len(trajectory.calls),
        "seconds": trajectory.seconds,
    }


def rest(trajectory: Trajectory, codec: TokenCodec | None) -> dict[str, Any]:
    """What else an opened episode shows."""
    return {
        "key": trajectory.key,
        "group": trajectory.group,
        "seed": str(trajectory.seed),  # a number of JavaScript would lose digits
        "question": trajectory.question,
        "golds": trajectory.golds,
        "fault": trajectory.fault,
        "rewards": trajectory.turn_rewards,
        "terms": trajectory.reward_terms,
        "metrics": trajectory.metrics,
        "usage": trajectory.usage,
        "calls": [_call(call) for call in trajectory.calls],
        "segments": [
            {"author": one.author.value, "text": one.text, "turn": one.turn, "scored": one.scored, "kept": one.kept}
            for one in trajectory.transcript.segments
        ],
        "tokens": None if trajectory.tokens is None else _tokens(trajectory.tokens, codec),
    }


def _call(call: CallRecord) -> dict[str, Any]:
    return {
        "turn": call.turn,
        "tool": call.tool,
        "status": call.status,
        "seconds": call.seconds,
        "arguments": {name: _argument(value) for name, value in call.arguments.items()},
        "result": call.result,
        "files": [_file(name, content) for name, content in call.files.items()],
        "page": call.page or None,
    }


def _argument(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _file(name: str, content: bytes) -> dict[str, Any]:
    """A file by its name; a picture whole, of a kind that can hold no script; of a text the beginning."""
    image = next((kind for start, kind in _IMAGES.items() if content.startswith(start)), None)
    if image is not None:
        return {"name": name, "bytes": len(content), "image": f"{image};base64,{base64.b64encode(content).decode()}"}
    beginning = content[:_SHOWN_BYTES].decode("utf-8", "replace")
    return {"name": name, "bytes": len(content), "text": beginning if "\0" not in beginning else None}


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
    if waiting:  # the beginning of a character that never came
        pieces[-1] = decode(waiting)
    return pieces
