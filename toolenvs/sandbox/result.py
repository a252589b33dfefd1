"""What one run of a program gave."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Status = Literal["ok", "error", "timeout", "memory", "output", "crashed"]


@dataclass(frozen=True, slots=True)
class Result:
    """What one run of a program gave; whatever the program does, this and no exception is the answer."""

    status: Status
    """ok; error: it raised; timeout and memory: it met that limit; output: killed for flooding its raw output;
    crashed: the interpreter ended, or answered with something else than its own result."""
    stdout: str = ""
    """What it printed, at most `output_chars` characters."""
    stderr: str = ""
    """What it wrote to standard error, its traceback at the end."""
    value: str | None = None
    """The repr of a last expression that is not None."""
    error: str | None = None
    """The last line of its traceback, or what ended it."""
    truncated: bool = False
    """Whether some output was left out."""
    seconds: float = 0.0
    """Wall time from request to answer."""
    state_lost: bool = False
    """Of a session: what earlier runs left in its interpreter is gone. It ended with this run, or had ended before it
    without a result that told so (a run that was cancelled or failed). Every loss is told once."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """What the program left, by plain names: its figures ("figure-1.png", ...: shown, or open at its end), and the
    files that it wrote to its working directory. At most 16, and 8 MB together."""
    exit_code: int | None = None
    """What the interpreter ended with, a signal as its negative number, as the kernel tells it; None where it did not
    end by itself: it lives on, finished the program, or was stopped by the sandbox."""
