"""Suites: the bundled ones are as they were pinned; a change is told; files are read strictly."""

from pathlib import Path

import pytest

from toolenvs.errors import ConfigError, PageError
from toolenvs.evaluation import evaluate, load_suite, suite_files
from toolenvs.evaluation.pins import page_hash
from toolenvs.evaluation.running import prepare
from toolenvs.evaluation.suites import pin
from toolenvs.page import load

_TEXT = """# what it is for
summary = "Two pages"
n = 2
seed = 5

[sampling]
temperature = 0.5

[[pages]]
name = "maths"      # a page
page = "ReTool-v0"
tasks = 3
split = "train"
overrides = { max_calls = 1 }

[[pages]]
name = "search"
page = "SearchR1-v0"
ids = ["world/test/0/4", "world/test/0/2"]
split = "test"
[pages.overrides]
max_turns = 3
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    file = tmp_path / "own.toml"
    file.write_text(_TEXT)
    return file


def _pin(file: Path) -> None:
    ready = [prepare(page) for page in load_suite(str(file)).pages]
    hashes = {each.name: (str(each.setting["page_hash"]), str(each.setting["tasks_hash"])) for each in ready}
    file.write_text(pin(file.read_text(), hashes))


@pytest.mark.parametrize("name", sorted(suite_files()))
def test_bundled_suites_are_as_they_were_pinned(name: str) -> None:
    """Where this fails, a page or its tasks changed on purpose: `toolenvs suite pin NAME`, and new reference rows."""
    suite = load_suite(name)
    assert suite.summary
    for page in suite.pages:
        assert page.page_hash == page_hash(page.page, page.changed), page.name
        assert page.tasks_hash
        assert load(page.page, page.changed)


def test_the_tasks_of_the_small_suite_are_as_they_were_pinned() -> None:
    for page in load_suite("toolenvs-lite").pages:
        ready = prepare(page)
        assert ready.warnings == ()
        assert len(ready.tasks) == page.tasks
        ready.close()


def test_a_suite_is_evaluated_with_what_it_pins(suite: Path) -> None:
    result = evaluate("oracle", suite=str(suite))
    assert {name: (m.success, m.episodes) for name, m in result.pages.items()} == {"maths": (1, 6), "search": (1, 4)}
    assert [t.task for t in result.trajectories if t.group == "search/0"] == ["world/test/0/4"] * 2
    assert all(t.task.startswith("number_theory/train/") for t in result.trajectories if t.env == "ReTool-v0")
    setting = result.setting
    assert (setting["suite"], setting["n"], setting["seed"], setting["sampling"]["temperature"]) == ("own", 2, 5, 0.5)
    assert setting["pages"][1]["overrides"] == {"tasks.split": "test", "max_turns": 3}
    assert result.warnings == ()


def test_a_comment_above_a_page_stays_above_it() -> None:
    one, two = '[[pages]]\nname = "a"\npage = "A"\ntasks = 1\n', '[[pages]]\nname = "b"\npage = "B"\ntasks = 2\n'
    text = f"# head\n\n# the first\n# of two\n{one}# its end\n\n# the second\n{two}"
    pinned = pin(text, {"a": ("1", "2"), "b": ("3", "4")})
    hashed = 'page_hash = "{}"\ntasks_hash = "{}"\n'
    wanted = f"{one}# its end\n" + hashed.format(1, 2) + f"\n# the second\n{two}" + hashed.format(3, 4)
    assert pinned == f"# head\n\n# the first\n# of two\n{wanted}"
    assert pin(pinned, {"a": ("1", "2"), "b": ("3", "4")}) == pinned


def test_a_page_or_tasks_that_changed_are_told(suite: Path) -> None:
    _pin(suite)
    pinned = load_suite(str(suite))
    assert all(page.page_hash and page.tasks_hash for page in pinned.pages)
    text = suite.read_text()
    _pin(suite)
    assert suite.read_text() == text, "pinning what is pinned changes nothing"
    assert text.startswith("# what it is for\n")
    assert 'name = "maths"      # a page\n' in text
    assert evaluate("no-tool", suite=pinned).warnings == ()
    suite.write_text(text.replace("max_calls = 1", "max_calls = 2").replace('"world/test/0/2"', '"world/test/0/3"'))
    result = evaluate("no-tool", suite=str(suite))
    assert result.warnings == (
        "maths: the page ReTool-v0 changed since the suite was pinned; earlier results do not compare",
        "search: the tasks changed since the suite was pinned; earlier results do not compare",
    )


def test_a_pages_hash_is_of_what_changes_episodes(tmp_path: Path) -> None:
    import toolenvs.assets

    text = toolenvs.assets.page_files()["ReTool-v0"].read_text()
    file = tmp_path / "Own-v0.toml"
    file.write_text(text)
    first = page_hash(str(file), {})
    assert first == page_hash("ReTool-v0", {}) == page_hash("toolenvs/ReTool-v0", {})
    assert page_hash(str(file), {"max_calls": 1}) != first
    file.write_text(f"# a comment\n{text}".replace('summary = "', 'summary = "Now: '))
    assert page_hash(str(file), {}) == first
    file.write_text(text.replace("max_turns = ", "max_turns = 1"))
    assert page_hash(str(file), {}) != first
    with pytest.raises(PageError, match="cannot be read"):
        page_hash("Nothing-v0", {})


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("n = 2", "n = 0", "n = 0 is out of range"),
        ("n = 2", "m = 2", "unknown key 'm'"),
        ('name = "search"', 'name = "maths"', "each with a name of its own"),
        ("tasks = 3", "tasks = 0", "either tasks"),
        ("tasks = 3", 'tasks = 3\nids = ["x"]', "either tasks"),
        ("temperature = 0.5", "temperature = -1", "temperature = -1 is out of range"),
        ("[sampling]", "[sampling", "not TOML"),
    ],
)
def test_a_wrong_file_is_refused(suite: Path, old: str, new: str, told: str) -> None:
    suite.write_text(_TEXT.replace(old, new, 1))
    with pytest.raises(PageError, match=told):
        load_suite(str(suite))


def test_no_such_suite() -> None:
    with pytest.raises(ConfigError, match="did you mean 'toolenvs-lite'"):
        load_suite("toolenvs-light")
