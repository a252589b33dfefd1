"""Plain text, and JSON, as lines."""

import json

_MAX_LINES = 50_000
_MAX_JSON_CHARS = 200
"""Of a line of JSON that is shown as it is."""


def lines_of(text: str, kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The lines of a text, and what was cut off as `Document.truncated` says it."""
    if "json" in kind and len(text) > _MAX_JSON_CHARS and "\n" not in text.strip():
        text = _laid_out(text)
    lines = [line.rstrip() for line in text.replace("\xa0", " ").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    if len(lines) > _MAX_LINES:
        return tuple(lines[:_MAX_LINES]), ("lines",)
    return tuple(lines), ()


def _laid_out(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
