"""`Recording`: a code-integrated response as somebody wrote it down, before anything in it has been run."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """One turn of the policy, and what the recording says came back."""

    turn: str
    """The turn in the page's protocol, its call or its answer included."""
    output: str | None = None
    """The recorded text of the interpreter, without its wrapper; None where nothing was recorded."""


@dataclass(frozen=True, slots=True)
class Recording:
    """The steps of one response; the last one holds the final answer."""

    steps: tuple[Step, ...]


def join(words: str, block: str) -> str:
    """A turn of words and, on a line of its own, a call or an answer."""
    words = words.strip()
    return f"{words}\n{block}" if words else block
