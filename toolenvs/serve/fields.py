"""What a JSON object of a request holds, checked key by key; faults are told in the shape that FastAPI gives them."""

import base64
import binascii
import math
from collections.abc import Collection
from typing import Any, TypeVar

from toolenvs.serve.http import Refused

_MISSING: Any = object()
T = TypeVar("T")


class Fields:
    """Reads keys of a request's body. What is wrong is collected; `check` refuses the request for all of it.

    Keys that are asked for by nobody are ignored.
    """

    def __init__(self, body: object) -> None:
        self._problems: list[dict[str, Any]] = []
        self._body: dict[str, Any] = body if isinstance(body, dict) else {}
        if not isinstance(body, dict):
            self._wrong((), "dict_type", f"the body must be a JSON object, not {_kind(body)}", None)

    def check(self) -> None:
        """Go on only if nothing was wrong.

        Raises:
            Refused: 422, with every problem.
        """
        if self._problems:
            raise Refused(422, self._problems)

    def text(self, name: str, default: str | None = _MISSING) -> str:
        """A string; null where there is a default is the default."""
        value = self._value(name, default)
        if value is None and default is not _MISSING:
            return default or ""
        if not isinstance(value, str):
            return self._wrong((name,), "string_type", f"must be a string, not {_kind(value)}", "")
        return value

    def choice(self, name: str, known: Collection[str], default: str = _MISSING) -> str:
        """One of `known`."""
        value = self._value(name, default)
        if not isinstance(value, str) or value not in known:
            only = " or ".join(repr(choice) for choice in known)
            shown = repr(value)[:80]
            return self._wrong((name,), "literal_error", f"only {only} runs on this server, not {shown}", "")
        return value

    def number(self, name: str, default: float, *, above: float, most: float, hint: str = "") -> float:
        """A finite number in (above, most]; text that holds one will do."""
        value = self._value(name, default)
        if value is None:
            return default
        try:
            number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
        except (ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            return self._wrong((name,), "float_parsing", f"must be a finite number, not {repr(value)[:80]}", default)
        if number <= above:
            return self._wrong((name,), "greater_than", f"must be more than {above:g}, not {number:g}", default)
        if number > most:
            return self._wrong((name,), "less_than_equal", f"at most {most:g} here, not {number:g}{hint}", default)
        return number

    def whole(
        self,
        name: str,
        default: int | None = None,
        *,
        least: int | None = None,
        most: int | None = None,
        hint: str = "",
    ) -> int | None:
        """A whole number from `least` to `most`, or the default."""
        value = self._value(name, default)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            return self._wrong((name,), "int_type", f"must be a whole number, not {repr(value)[:80]}", default)
        if least is not None and value < least:
            message = f"must be at least {least}, not {_digits(value)}"
            return self._wrong((name,), "greater_than_equal", message, default)
        if most is not None and value > most:
            message = f"at most {most} here, not {_digits(value)}{hint}"
            return self._wrong((name,), "less_than_equal", message, default)
        return value

    def flag(self, name: str) -> bool:
        """True or false; false where it is not there."""
        value = self._value(name, False)
        if not isinstance(value, bool):
            return self._wrong((name,), "bool_type", f"must be true or false, not {_kind(value)}", False)
        return value

    def has(self, name: str) -> bool:
        """Whether the key is there."""
        return name in self._body

    def is_text(self, name: str) -> bool:
        """Whether the key is there and holds a string."""
        return isinstance(self._body.get(name), str)

    def table(self, name: str) -> dict[str, Any]:
        """An object; an empty one where it is not there."""
        value = self._value(name, {})
        if not isinstance(value, dict):
            return self._wrong((name,), "dict_type", f"must be an object, not {_kind(value)}", {})
        return value

    def texts(
        self, name: str, default: list[str] | None = None, *, most: int | None = None, hint: str = ""
    ) -> list[str]:
        """A list of strings, `most` at most."""
        value = self._value(name, _MISSING if default is None else default)
        if not isinstance(value, list):
            return self._wrong((name,), "list_type", f"must be a list of strings, not {_kind(value)}", [])
        for index, item in enumerate(value):
            if not isinstance(item, str):
                return self._wrong((name, index), "string_type", f"must be a string, not {_kind(item)}", [])
        if most is not None and len(value) > most:
            return self._wrong((name,), "too_long", f"at most {most} here, not {len(value)}{hint}", [])
        return value

    def files(self, name: str) -> dict[str, bytes]:
        """Path -> content, which comes in base64; entries that are null are left out."""
        value = self._value(name, {})
        if not isinstance(value, dict):
            return self._wrong((name,), "dict_type", f"must be an object of path: base64, not {_kind(value)}", {})
        found: dict[str, bytes] = {}
        for path, content in value.items():
            if content is None:
                continue
            try:
                found[path] = base64.b64decode(content.encode("ascii"))
            except (AttributeError, UnicodeEncodeError, binascii.Error, ValueError):
                return self._wrong((name, path), "base64", "must be a base64 string", {})
        return found

    def _value(self, name: str, default: Any) -> Any:
        value = self._body.get(name, default)
        if value is _MISSING:
            self._wrong((name,), "missing", "Field required", None)
            return None
        return value

    def _wrong(self, where: tuple[str | int, ...], kind: str, message: str, instead: T) -> T:
        if not any(problem["loc"] in (["body"], ["body", *where]) for problem in self._problems):
            self._problems.append({"type": kind, "loc": ["body", *where], "msg": message})
        return instead


def _digits(value: int) -> str:
    """A number; one that is too long to be read is told by its size alone."""
    return str(value) if abs(value) < 10**30 else "a number of more than 30 digits"


def _kind(value: object) -> str:
    """What JSON calls it, or, of what else msgpack has, Python."""
    names = {type(None): "null", dict: "an object", list: "a list", str: "a string", bool: "true or false"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else type(value).__name__)
