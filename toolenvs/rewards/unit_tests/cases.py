"""Tests as files and callers write them, read strictly."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolenvs.errors import TaskError, did_you_mean

from .driver import encode

_KEYS = ("input", "output", "call", "args", "kwargs", "expected")


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """The program reads `input` and has to print `output`."""

    input: str
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A function of the program, called, has to return `expected`."""

    call: str
    """A name, or a method as "Solution.method": its class is instantiated without arguments."""
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    expected: Any = None


Case = Printed | Called


def read(tests: Any) -> tuple[Case, ...]:
    """Tests from a list of tables (or its JSON), or from a table of `inputs` and `outputs`, with `fn_name` for calls.

    Raises:
        TaskError: a test cannot be read, or there is none; the message says which and why.
    """
    if isinstance(tests, str):
        try:
            tests = json.loads(tests)
        except ValueError as error:
            raise TaskError(f"tests: not JSON: {error}") from None
    if isinstance(tests, Mapping):
        tests = _columns(tests)
    if not isinstance(tests, Sequence) or isinstance(tests, str | bytes) or not tests:
        raise TaskError("tests: a list of at least one test is needed")
    return tuple(_case(test, f"tests[{index}]") for index, test in enumerate(tests))


def _columns(table: Mapping[str, Any]) -> list[Any]:
    inputs, outputs, name = table.get("inputs"), table.get("outputs"), table.get("fn_name")
    if not isinstance(inputs, Sequence) or not isinstance(outputs, Sequence) or len(inputs) != len(outputs):
        raise TaskError("tests: a table needs lists 'inputs' and 'outputs' of the same length")
    if name is None:
        return [{"input": given, "output": wanted} for given, wanted in zip(inputs, outputs, strict=True)]
    return [{"call": name, "args": given, "expected": wanted} for given, wanted in zip(inputs, outputs, strict=True)]


def _case(test: Any, where: str) -> Case:
    if isinstance(test, Printed | Called):
        return test
    if not isinstance(test, Mapping):
        raise TaskError(f"{where}: a table is needed, not {type(test).__name__}")
    for key in test:
        if key not in _KEYS:
            raise TaskError(f"{where}: unknown key {key!r}; {did_you_mean(str(key), _KEYS)}")
    if ("output" in test) == ("call" in test):
        raise TaskError(f"{where}: give 'input' and 'output', or 'call', 'args' and 'expected'")
    if "output" in test:
        given, wanted = test.get("input", ""), test["output"]
        if not isinstance(given, str) or not isinstance(wanted, str):
            raise TaskError(f"{where}: 'input' and 'output' must be strings")
        return Printed(input=given, output=wanted)
    name, args, kwargs = test["call"], test.get("args", ()), test.get("kwargs", {})
    if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
        raise TaskError(f"{where}: 'call' must be a function's name or 'Class.method', not {name!r}")
    if not isinstance(args, list | tuple) or not isinstance(kwargs, Mapping):
        raise TaskError(f"{where}: 'args' must be a list, 'kwargs' a table")
    if "expected" not in test:
        raise TaskError(f"{where}: 'expected' is missing")
    try:
        json.dumps(encode((list(args), dict(kwargs), test["expected"])))
    except (TypeError, ValueError, RecursionError) as error:
        raise TaskError(f"{where}: {error}") from None
    return Called(call=name, args=tuple(args), kwargs=dict(kwargs), expected=test["expected"])
