"""A page with other values in its slots."""

from collections.abc import Iterable
from html import escape

from toolenvs.site_facts import Slot


def spliced(body: bytes, edits: Iterable[tuple[Slot, str]]) -> bytes:
    """`body` with a value in each of the slots.

    Raises:
        ValueError: two slots overlap, or one ends behind the body.
    """
    parts, place = [], 0
    for slot, value in sorted(edits, key=lambda edit: edit[0].start):
        if not place <= slot.start <= slot.end <= len(body):
            raise ValueError(f"the slot {slot.start} to {slot.end} does not fit a page of {len(body)} bytes")
        parts += [body[place : slot.start], escape(value).encode()]
        place = slot.end
    return b"".join((*parts, body[place:]))
