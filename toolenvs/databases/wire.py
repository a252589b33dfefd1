"""The frames between a database and its engine's process: a length, then JSON; what JSON lacks is one tagged object.

A query is what hardly changes from one to the next, as JSON that both sides keep, its seed and its text, NULs between.
"""

import hashlib
import json
import struct
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

HEADER = struct.Struct("<I")
REST = HEADER.pack(0)
"""An empty frame, before a query: none is expected soon."""


def head(**fields: Any) -> bytes:
    """All of a query but its seed and text, which may be kept for others."""
    return _ENCODER.encode(fields).encode() + b"\0"


def query(head: bytes, seed: int, sql: bytes) -> bytes:
    """A query, whose text holds no NUL, as a frame."""
    body = b"%b%d\0%b" % (head, seed, sql)
    return HEADER.pack(len(body)) + body


def encode(message: dict[str, Any]) -> bytes:
    """A message as a frame."""
    body = _ENCODER.encode(message).encode()
    return HEADER.pack(len(body)) + body


def decode_request(body: bytes) -> dict[str, Any]:
    """As `decode`, where the message may be a `query`: its fields, "seed" and "sql".

    Raises:
        ValueError: it is neither.
    """
    head, nul, rest = body.partition(b"\0")
    if not nul:
        return decode(body)
    seed, _, sql = rest.partition(b"\0")
    return {**_fields(head), "seed": int(seed), "sql": sql.decode()}


@lru_cache(256)
def _fields(encoded: bytes) -> dict[str, Any]:
    return decode(encoded)


def digest(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """What tells these rows, in their order, from all others of as many columns, or of other numbers of columns."""
    return f"{len(columns)}-{hashlib.sha256(_ENCODER.encode(rows).encode()).hexdigest()}"


def decode(body: bytes | bytearray) -> dict[str, Any]:
    """The message of a frame's body.

    Raises:
        ValueError: it is none.
    """
    text = body.decode()
    if '{"~' in text:  # only then: the hook costs more than the rest
        message = json.loads(text, object_hook=_untagged)
    else:
        message, end = _DECODER.raw_decode(text)
        if end != len(text):
            raise ValueError("a frame that goes on behind its message")
    if not isinstance(message, dict):
        raise ValueError("a frame that holds no message")
    return message


def _tagged(value: object) -> dict[str, str]:
    if isinstance(value, bytes):
        return {"~bytes": value.hex()}
    if isinstance(value, Decimal):
        return {"~decimal": str(value)}
    raise TypeError(f"{type(value).__name__} has no form in a frame")


_ENCODER = json.JSONEncoder(default=_tagged, separators=(",", ":"), check_circular=False)
"""Kept, since json.dumps() would make one for each message."""
_DECODER = json.JSONDecoder()


def _untagged(value: dict[str, Any]) -> Any:
    if len(value) == 1:
        if "~bytes" in value:
            return bytes.fromhex(value["~bytes"])
        if "~decimal" in value:
            return Decimal(value["~decimal"])
    return value
