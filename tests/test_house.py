"""The floors of the house: imports point down only, and the ground stands without what is above it."""

import ast
from pathlib import Path

import pytest

import toolenvs

PACKAGE = Path(toolenvs.__file__).parent
FLOORS = [
    {
        "errors",
        "assets",
        "plugins",
        "schema",
        "loop",
        "attended",
        "address",
        "bearer",
        "loop_thread",
        "retrying",
        "endpoint",
        "transcript",
        "codec",
        "tokens",
        "budget",
        "spaces",
        "render",
        "per_process",
        "limits",
    },
    {"tasks", "games", "world", "factbook", "sample_databases", "shop", "site_facts"},
    {"sandbox", "retrieval", "databases", "web"},
    {"protocols"},
    {"rewards"},
    {"tools"},
    {"page", "blueprint", "episode"},
    {"env", "info", "vector", "registration", "remote"},
    {"rollout"},
    {"agents"},
    {"coldstart", "train", "self_play", "filtering", "audit", "evaluation"},
    {"adapters", "view", "serve"},
    {"cli", "__main__"},
]
FLOOR = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}
FILES = sorted(PACKAGE.rglob("*.py"))


def _room(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "toolenvs" and len(parts) > 1 else None


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:  # relative: within the room
            found.add(node.module)
            if node.module == "toolenvs":
                found |= {f"toolenvs.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(PACKAGE)) for path in FILES])
def test_no_file_imports_upward(path: Path) -> None:
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own == "__init__":  # the front door
        return
    assert own in FLOOR, f"{own} has no floor: give it one"
    for module in _imports(path):
        room = _room(module)
        if room is not None and room in FLOOR:
            assert FLOOR[room] <= FLOOR[own], f"{own} imports {module}, which is above it"


def test_files_are_small() -> None:
    lines = {str(path.relative_to(PACKAGE)): len(path.read_text("utf-8").splitlines()) for path in FILES}
    assert {name: count for name, count in lines.items() if count > 600} == {}


def test_exports_exist() -> None:
    for name in toolenvs.__all__:
        assert getattr(toolenvs, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = toolenvs.nothing


def _draws(path: Path) -> list[int]:
    """Lines that draw from, or seed, the random numbers that the whole process shares."""
    tree = ast.parse(path.read_text("utf-8"))
    named = {
        alias.asname or alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }
    shared = [name for name in ("random", "numpy.random", "np.random") if name.partition(".")[0] in named]
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    drawn = (call for call in calls if isinstance(call, ast.Attribute) and call.attr.islower())
    return [call.lineno for call in drawn if ast.unparse(call.value) in shared and call.attr not in ("default_rng",)]


def test_the_process_s_random_numbers_are_left_to_its_user() -> None:
    drawn = {str(path.relative_to(PACKAGE)): lines for path in FILES if (lines := _draws(path))}
    # A cell's are the program's, and seeded for it; a checkpoint keeps the user's and gives them back.
    assert set(drawn) == {"sandbox/worker.py", "train/checkpoint.py"}
