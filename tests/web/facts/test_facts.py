"""Questions about sites: they have one answer, stand where they say, and edited copies change what they tell."""

import json
import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.web.facts import scanner, small
from toolenvs import site_facts, tasks, web
from toolenvs.errors import ConfigError, TaskError, WebError
from toolenvs.rewards import qa
from toolenvs.site_facts import Fact, Facts, Slot, changed
from toolenvs.site_facts.editing import spliced
from toolenvs.tasks.generators.site_pages import calls
from toolenvs.web import facts, sites
from toolenvs.web.browser import Browser
from toolenvs.web.document import unmarked
from toolenvs.web.facts.pages import words
from toolenvs.web.facts.python_docs import arguments
from toolenvs.web.page import Page
from toolenvs.web.recorded import Recording

REAL = facts.READERS if os.environ.get("TOOLENVS_TEST_SITES") == "all" else ["git-doc"]
BUILT = {name: sites.file_of(name) for name in REAL if sites.file_of(name).is_file()}
"""Real sites that are on this machine: the same checks hold for them. The small ones stand for those that are not."""
_SEEDS = (0, 7)


def _walk(browser: Browser, fact: Fact) -> Page:
    """The page that the fact's way leads to, shown at the line of its answer."""
    first, *clicks, last = calls(fact)
    browser.open(first.get("url"))
    for call in clicks:
        browser.click(call["link"])
    return browser.view(last["line"])


def _is_answered(found: dict[str, dict[str, set[str]]], fact: Fact) -> bool:
    """Whether the sources of all pages give this answer to the question, and no other."""
    kind, subject = fact.kind, fact.subject
    if kind == "parameter":
        ordinal = re.findall(r"the (\w+) parameter of", fact.question)[0]
        answers = found[f"parameter {ordinal}"][subject]
    elif kind == "meaning":
        begun = {text: given for text, given in found[kind].items() if text.startswith(subject)}
        answers = set().union(*begun.values())
    else:
        answers = found[kind][subject]
    if kind == "default" and "(" not in subject:  # told in a sentence, of which the answer is the end or a part
        return len(answers) == 1 and fact.answer in next(iter(answers))
    return answers == {fact.answer}


def _lines(site: str) -> dict[str, list[str]]:
    with web.open(f"sites/{site}", index=False) as browser:
        shown = [browser.open(url).document for url in browser.source.store.urls()]
    return {page.url: [unmarked(line) for line in page.lines] for page in shown if page is not None}


def test_every_question_is_where_it_says_and_its_way_leads_there(site: str) -> None:
    known = site_facts.read(site)
    assert len(known.facts) >= 5
    with web.open(f"sites/{site}") as browser:
        for fact in known.facts:
            page = _walk(browser, fact)
            assert page.url == fact.url
            assert fact.answer in unmarked(page.document.lines[fact.lines[0]])
            assert page.first_line == fact.lines[0]


def test_every_answer_is_the_only_one_of_the_site(site: str) -> None:
    with sites.PageStore(sites.file_of(site)) as store:
        found = scanner.scan(store)
    assert [fact for fact in site_facts.read(site).facts if not _is_answered(found, fact)] == []


