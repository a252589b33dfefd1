"""Sites by their names: from packages, and of worlds."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from toolenvs import web
from toolenvs.errors import ConfigError, WebError
from toolenvs.web import sites
from toolenvs.web.sites.debian import SITES, record_package
from toolenvs.web.store import PageStore

GIT = "https://www.kernel.org/pub/software/scm/git/docs/"


def _pages(root: Path, folder: str, index: str) -> Path:
    pages = root / folder
    (pages / "RelNotes").mkdir(parents=True)
    (pages / index).write_text(f"<title>{folder}</title><p>See <a href=sub.html>sub</a>")
    (pages / "sub.html").write_text("<p id=s>Sub <a href=#s>s</a>")
    (pages / "sub.txt").write_text("source")
    (pages / "RelNotes" / "1.html").write_text("old")
    return pages


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "toolenvs" / "sites"


def test_an_installed_package_is_recorded_where_it_stands_on_the_web(tmp_path: Path) -> None:
    _pages(tmp_path, "usr/share/doc/git-doc", "git.html")
    record_package(SITES["git-doc"], tmp_path / "git.site", root=tmp_path)
    with PageStore(tmp_path / "git.site") as store:
        assert store.urls() == [GIT, GIT + "git.html", GIT + "sub.html"]
        assert store.home == GIT + "git.html"
        assert store.get(GIT).header("location") == store.home
        assert store.meta["licence"] == "GPL-2.0"


@pytest.mark.parametrize(
    ("name", "folders", "home"),
    [
        ("python3-doc", ["python3.9/html", "python3.11/html"], "https://docs.python.org/3.11/index.html"),
        (
            "postgresql-doc",
            ["postgresql-doc-9/html", "postgresql-doc-15/html"],
            "https://www.postgresql.org/docs/15/index.html",
        ),
    ],
)
def test_the_highest_version_is_taken(tmp_path: Path, name: str, folders: list[str], home: str) -> None:
    for folder in folders:
        _pages(tmp_path, f"usr/share/doc/{folder}", "index.html")
    record_package(SITES[name], tmp_path / "a.site", root=tmp_path)
    with PageStore(tmp_path / "a.site") as store:
        assert store.home == home
        assert store.get(home).status == 200


def _apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, download: str) -> None:
    """An apt that knows one package, and the real dpkg-deb."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name, script in (("apt-get", download), ("apt-cache", "echo '  Depends: postgresql-doc-15'")):
        (bin_folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (bin_folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_folder}{os.pathsep}{os.environ['PATH']}")


def test_a_package_that_is_not_installed_is_fetched_and_unpacked(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("dpkg-deb") is None:
        with pytest.raises(ConfigError, match="there is no dpkg-deb here"):
            sites.build("postgresql-doc")
        return
    _pages(tmp_path / "package", "usr/share/doc/postgresql-doc-15/html", "index.html")
    (tmp_path / "package" / "DEBIAN").mkdir()
    (tmp_path / "package" / "DEBIAN" / "control").write_text(
        "Package: postgresql-doc-15\nVersion: 15\nArchitecture: all\nMaintainer: none <none@site.test>\n"
        "Description: pages\n"
    )
    subprocess.run(["dpkg-deb", "--build", "package", "a.deb"], cwd=tmp_path, check=True, capture_output=True)
    _apt(tmp_path, monkeypatch, f'test "$3" = postgresql-doc-15 && cp {tmp_path}/a.deb .')
    record_package(SITES["postgresql-doc"], cache / "postgresql-doc.site", root=tmp_path / "empty")
    with web.open("sites/postgresql-doc") as browser:
        page = browser.open("https://www.postgresql.org/docs/15/")
        assert page.status == "ok"
        assert browser.click(0).document.url == "https://www.postgresql.org/docs/15/sub.html"


def test_what_cannot_be_had_is_told(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WebError, match="run `toolenvs site build git-doc` once"):
        sites.open_store("sites/git-doc")
    with pytest.raises(ConfigError, match="did you mean 'git-doc'"):
        sites.open_store("sites/git-docs")
    with pytest.raises(ConfigError, match="did you mean 'python3-doc'"):
        sites.build("python-doc")
    with pytest.raises(ConfigError, match="PASSAGES"):
        sites.open_store("sites/world:many")
    _apt(tmp_path, monkeypatch, "echo 'E: Unable to locate package' >&2; exit 100")
    with pytest.raises(ConfigError, match="Unable to locate package.*apt-get update"):
        record_package(SITES["git-doc"], tmp_path / "a.site", root=tmp_path / "empty")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(ConfigError, match="there is no apt-get here.*--folder"):
        record_package(SITES["git-doc"], tmp_path / "a.site", root=tmp_path / "empty")
    assert not (tmp_path / "a.site").exists()


def test_a_world_is_a_site_without_a_file(cache: Path) -> None:
    with web.open("sites/world:100:7") as browser:
        page = browser.open("https://world.test/people/3.html")
        assert page.status == "ok"
        assert browser.click(page.links[0].number).document.url == "https://world.test/"
    assert not cache.exists()
    store = sites.open_store("sites/world:100:7")
    assert len(store.urls()) == len(store) == len(set(store.urls()))
    assert all(url in store for url in store.urls())
    assert store.get("https://world.test/people/1000.html") is None
    assert store.get("https://other.test/") is None
    assert store.fingerprint != sites.open_store("sites/world:100:8").fingerprint
