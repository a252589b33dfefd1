"""Characters that show nothing, and could hide something from a reader, are taken out."""

import re

_ASCII = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127))
_SHOWS_NOTHING = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f"  # control characters
    "\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u3164\uffa0"  # soft hyphen, fillers
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"  # of no width, directions, annotations
    "\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # halves of pairs, tags
)
_JOINS = "[^\\s\x00-\x7f\u200c\u200d]"
_HIDING = re.compile(f"[{_SHOWS_NOTHING}]|(?<!{_JOINS})[\u200c\u200d]|[\u200c\u200d](?!{_JOINS})")
_SEPARATORS = re.compile("[\x85\u2028\u2029]")
_PLAIN = bytes((9, 10, *range(32, 127)))
_SPECIAL = re.compile(f"[{_SHOWS_NOTHING}\u200c\u200d\x85\u2028\u2029]")


def clean(text: str) -> str:
    """`text` without them; line ends are line feeds.

    A joiner or non-joiner stays between two characters that are not ASCII: scripts and emoji are written with it.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii():
        return text.translate(_ASCII)
    left = text.encode("utf-8", "surrogatepass").translate(None, _PLAIN)  # few characters, so that looking is quick
    if not _SPECIAL.search(left.decode("utf-8", "surrogatepass")):
        return text
    return _SEPARATORS.sub("\n", _HIDING.sub("", text))
