"""Rendered pages that all processes share: the same pages, none that is damaged, of other code or of another site."""

import re
from pathlib import Path

import pytest

from toolenvs.web import shelf, sites
from toolenvs.web.record import SiteWriter
from toolenvs.web.recorded import Recording
from toolenvs.web.shelf import Shelf

HOME = "https://site.test/"
PAGES = {
    "": "<title>H</title><p>home <a href=/a#b>a</a><form action=/s><input type=hidden name=h value=1><select name=s>"
    "<option selected>one<option>two</select><input name=q></form>",
    "a": "<p>first<p id=b>second \u00fc\u2020",
    "large": "<p>x" * 3_000,
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = sites.file_of("mine")
    path.parent.mkdir(parents=True)
    with SiteWriter(path, home=HOME) as writer:
        for name, page in PAGES.items():
            writer.add(HOME + name, page.encode(), headers=[("Content-Type", "text/html; charset=utf-8")])
        writer.add(HOME + "old", b"", status=301, headers=[("Location", HOME + "a#b")])
    return str(path)


def _files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "toolenvs" / "rendered").glob("*/*"))


def _seen(site: str) -> list[object]:
    source = Recording(site, index=False)
    with source.browser() as browser:
        names = [*PAGES, "old", "none"]
        pages = [browser.open(HOME + name) for name in names]
        seen = [(page.status, page.text, page.document, page.url, page.http_status, page.truncated) for page in pages]
    source.close()
    return seen


def test_a_second_process_reads_what_the_first_one_rendered(
    site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _seen(site)
    assert len(_files(tmp_path)) == len(PAGES) + 1
    monkeypatch.setattr("toolenvs.web.source.render", None)  # nothing is rendered again
    assert _seen(site) == first


@pytest.mark.parametrize("damage", [b"", b"x" * 15, b"x" * 16, b"x" * 400])
def test_what_is_damaged_is_rendered_and_kept_again(site: str, tmp_path: Path, damage: bytes) -> None:
    first = _seen(site)
    whole = [file.read_bytes() for file in _files(tmp_path)]
    for file in _files(tmp_path):
        file.write_bytes(damage or file.read_bytes()[:-1])
    assert _seen(site) == first
    assert [file.read_bytes() for file in _files(tmp_path)] == whole
    one, other = _files(tmp_path)[:2]
    one.write_bytes(other.read_bytes())  # whole, and of another address
    assert _seen(site) == first


def test_other_code_and_other_pages_have_their_own(site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _seen(site)
    (folder,) = {file.parent for file in _files(tmp_path)}
    monkeypatch.setattr(shelf, "_code", lambda: "other")
    assert _seen(site) == first
    (second,) = {file.parent for file in _files(tmp_path)}
    assert second != folder, "what other code has made is gone"
    with SiteWriter(sites.file_of("mine"), home=HOME) as writer:
        writer.add(HOME, b"<p>another home", headers=[("Content-Type", "text/html")])
    assert _seen(site)[0] != first[0]
    assert len({file.parent for file in _files(tmp_path)}) == 2


def test_a_folder_that_cannot_be_written_is_done_without(site: str, tmp_path: Path) -> None:
    (tmp_path / "toolenvs" / "rendered").write_text("in the way")
    assert _seen(site) == _seen(site)


def test_a_page_that_is_cut_for_one_is_whole_for_the_next(site: str) -> None:
    def opened(source: Recording, **limits: int) -> tuple[str, bool]:
        with source.browser(**limits) as browser:
            page = browser.open(HOME + "large")
            return page.text, page.truncated

    source, later = Recording(site, index=False), Recording(site, index=False)
    cut = opened(source, max_body_bytes=300)
    whole = opened(source)
    assert (cut[1], whole[1]) == (True, False)
    assert opened(source, max_body_bytes=300) == cut
    assert opened(later, max_body_bytes=300) == cut  # and not the one on the disk
    assert opened(later) == whole
    source.close()
    later.close()


def test_files_of_ones_own_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with SiteWriter(tmp_path / "own.site", home=HOME) as writer:
        writer.add(HOME, b"<p>x", headers=[("Content-Type", "text/html")])
    assert Recording(tmp_path / "own.site", index=False)._shelf is None


def test_the_code_is_named_by_all_that_renders() -> None:
    here = Path(shelf.__file__).parent
    files = [
        file for part in shelf._PARTS for file in ((here / part).glob("*.py") if "." not in part else [here / part])
    ]
    used = {name for file in files for name in re.findall(r"^from toolenvs\.web\.(\w+)", file.read_text(), re.M)}
    elsewhere = {
        "apart",
        "faults",
        "guard",
        "sites",
    }  # of the live web, or told by the fingerprint
    assert {name.removesuffix(".py") for name in shelf._PARTS} >= used - elsewhere
    assert Shelf(Path("x"), "f" * 64)._folder.name == "f" * 24 + "-" + shelf._code()
