"""Pages are read strictly, and every message says which file, which key and what to do."""

from pathlib import Path

import pytest

import toolenvs
from toolenvs import page as pages
from toolenvs.assets import page_files
from toolenvs.errors import PageError
from toolenvs.page import load

_TEXT = page_files()["ReTool-v0"].read_text("utf-8")


def _page(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "Mine-v0.toml"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("name", sorted(page_files()))
def test_bundled_pages_are_valid(name: str) -> None:
    page = load(name)
    assert page.id == name
    assert load(f"toolenvs/{name}") == page
    assert page.paper.url.startswith("https://")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "max_turns = 64",
            "max_trns = 64",
            r"Mine-v0.toml: budget: unknown key 'max_trns'; did you mean 'max_turns'\?",
        ),
        ("max_turns = 64", 'max_turns = "64"', "budget: max_turns: a whole number is needed, not '64'"),
        ("max_turns = 64", "max_turns = true", "budget: max_turns: a whole number is needed, not True"),
        ('keep = "middle"', 'keep = "midle"', r"keep: 'midle' is not allowed; did you mean 'middle'\?"),
        ('summary = "', 'sumary = "', r"unknown key 'sumary'; did you mean 'summary'\?"),
        ("[budget]", "[budgets]", r"unknown key 'budgets'; did you mean 'budget'\?"),
        ("summary =", "# summary =", "missing 'summary'"),
        ("[tools.python]", "[tools]\npython = 3\n[spaces]", "tools.python: a table is needed, not 3"),
        ("[prompt]", "[prompt", "Mine-v0.toml: not TOML"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in _TEXT
    with pytest.raises(PageError, match=message):
        load(_page(tmp_path, _TEXT.replace(old, new, 1)))


def test_overrides_by_section_dotted_name_and_bare_key() -> None:
    for override in ({"budget": {"max_calls": 2}}, {"budget.max_calls": 2}, {"max_calls": 2}):
        page = load("ReTool-v0", override)
        assert page.budget.max_calls == 2
        assert page.budget.max_turns == 64
    page = load("ReTool-v0", {"session": "stateful", "difficulty": 3, "user": "{question}", "reads": "policy"})
    assert page.tools["python"]["session"] == "stateful"
    assert page.tasks["difficulty"] == 3
    assert page.prompt.user == "{question}"
    assert page.judge["reads"] == "policy"
    assert load("ReTool-v0").tools["python"]["session"] == "stateless"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"max_cals": 2}, r"unknown key 'max_cals'; did you mean 'max_calls'\?"),
        ({"budget": {"max_cals": 2}}, "unknown key 'max_cals'"),
        ({"budget.max_cals": 2}, "unknown key 'max_cals'"),
        ({"answer.x": 1}, "unknown key 'answer'"),
        ({"summary.x": 1}, "is not a table"),
        ({"budget": 3}, "budget: a table is needed"),
    ],
)
def test_wrong_overrides_are_named(overrides: dict[str, object], message: str) -> None:
    with pytest.raises(PageError, match=message):
        load("ReTool-v0", overrides)


def test_an_unknown_page_is_named() -> None:
    with pytest.raises(PageError, match=r"no page 'ReTol-v0'; did you mean 'ReTool-v0'\?"):
        load("ReTol-v0")


def test_a_page_from_a_file_keeps_its_name(tmp_path: Path) -> None:
    assert load(_page(tmp_path, _TEXT)).id == "Mine-v0"


def test_tables_are_not_shared_between_loads() -> None:
    pages.parse({"id": "x", **load_table()}, "x", {"budget": {"max_calls": 1}})
    assert pages.parse({"id": "x", **load_table()}, "x").budget.max_calls is None


def load_table() -> dict[str, object]:
    import tomllib

    return tomllib.loads(_TEXT)


def test_options_of_a_term_are_overridden_by_the_terms_name() -> None:
    overrides: dict[str, object]
    for overrides in ({"wrong": -1}, {"reward.outcome.wrong": -1}):
        [outcome] = load("SearchR1-v0", overrides).reward
        assert outcome == {"term": "outcome", "wrong": -1}
    for overrides, message in (
        ({"reward.outcom.wrong": 1}, "'outcom' in 'reward.outcom.wrong' is not a table"),
        ({"reward.wrong": 1}, "name the reward's term"),
        ({"wrng": 1}, "unknown key 'wrng'"),
    ):
        with pytest.raises(PageError, match=message):
            load("SearchR1-v0", overrides)


def test_another_task_set_leaves_the_options_of_the_pages_own_behind() -> None:
    for overrides in ({"set": "mine.jsonl"}, {"tasks.set": "mine.jsonl"}, {"tasks": {"set": "mine.jsonl"}}):
        assert load("SearchR1-v0", overrides).tasks == {"set": "mine.jsonl"}
    assert load("SearchR1-v0", {"set": "mine.jsonl", "limit": 3}).tasks == {"set": "mine.jsonl", "limit": 3}
    kept = load("SearchR1-v0", {"set": "world", "max_hops": 3}).tasks
    assert kept == {"set": "world", "passages": 1000, "max_hops": 3}


def test_a_byte_order_mark_is_no_part_of_a_page(tmp_path: Path) -> None:
    path = _page(tmp_path, _TEXT)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load(path).summary == load("ReTool-v0").summary


@pytest.mark.parametrize("name", [":x", "x:", ":", "a..b:x", "not a module:x", ""])
def test_names_that_can_name_nothing(name: str) -> None:
    with pytest.raises(PageError, match="names no module; say a name or 'some.module:attribute'"):
        toolenvs.load("ReTool-v0", judge={"name": name})


def test_a_module_of_ones_own_that_is_not_there_is_told_as_such() -> None:
    told = "there is no module 'closenes' in the current folder or among the installed ones"
    with pytest.raises(PageError, match=told):
        toolenvs.load("ReTool-v0", judge={"name": "closenes:Judge"})
