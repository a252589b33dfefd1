"""The frames between a database and its engine's process: a length, then JSON; what JSON lacks is one tagged object."""

import json
import struct
from decimal import Decimal
from typing import Any

HEADER = struct.Struct("<I")


def encode(message: dict[str, Any]) -> bytes:
    """A message as a frame."""
    body = _ENCODER.encode(message).encode()
    return HEADER.pack(len(body)) + body


def decode(body: bytes | bytearray) -> dict[str, Any]:
    """The message of a frame's body.

    Raises:
        ValueError: it is none.
    """
    tagged = b'{"~' in body  # only then: the hook costs more than the rest
    message = json.loads(body, object_hook=_untagged if tagged else None)
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


def _untagged(value: dict[str, Any]) -> Any:
    if len(value) == 1:
        if "~bytes" in value:
            return bytes.fromhex(value["~bytes"])
        if "~decimal" in value:
            return Decimal(value["~decimal"])
    return value
