"""The frames between a database and its engine's process: a length, then a message in MessagePack.

A query is what hardly changes from one to the next, as a message that both sides keep, its seed and its text.
"""

import hashlib
import struct
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

import msgpack

HEADER = struct.Struct("<I")
REST = HEADER.pack(0)
"""An empty frame, before a query: none is expected soon."""
_QUERY = struct.Struct("<BIQ")
_IS_QUERY = 0xC1  # no message in MessagePack begins with it
_DECIMAL, _INTEGER = 1, 2


def head(**fields: Any) -> bytes:
    """All of a query but its seed and text, which may be kept for others."""
    return _pack(fields)


def query(head: bytes, seed: int, sql: bytes) -> bytes:
    """A query as a frame."""
    begins = _QUERY.pack(_IS_QUERY, len(head), seed)
    return b"".join((HEADER.pack(len(begins) + len(head) + len(sql)), begins, head, sql))


def size(rows: Sequence[Sequence[Any]]) -> int:
    """Bytes of these rows in a frame."""
    return len(_pack(rows))


def encode(message: dict[str, Any]) -> bytes:
    """A message as a frame."""
    body = _pack(message)
    return HEADER.pack(len(body)) + body


def decode_request(body: bytes) -> dict[str, Any]:
    """As `decode`, where the message may be a `query`: its fields, "seed" and "sql".

    Raises:
        ValueError: it is neither.
    """
    if body[:1] != b"\xc1":
        return decode(body)
    _, length, seed = _QUERY.unpack_from(body)
    begins = _QUERY.size + length
    return {**_fields(body[_QUERY.size : begins]), "seed": seed, "sql": body[begins:].decode()}


@lru_cache(256)
def _fields(encoded: bytes) -> dict[str, Any]:
    return decode(encoded)


def digest(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """What tells these rows, in their order, from all others of as many columns, or of other numbers of columns."""
    return f"{len(columns)}-{hashlib.sha256(_pack(rows)).hexdigest()}"


def decode(body: bytes | bytearray) -> dict[str, Any]:
    """The message of a frame's body; its sequences are tuples.

    Raises:
        ValueError: it is none.
    """
    try:
        message = _unpack(body)
    except (ValueError, ArithmeticError, msgpack.UnpackException) as error:
        raise ValueError(f"a frame that holds no message ({error})") from None
    if not isinstance(message, dict):
        raise ValueError("a frame that holds no message")
    return message


def _tagged(value: object) -> msgpack.ExtType:
    if isinstance(value, Decimal):
        return msgpack.ExtType(_DECIMAL, str(value).encode())
    if isinstance(value, int):  # of more than 64 bits
        return msgpack.ExtType(_INTEGER, str(value).encode())
    raise TypeError(f"{type(value).__name__} has no form in a frame")


def _untagged(code: int, data: bytes) -> Decimal | int:
    if code == _DECIMAL:
        return Decimal(data.decode())
    if code == _INTEGER:
        return int(data)
    raise ValueError(f"a frame with an unknown kind of value ({code})")


def _pack(value: object) -> bytes:
    # halves of surrogate pairs may stand in what an engine says of an error
    packed: bytes = msgpack.packb(value, default=_tagged, unicode_errors="surrogatepass")
    return packed


def _unpack(body: bytes | bytearray) -> object:
    return msgpack.unpackb(body, use_list=False, ext_hook=_untagged, unicode_errors="surrogatepass")
