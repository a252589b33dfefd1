"""How a cell divides a program into statements and the expression at its end."""

import ast
import traceback
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.sandbox.worker import _compiled

LINES = (
    "x = 1", "x", "(x,", "1)", "x = 2; x", "'''", "y = '''", "'''; 3", '"doc"', "x = \\", "# comment", "", "  x",
    "if x:", "  pass", "else: 5", "for i in 'ab': x = i", "[i", " for i in 'ab']", "@print", "def f(): return 7", "f()",
    "  ", "*x,", "(yield)", "await x", "x := 5", "(x := 6)", "lambda: x", "\\", "6 \\", "x\r7", "\f8", "1/0", "\t9",
)  # fmt: skip


def _by_tree(code: str) -> tuple[Any, Any]:
    tree = compile(code, "<cell 1>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    body = compile(tree, "<cell 1>", "exec", dont_inherit=True) if tree.body else None
    return body, last and compile(ast.Expression(last.value), "<cell 1>", "eval", dont_inherit=True)


def _outcome(divide: Any, code: str) -> Any:
    """Its value, x and the variables, or the lines of its traceback."""
    scope: dict[str, Any] = {"__builtins__": {"print": lambda f: f}}
    try:
        body, value = divide(code, "<cell 1>") if divide is _compiled else divide(code)
        if body is not None:
            exec(body, scope)
        result = None if value is None else eval(value, scope)
    except Exception as error:
        frames = [(frame.name, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)[1:]]
        return type(error), getattr(error, "lineno", None), [line for name, line in frames if name == "<module>"]
    return *(repr(value).split(" at ")[0] for value in (result, scope.get("x"))), sorted(scope)


@given(st.lists(st.sampled_from(LINES), max_size=6).map("\n".join))
def test_the_short_way_gives_what_the_tree_gives(code: str) -> None:
    assert _outcome(_compiled, code) == _outcome(_by_tree, code)


@pytest.mark.parametrize(
    ("code", "parts"),
    [("", (False, False)), ("x = 1", (True, False)), ("1", (False, True)), ("x = 1\n\n# end\n", (True, False)),
     ("x = 1\nx\n# end", (True, True)), ("(1 +\n 2)", (False, True))],
)  # fmt: skip
def test_parts(code: str, parts: tuple[bool, bool]) -> None:
    body, value = _compiled(code, "<cell 1>")
    assert (body is not None, value is not None) == parts