@pytest.mark.parametrize("name", BUILT)
def test_the_same_holds_for_the_sites_that_are_here(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recording = BUILT[name]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    sites.file_of(name).parent.mkdir(parents=True)
    sites.file_of(name).symlink_to(recording)
    facts.build(name)
    known = site_facts.read(name)
    assert len(known.facts) > 1_000
    with sites.PageStore(recording) as store:
        found = scanner.scan(store)
    assert [fact for fact in known.facts if not _is_answered(found, fact)] == []
    with web.open(f"sites/{name}", index=False) as browser:
        for fact in known.facts[::17]:
            page = _walk(browser, fact)
            assert (page.url, page.first_line) == (fact.url, fact.lines[0])
            assert fact.answer in unmarked(page.text)
    for fact, other in zip([f for f in known.facts if f.slot], known.edited(7), strict=True):
        assert not qa.judge(golds=[other.answer], answer=fact.answer).correct
    assert _leaks(name, 7) == []


def test_what_is_not_asked() -> None:
    asked = {fact.question for fact in _small("python3-doc").facts}
    for absent in ("whistle", "slowly", "key", "gas"):  # a default that is guessed, an unreachable page, two answers
        assert not any(absent in question and "default" in question for question in asked)
    assert not any("rinse new" in question for question in asked)  # what is new is an argument
    assert not any(fact.subject == "jug_colour" and fact.kind == "default" for fact in _small("postgresql-doc").facts)
    refused = _small("python3-doc").refused
    assert refused["default"]["its page is not reached by links"] == 1
    assert refused["default"]["the site answers it in several places"] == 2


def _small(name: str) -> Facts:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setenv("XDG_CACHE_HOME", folder)
        small.build(name)
        return site_facts.read(name)


def test_the_distance_is_the_shortest() -> None:
    assert {fact.path for fact in _small("postgresql-doc").facts} == {(0,), (1,), (2,)}
    assert {fact.clicks for fact in _small("python3-doc").facts} == {2}


def test_pages_beyond_the_bound_are_not_asked_about(cache: Path) -> None:
    small.record("python3-doc")
    source = Recording("sites/python3-doc", index=False)
    near = facts.find(source, facts.READERS["python3-doc"], "python3-doc", max_clicks=1)
    source.close()
    assert near.facts == ()
    assert all("its page is not reached by links" in reasons for reasons in near.refused.values())


def test_the_same_pages_give_the_same_file(site: str, cache: Path) -> None:
    before = site_facts.facts_file(site).read_bytes()
    facts.build(site)
    assert site_facts.facts_file(site).read_bytes() == before
    assert {path.name for path in cache.iterdir()} == {f"{site}.facts.jsonl", f"{site}.site"}


@pytest.mark.parametrize("seed", _SEEDS)
def test_a_copy_differs_where_its_facts_stand_and_nowhere_else(site: str, seed: int) -> None:
    known = site_facts.read(site)
    before, after = _lines(site), _lines(f"{site}:edited:{seed}")
    told = {(fact.url, fact.lines[0]) for fact in known.edited(seed)}
    assert told
    differ = {
        (url, number)
        for url, lines in before.items()
        for number, (one, other) in enumerate(zip(lines, after[url], strict=True))
        if one != other
    }
    assert differ == told


def _leaks(site: str, seed: int) -> list[tuple[Fact, str]]:
    """Lines of a copy, but for those that tell its facts, that hold a fact's subject and what the site says of it."""
    known = site_facts.read(site)
    told = {(fact.url, fact.lines[0]) for fact in known.edited(seed)}
    holding: dict[str, set[tuple[str, int, str]]] = defaultdict(set)
    for url, lines in _lines(f"{site}:edited:{seed}").items():
        for number, line in enumerate(lines):
            if (url, number) not in told:
                for word in set(re.findall(r"\d+\.\d+|\w+", line)):
                    holding[word].add((url, number, line))
    found = []
    for fact in known.facts:
        if fact.slot is None:
            continue
        names, argument = re.findall(r"\w+", fact.subject.partition("(")[0]), re.findall(r"\((\w+)\)$", fact.subject)
        subject = names if fact.kind in ("column", "cell") else names[-1:] + argument
        value = re.findall(r"\d+\.\d+|\w+", fact.answer)
        both = set.intersection(*(holding[word] for word in (*subject, *value)))
        found += [(fact, line) for _, _, line in sorted(both)]
    return found


@pytest.mark.parametrize("seed", _SEEDS)
def test_nothing_in_a_copy_tells_what_was_so_before(site: str, seed: int) -> None:
    assert _leaks(site, seed) == []


@pytest.mark.parametrize("seed", _SEEDS)
def test_the_way_through_a_copy_leads_to_its_own_answers(site: str, seed: int) -> None:
    known = site_facts.read(site)
    with web.open(f"sites/{site}:edited:{seed}") as browser:
        for fact, other in zip([fact for fact in known.facts if fact.slot], known.edited(seed), strict=True):
            assert other.answer in unmarked(_walk(browser, other).document.lines[other.lines[0]])
            assert not qa.judge(golds=[other.answer], answer=fact.answer).correct


def test_a_seed_is_a_copy(cache: Path) -> None:
    small.build("python3-doc")
    one, again, other = (sites.open_store(f"sites/python3-doc:edited:{seed}") for seed in (7, 7, 8))
    plain = sites.open_store("sites/python3-doc")
    bodies = [[store.get(url).body for url in store.urls()] for store in (one, again, other, plain)]
    assert bodies[0] == bodies[1]
    assert len({json.dumps([body.decode() for body in found]) for found in bodies}) == 3
    assert one.fingerprint == again.fingerprint
    assert len({one.fingerprint, other.fingerprint, plain.fingerprint}) == 3
    assert one.urls() == plain.urls()
    assert (len(one), one.home) == (len(plain), plain.home)
    assert all(url in one for url in plain.urls())
    assert one.get("https://nowhere.test/") is None


def test_copies_of_another_recording_are_refused(cache: Path) -> None:
    small.build("git-doc")
    small.record("git-doc", {**small.GIT, "more.html": "<p>More."})
    with pytest.raises(WebError, match="another recording: run `toolenvs site questions git-doc`"):
        web.open("sites/git-doc:edited:7")


@pytest.mark.parametrize(
    ("site", "told"),
    [
        ("sites/git-doc:edited:7", "run `toolenvs site questions git-doc` once"),
        ("sites/git-doc:edited:", "whole number"),
        ("sites/git-doc:edited:-1", "whole number"),
        ("sites/git-doc:edited:1e3", "whole number"),
        ("sites/gitdoc:edited:1", "did you mean 'git-doc'"),
    ],
)
def test_copies_that_cannot_be_had(cache: Path, site: str, told: str) -> None:
    small.record("git-doc")
    with pytest.raises(ConfigError, match=told):
        web.open(site)


def test_questions_that_cannot_be_read(cache: Path) -> None:
    with pytest.raises(TaskError, match="run `toolenvs site questions git-doc` once"):
        tasks.load("site_pages", site="sites/git-doc")
    with pytest.raises(ConfigError, match="did you mean 'git-doc'"):
        facts.build("gitdoc")
    with pytest.raises(WebError, match="run `toolenvs site build git-doc` once"):
        facts.build("git-doc")
    small.build("git-doc")
    path = site_facts.facts_file("git-doc")
    for damaged in (b"", b"{}\n", path.read_bytes()[:200], b'{"format": 99}\n'):
        path.write_bytes(damaged)
        with pytest.raises(TaskError, match=r"cannot be read .*: run `toolenvs site questions git-doc`"):
            site_facts.read("git-doc")


def test_task_sets(cache: Path) -> None:
    small.build("python3-doc")
    train = tasks.load("site_pages", site="sites/python3-doc", size=200)
    kinds = {task.extra["kind"] for task in train}
    assert kinds <= {"added", "default", "deprecated", "parameter", "section"}
    assert len(kinds) > 3
    task = train[0]
    assert task.extra["cites"][0][0].startswith("https://python3-doc.test/library/")
    assert task == tasks.load("site_pages", site="sites/python3-doc", size=200)[0]
    test = tasks.load("site_pages", split="test", site="sites/python3-doc", size=50)
    assert not {task.question for task in train} & {task.question for task in test}
    only = tasks.load("site_pages", site="sites/python3-doc", kinds=["section"], size=20)
    assert {task.extra["kind"] for task in only} == {"section"}
    edited = tasks.load("site_pages", site="sites/python3-doc:edited:3", size=50)
    assert all(task.gold != task.extra["recorded"] for task in edited)
    assert {task.question for task in edited} < {fact.question for fact in site_facts.read("python3-doc").facts}
    with pytest.raises(TaskError, match="did you mean 'section'"):
        tasks.load("site_pages", site="sites/python3-doc", kinds=["sections"])
    with pytest.raises(TaskError, match="is 5 to 6 clicks away"):
        tasks.load("site_pages", site="sites/python3-doc", min_clicks=5)
    with pytest.raises(TaskError, match="none was a question of the split 'validation'"):
        list(tasks.load("site_pages", split="validation", site="sites/python3-doc", kinds=["deprecated"]))


@given(st.from_regex(r"-?[0-9]{1,5}(\.[0-9]{1,2})?( ?MB)?", fullmatch=True), st.integers(0, 99))
def test_changed_numbers_differ_and_keep_their_form(value: str, seed: int) -> None:
    other = changed(value, "number", {}, key=(seed, "default", "x"))
    assert other != value
    assert re.sub(r"\d", "0", other) == re.sub(r"\d", "0", value)
    assert other == changed(value, "number", {}, key=(seed, "default", "x"))


@given(st.sampled_from(["3.1", "3.2", "3.9", "3.10", "3.11"]), st.integers(0, 99))
def test_changed_versions_are_others(value: str, seed: int) -> None:
    other = changed(value, "version", {}, key=(seed, "added", "x"))
    assert not qa.judge(golds=[other], answer=value).correct


@pytest.mark.parametrize(
    ("signature", "wanted"),
    [
        ("f()", []),
        ("f(a, b=1)", ["a", "b=1"]),
        ("f(a=',', b=(1, 2), *, c={'x': ')'})", ["a=','", "b=(1, 2)", "*", "c={'x': ')'}"]),
        ("f(a[, b])", []),
        ("f(a", []),
        ("f", []),
        ("f(a) -> int", []),
    ],
)
def test_arguments_of_signatures(signature: str, wanted: list[str]) -> None:
    found = arguments(signature)
    assert [part for _, part in found] == wanted
    assert all(signature[start:].startswith(part) for start, part in found)


def test_words_have_parts_and_beginnings() -> None:
    assert words("In 3.8.0, x-y") == ["in", "3.8.0", "3", "8", "0", "3.8", "x-y", "x", "y"]
    assert words("3.8") == ["3.8", "3", "8"]
    assert words("") == []


def test_slots_must_fit() -> None:
    assert spliced(b"abc", [(Slot(start=1, end=2, values=""), "<x>")]) == b"a&lt;x&gt;c"
    for slots in ([(1, 9)], [(0, 2), (1, 3)], [(2, 1)]):
        with pytest.raises(ValueError, match="does not fit"):
            spliced(b"abc", [(Slot(start=start, end=end, values=""), "x") for start, end in slots])


def _named() -> Iterator[tuple[str, tuple[str, int | None]]]:
    yield "sites/git-doc", ("git-doc", None)
    yield "git-doc:edited:0", ("git-doc", 0)


@pytest.mark.parametrize(("name", "wanted"), list(_named()))
def test_names_of_copies(name: str, wanted: tuple[str, int | None]) -> None:
    assert site_facts.named(name) == wanted
