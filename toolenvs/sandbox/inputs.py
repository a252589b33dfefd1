"""What a run is given, its program and its files: checked before they are sent."""

import operator
import secrets
from collections.abc import Mapping

from toolenvs.errors import ConfigError
from toolenvs.sandbox import outputs
from toolenvs.sandbox.result import Result

MAX_FILES = 256
"""Files that one run may be given."""
MAX_BYTES = 16 << 20
"""Their size together."""


def refused(code: str, stdin: str, code_chars: int) -> Result | None:
    """The result for a program that cannot even be sent; None for one that can."""
    if code.isascii() and stdin.isascii() and len(code) <= code_chars and len(stdin) <= code_chars:
        return None
    for name, text in (("program", code), ("standard input", stdin)):
        if len(text) > code_chars:
            return Result("error", error=f"ValueError: the {name} is longer than {code_chars} characters")
        try:
            text.encode()
        except UnicodeEncodeError as problem:
            return Result("error", error=f"UnicodeEncodeError: the {name} holds a lone surrogate: {problem.reason}")
    return None


def limit_s(timeout_s: float | None, default_s: float) -> float:
    """How long a run may take.

    Raises:
        ConfigError: the limit is no positive number.
    """
    if timeout_s is None:
        return default_s
    if not timeout_s > 0:  # nan neither
        raise ConfigError(f"sandbox: a run's timeout_s must be a positive number of seconds, not {timeout_s!r}")
    return timeout_s


def seed(given: int | None) -> int:
    """The seed of a box: `given`, or for None one that is drawn.

    Raises:
        ConfigError: it is no whole number.
    """
    if given is None:
        return secrets.randbits(63)
    try:
        return operator.index(given)  # of NumPy's types too
    except TypeError:
        raise ConfigError(f"sandbox: seed must be a whole number, or None for any, not {given!r}") from None


def check(files: Mapping[str, bytes] | None) -> dict[str, bytes]:
    """The files, which may be put into a working directory.

    Raises:
        ConfigError: a name is not plain, a content is no bytes, or there is too much of them.
    """
    checked = dict(files or {})
    for name, content in checked.items():
        if not isinstance(name, str) or not outputs.is_plain(name):
            raise ConfigError(
                f"sandbox: a run cannot be given the file {str(name)[:80]!r}: a name is letters, digits, spaces and "
                "any of . ( ) + , = @ ~ -, begins and ends with a letter, a digit or _, and has no folder before it"
            )
        if not isinstance(content, bytes):
            raise ConfigError(f"sandbox: the content of the file {name!r} must be bytes, not {type(content).__name__}")
    size = sum(map(len, checked.values()))
    if len(checked) > MAX_FILES or size > MAX_BYTES:
        given = f"{len(checked)} files of {size} bytes"
        raise ConfigError(f"sandbox: a run was given {given}; at most {MAX_FILES} of {MAX_BYTES} bytes can be")
    return checked


def block(files: Mapping[str, bytes] | None, tier: str) -> bytes:
    """The files as they are sent to a cell of `tier`.

    Raises:
        ConfigError: `check` refuses them, or nothing can be written in that tier.
    """
    if not files:
        return b""
    checked = check(files)
    if tier == "fork":
        raise ConfigError(
            f"sandbox: the file {next(iter(checked))!r} cannot be put there: in the fork tier programs have no folder; "
            "ask for min_isolation='namespace', or give the data on standard input"
        )
    return outputs.pack(checked)
