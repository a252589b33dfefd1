"""What runs in the sandbox around a program whose function is tested; its text is sent, so: standard library only.

The order (function, arguments) comes on standard input, the value goes back as JSON that tells types apart.
"""

import json
import sys
import types
from typing import Any


def encode(value: Any) -> Any:
    """`value` as JSON that keeps its type and every digit.

    Raises:
        TypeError: it is no plain value.
    """
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return {"int": format(int(value), "x")}  # hexadecimal: decimals have a limit on digits, and take long
    if isinstance(value, float):
        return {"float": float(value).hex()}
    if isinstance(value, complex):
        return {"complex": [value.real.hex(), value.imag.hex()]}
    if isinstance(value, bytes | bytearray):
        return {"bytes": value.hex()}
    if isinstance(value, list):
        return {"list": [encode(item) for item in value]}
    if isinstance(value, tuple):
        return {"tuple": [encode(item) for item in value]}
    if isinstance(value, set | frozenset):
        return {"set": sorted((encode(item) for item in value), key=json.dumps)}
    if isinstance(value, dict):
        pairs = [[encode(key), encode(item)] for key, item in value.items()]
        return {"dict": sorted(pairs, key=lambda pair: json.dumps(pair[0]))}
    if type(value).__module__ == "numpy":
        return encode(value.tolist())
    raise TypeError(f"a value of type {type(value).__name__} cannot be compared; return a plain one")


def decode(node: Any) -> Any:
    """The inverse of `encode`."""
    if not isinstance(node, dict):
        return node
    ((kind, content),) = node.items()
    if kind == "int":
        return int(content, 16)
    if kind == "float":
        return float.fromhex(content)
    if kind == "complex":
        return complex(*map(float.fromhex, content))
    if kind == "bytes":
        return bytes.fromhex(content)
    if kind == "dict":
        return {decode(key): decode(item) for key, item in content}
    return {"list": list, "tuple": tuple, "set": set}[kind](map(decode, content))


class Shown:
    """An object that is shown as a text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def main(source: str) -> Shown:
    """Run the program as a module, call the function that is asked for, give back what it returned."""
    name, arguments, keywords = map(decode, json.loads(sys.stdin.read()))
    module = sys.modules["solution"] = types.ModuleType("solution")
    exec(compile(source, "solution.py", "exec"), module.__dict__)
    first, *rest = name.split(".")
    target = module.__dict__[first]
    for part in rest:
        target = getattr(target() if isinstance(target, type) else target, part)
    return Shown(json.dumps(encode(target(*arguments, **keywords))))
