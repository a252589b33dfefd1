"""What a client may override, however it spells it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toolenvs.assets import page_files
from toolenvs.errors import PageError
from toolenvs.serve.env import allowed
from toolenvs.serve.env.settings import ALLOWED

FINE = [
    {"max_turns": 3},
    {"budget.max_turns": None},
    {"budget": {"max_turns": 3, "keep": "tail", "max_calls_per_tool": {"python": 2}}},
    {"when_spent": "notice"},
    {"reward.outcome.correct": 2},
    {"wrong": -0.5},
    {"tasks": {"limit": 3}},
    {"tasks.split": "train"},
    {"tools.python.session": "stateless"},  # which it is
    {},
]
REFUSED = [
    {"tools.python.backend": "remote"},
    {"tools": {"python": {"url": "http://127.0.0.1:1"}}},
    {"tools": {"python": {}, "os:system": {}}},
    {"tools.search.index": "/etc"},
    {"url": "http://127.0.0.1:1"},
    {"session": "stateful"},
    {"timeout_s": 1e9},
    {"tasks.set": "/etc/passwd"},
    {"set": "/etc/passwd"},
    {"tasks": {"set": "arithmetic"}},
    {"protocol.kind": "os:system"},
    {"protocol": {"kind": "fences"}},
    {"judge.name": "subprocess:run"},
    {"judge": {"name": "maths", "reads": "all"}},
    {"reward": [{"term": "os:system"}]},
    {"reward": []},
    {"reward.outcome.term": "os:system"},
    {"prompt.user": "{question}"},
    {"observation_length": 10**9},
    {"id": "Other-v0"},
    {"summary": "s"},
]


@pytest.mark.parametrize("overrides", FINE, ids=str)
def test_what_changes_budget_reward_or_choice_of_tasks_is_let_through(overrides: dict[str, Any]) -> None:
    allowed.check("ReTool-v0", overrides, ALLOWED)


@pytest.mark.parametrize("overrides", REFUSED, ids=str)
def test_what_names_a_place_or_a_module_is_not(overrides: dict[str, Any]) -> None:
    with pytest.raises(PageError):
        allowed.check("ReTool-v0", overrides, ALLOWED)


def test_one_bad_key_among_good_ones_is_found() -> None:
    with pytest.raises(PageError, match="'set' changes tasks"):
        allowed.check("ReTool-v0", {"max_turns": 3, "set": "/etc/passwd", "max_calls": 1}, ALLOWED)


def test_a_wildcard_lets_numbers_through_and_text_needs_its_key() -> None:
    allowed.check("ReTool-v0", {"tools.python.timeout_s": 1.0}, ["tools.*"])
    for overrides in ({"tools.python.backend": "docker"}, {"tools": {"os:system": {}}}):
        with pytest.raises(PageError, match="does not let clients set"):
            allowed.check("ReTool-v0", overrides, ["tools.*", "*"])
    allowed.check("ReTool-v0", {"tools.python.session": "stateful"}, ["tools.python.session"])


def test_the_message_names_the_key_and_what_is_allowed() -> None:
    with pytest.raises(PageError, match=r"'timeout_s' changes tools.python.timeout_s, .* it lets: budget\.\*"):
        allowed.check("ReTool-v0", {"timeout_s": 1}, ["budget.*"])


def test_there_are_only_so_many() -> None:
    with pytest.raises(PageError, match="65 overrides are more than the 64"):
        allowed.check("ReTool-v0", {f"budget.k{i}": 1 for i in range(65)}, ALLOWED)


def test_no_module_that_a_client_names_is_imported() -> None:
    program = f"""
import sys
from toolenvs.errors import PageError
from toolenvs.serve.env import allowed
for overrides in {[*REFUSED, {"tools": {"this:s": {}}, "zz": 1}, {"protocol.kind": "this:s", "max_turns": 1}]!r}:
    try:
        allowed.check("ReTool-v0", overrides, {ALLOWED!r})
    except PageError:
        continue
    raise SystemExit(str(overrides))
assert "this" not in sys.modules
"""
    told = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout) == (0, ""), told.stderr


@pytest.mark.parametrize("key", ["budget" + ".a" * 5_000, "budget." + "a" * 1_000_000, "a" * 1_000_000])
def test_a_key_is_no_longer_than_keys_are(key: str) -> None:
    with pytest.raises(PageError, match=r"is longer than any key") as raised:
        allowed.check("ReTool-v0", {key: 1}, ALLOWED)
    assert len(str(raised.value)) < 200


def test_a_key_with_dots_hides_nothing_behind_another(tmp_path: Path) -> None:
    """A table "a" with the key "b", and a key "a.b" beside it, have one dotted name; both are looked at."""
    page = page_files()["ReTool-v0"].read_text("utf-8")
    nested = page.replace('set = "number_theory"', 'set = "number_theory"\nmore = {a = {b = "fine"}}')
    (tmp_path / "Nested-v0.toml").write_text(nested, "utf-8")
    for more in ({"a": {"b": "evil"}, "a.b": "fine"}, {"a.b": "evil"}):
        with pytest.raises(PageError, match="changes tasks.more.a.b"):
            allowed.check(tmp_path / "Nested-v0.toml", {"tasks": {"more": more}}, ALLOWED)
