"""`toolenvs list`."""

import subprocess
import sys
from pathlib import Path

import pytest

from toolenvs.assets import page_files


def test_every_page_has_a_line(run) -> None:
    result = run("list")
    assert result.exit_code == 0
    for name in page_files():
        assert name in result.output
    (line,) = [line for line in result.output.splitlines() if line.startswith("ReTool-v0")]
    assert "python" in line
    assert "tags" in line
    assert "64 turns" in line


def test_one_page_is_shown_with_its_tools_and_the_prompt_as_the_policy_reads_it(run) -> None:
    result = run("list", "ReTool-v0", "--set", "budget.max_calls=0")
    assert result.exit_code == 0
    assert "2504.11536" in result.output
    assert '"code": {"type": "string"' in result.output
    assert "max_calls = 0\n" in result.output
    assert "Problem:\n{question}\n" in result.output
    assert result.output.rstrip().endswith("<|im_start|>assistant")


_TOOL = """
from dataclasses import dataclass
from toolenvs.tools import python

@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    greeting: str = "hello"

class Tool(python.Tool):
    name = "greet"

    def __init__(self, options):
        super().__init__(python.Options())
        self.description = f"Says {options.greeting}."

def act(request):
    return "\\\\boxed{1}"
"""


def _page_with_a_tool_of_ones_own(folder: Path) -> Path:
    (folder / "greeting_tool.py").write_text(_TOOL, encoding="utf-8")
    text = page_files()["ReTool-v0"].read_text("utf-8")
    start, end = text.index("[tools.python]"), text.index("[budget]")
    table = '[tools."greeting_tool:Tool"]\ngreeting = "good day"\n\n'
    text = (text[:start] + table + text[end:]).replace('tool = "python"', 'tool = "greeting_tool:Tool"')
    page = folder / "my.toml"
    page.write_text(text, encoding="utf-8")
    return page


def test_a_page_with_a_tool_from_elsewhere_is_shown(run, tmp_path: Path, monkeypatch) -> None:
    page = _page_with_a_tool_of_ones_own(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    result = run("list", page)
    assert result.exit_code == 0, result.exception
    assert "tool greet (greeting_tool:Tool)\nSays good day.\n" in result.output
    assert 'greeting = "good day"\n' in result.output


@pytest.mark.parametrize("command", ["list", "play", "eval"])
def test_modules_of_the_folder_that_one_is_in_are_found(tmp_path: Path, command: str) -> None:
    page = _page_with_a_tool_of_ones_own(tmp_path)
    more = {"eval": ["--agent", "greeting_tool:act", "--tasks", "1"], "list": [], "play": []}[command]
    script = Path(sys.executable).with_name("toolenvs")  # a console script, which has no such folder on its path
    told = subprocess.run(
        [script, command, page.name, *more], cwd=tmp_path, capture_output=True, text=True, input="", check=False
    )
    assert "greeting_tool" not in told.stderr
    assert told.returncode == 0, told.stderr


def test_token_budgets_are_said_to_need_a_tokenizer(run) -> None:
    (line,) = [line for line in run("list").output.splitlines() if line.startswith("ReTool-v0")]
    assert "16384 tokens with a tokenizer" in line
    assert "budget of an episode, tokens where a tokenizer is known\n" in run("list", "ReTool-v0").output
