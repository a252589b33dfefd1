"""The agents of docs/eval.md, run as they stand there."""

import re
import sys
from pathlib import Path
from typing import Any

from toolenvs.evaluation import evaluate

_TEXT = (Path(__file__).parents[2] / "docs" / "eval.md").read_text("utf-8")
_FUNCTION, _COMMAND = re.findall(r"```python\n(.*?)^```$", _TEXT, re.DOTALL | re.MULTILINE)


def test_the_function_and_what_it_is_told() -> None:
    names: dict[str, Any] = {}
    exec(_FUNCTION, names)
    told: list[dict[str, Any]] = []

    def act(messages: list[dict[str, str]], info: dict[str, Any]) -> str:
        told.append(info)
        return str(names["act"](messages, info))

    assert evaluate(act, "ReTool-v0", tasks=1).pages["ReTool-v0"].agent_failures == 0
    comment = re.search(r"# info: (.*)", _FUNCTION)
    assert comment is not None
    assert comment[1].split(", ") == list(told[0])


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(_COMMAND, "utf-8")
    result = evaluate(f"command:{sys.executable} {tmp_path / 'agent.py'}", "ReTool-v0", tasks=3)
    assert dict(result.pages["ReTool-v0"].endings) == {"answer": 3}
