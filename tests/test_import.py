"""`import toolenvs` stays light: what is heavy or optional is not even looked for."""

import json
import subprocess
import sys
from pathlib import Path

import toolenvs

HEAVY = ["torch", "transformers", "docker", "faiss", "sympy", "matplotlib", "pyarrow", "datasets", "rich", "typer"]

# Notes each attempt to import one of the names, so that a `try: import faiss` counts where faiss is not installed too.
_PROGRAM = """
import json, sys

class Watch:
    attempts = []

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HEAVY:
            self.attempts.append(name)

HEAVY = json.loads(sys.argv[1])
sys.meta_path.insert(0, Watch())
before = sorted(set(HEAVY) & set(sys.modules))
exec(sys.argv[2])
print(json.dumps(before + Watch.attempts))
"""


def _looked_for(statement: str) -> list[str]:
    """The heavy modules that a fresh interpreter looks for when it runs `statement`."""
    command = [sys.executable, "-c", _PROGRAM, json.dumps(HEAVY), statement]
    root = Path(toolenvs.__file__).parents[1]
    found: list[str] = json.loads(subprocess.check_output(command, cwd=root, text=True))
    return found


def test_import_is_light() -> None:
    assert _looked_for("import toolenvs") == []


def test_making_and_resetting_an_environment_is_light() -> None:
    statement = "import gymnasium, toolenvs; gymnasium.make('toolenvs/ReTool-v0', set='arithmetic').reset(seed=0)"
    assert _looked_for(statement) == []


def test_the_commands_and_what_measures_an_agent_need_no_torch() -> None:
    statement = "import toolenvs.cli.app, toolenvs.evaluation, toolenvs.view, toolenvs.audit, toolenvs.serve"
    assert {"torch", "transformers", "matplotlib"}.isdisjoint(_looked_for(statement))


def test_the_watch_sees_an_attempt() -> None:
    found = _looked_for("try:\n    import faiss.missing\nexcept ImportError:\n    pass")
    assert found[0] == "faiss"  # and more of it where it is installed
