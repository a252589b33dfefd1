"""`toolenvs site`."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.web.facts import small
from toolenvs import site_facts, web
from toolenvs.cli.app import app


def run(*arguments: object):
    return CliRunner().invoke(app, ["site", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "html").mkdir()
    (tmp_path / "html" / "index.html").write_text("<p>home")
    return tmp_path / "html"


def test_a_folder_becomes_a_site_that_web_opens(tmp_path: Path, folder: Path) -> None:
    out = tmp_path / "mine.site"
    done = run("build", out, "--folder", folder, "--url", "https://site.test/docs/")
    assert done.exit_code == 0, done.output
    assert "3 addresses" in done.output
    with web.open(out) as browser:
        assert "home" in browser.open("https://site.test/docs/").text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["git-docs"], "did you mean 'git-doc'?"),
        (["mine", "--folder", "."], "ends in .site"),
        (["mine.site", "--folder", "."], "--url"),
        (["mine.site", "--folder", ".", "--warc", "a.warc"], "not both"),
        (["mine.site", "--warc", "nowhere.warc"], "cannot be read as a WARC file"),
    ],
)
def test_what_cannot_be_built_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("build", *arguments)
    assert done.exit_code == 2
    assert told in done.output
    assert not list(tmp_path.iterdir())


def test_the_list_says_what_is_there(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "1000")  # no message is broken, whatever path it holds
    place = tmp_path / "toolenvs" / "sites"
    run("build", place / "git-doc.site", "--folder", folder, "--url", "https://site.test/")
    (place / "python3-doc.site").write_text("damaged")
    listed = run("list").output
    assert "2 addresses from https://site.test/" in listed
    assert "no: toolenvs site build postgresql-doc" in listed
    assert "cannot be used" in listed
    assert "world:PAGES" in listed


def test_questions_about_a_site_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "1000")  # no message is broken, whatever path it holds
    small.record("git-doc")
    done = run("questions", "git-doc")
    assert done.exit_code == 0, done.output
    assert re.search(r"default\s.*3\s.*3\s.*1 a default that is guessed; 1 the default is told", done.output)
    assert f"{len(site_facts.read('git-doc').facts)} questions about git-doc" in done.output
    assert "clicks away: 7 at 1" in done.output
    assert run("questions", "gitdoc").exit_code == 2
