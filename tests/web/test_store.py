"""The file of a recorded site."""

import multiprocessing
import sqlite3
import threading
from pathlib import Path

import pytest

from toolenvs.errors import ConfigError, WebError
from toolenvs.web import store as stores
from toolenvs.web.record import SiteWriter
from toolenvs.web.store import PageStore

HOME = "https://site.test/"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    path = tmp_path / "a.site"
    with SiteWriter(path, home=HOME, title="A site") as writer:
        writer.add(HOME, b"<h1>Home</h1>", headers=[("Content-Type", "text/html"), ("Date", "today")])
        writer.add("https://SITE.test:443/b?x=1#part", b"<p>" + b"b" * 100_000)
        writer.add(HOME + "old", b"", status=301, headers=[("Location", HOME)])
        writer.add(HOME + "same", b"<h1>Home</h1>")
    return path


def test_what_was_written_is_read(site: Path) -> None:
    with PageStore(site) as store:
        home = store.get(HOME)
        assert home is not None
        assert (home.status, home.body, home.headers) == (200, b"<h1>Home</h1>", (("content-type", "text/html"),))
        assert home.header("Content-Type") == "text/html"
        assert store.get("https://site.test/b?x=1").body == b"<p>" + b"b" * 100_000
        assert store.get(HOME + "old").header("location") == HOME
        assert store.get(HOME + "nowhere") is None
        assert HOME + "same" in store
        assert len(store) == 4
        assert store.urls() == sorted(page.url for page in store.pages())
        assert (store.home, store.meta["title"]) == (HOME, "A site")
    assert site.stat().st_size < 40_000, "bodies are kept compressed, and once each"


def test_a_page_added_again_is_replaced(tmp_path: Path) -> None:
    with SiteWriter(tmp_path / "a.site") as writer:
        writer.add(HOME, b"old")
        writer.add(HOME, b"new")
    with PageStore(tmp_path / "a.site") as store:
        assert store.get(HOME).body == b"new"


def test_the_fingerprint_is_of_what_is_read_alone(tmp_path: Path, site: Path) -> None:
    def made(name: str, body: bytes, order: int, status: int = 200) -> str:
        with SiteWriter(tmp_path / name) as writer:
            for path in ("a", "b")[::order]:
                writer.add(HOME + path, body, status=status)
        with PageStore(tmp_path / name) as store:
            return store.fingerprint

    first = made("1", b"x", 1)
    assert first == made("2", b"x", -1)
    assert len({first, made("3", b"y", 1), made("4", b"x", 1, status=404)}) == 3


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE pages SET status = 404 WHERE url LIKE '%/b%'",
        "DELETE FROM pages WHERE url LIKE '%old'",
        "UPDATE pages SET headers = '[]'",
        "UPDATE meta SET value = '2' WHERE key = 'format'",
        "DROP TABLE pages",
    ],
)
def test_a_changed_index_is_found_when_it_is_opened(site: Path, change: str) -> None:
    with sqlite3.connect(site) as connection:
        connection.execute(change)
    connection.close()
    with pytest.raises(WebError, match="toolenvs site build"):
        PageStore(site)


@pytest.mark.parametrize("packed", ["x'00'", "(SELECT packed FROM bodies WHERE size = 0)"])
def test_a_changed_body_is_found_when_it_is_read(site: Path, packed: str) -> None:
    with sqlite3.connect(site) as connection:
        connection.execute(f"UPDATE bodies SET packed = {packed} WHERE size > 0")
    connection.close()
    with PageStore(site) as store, pytest.raises(WebError, match="cannot be used"):
        store.get(HOME)


def test_what_is_no_site_is_told(tmp_path: Path) -> None:
    with pytest.raises(WebError, match="no recorded site"):
        PageStore(tmp_path / "none.site")
    (tmp_path / "text.site").write_text("not a database, but long enough to be looked at " * 10)
    with pytest.raises(WebError, match="cannot be used"):
        PageStore(tmp_path / "text.site")
    (tmp_path / "empty.site").touch()
    with pytest.raises(WebError, match="cannot be used"):
        PageStore(tmp_path / "empty.site")


def test_the_file_is_never_written(site: Path) -> None:
    before = site.read_bytes()
    site.chmod(0o444)
    with PageStore(site) as store:
        store.get(HOME)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            store._connection().execute("DELETE FROM pages")
    assert site.read_bytes() == before
    assert [path.name for path in site.parent.iterdir()] == [site.name]


def test_threads_and_forks_read_at_once(site: Path) -> None:
    with PageStore(site) as store:
        bad: list[object] = []

        def read() -> None:
            for _ in range(200):
                if store.get("https://site.test/b?x=1").body[:4] != b"<p>b":
                    bad.append(threading.current_thread())

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not bad
        child = multiprocessing.get_context("fork").Process(target=read)
        child.start()
        child.join()
        assert child.exitcode == 0
        assert store.get(HOME) is not None


def test_bodies_that_were_read_last_are_kept_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "KEPT_BYTES", 4_000)
    path = tmp_path / "many.site"
    with SiteWriter(path) as writer:
        for number in range(20):
            writer.add(f"http://a.org/{number}", bytes([number]) * 900)
        writer.add("http://a.org/large", b"x" * 1_001)
    with PageStore(path) as one:
        for _ in range(2):
            for number in range(20):
                page = one.get(f"http://a.org/{number}")
                assert page is not None
                assert page.body == bytes([number]) * 900
                assert one._kept_bytes == sum(len(kept.body) for kept in one._kept.values()) <= 4_000
        assert list(one._kept) == [f"http://a.org/{number}" for number in range(16, 20)]
        assert one.get("http://a.org/16") is one.get("http://a.org/16")
        assert list(one._kept)[-1] == "http://a.org/16"
        assert one.get("http://a.org/large") is not one.get("http://a.org/large")
    with pytest.raises(WebError, match="closed"):
        one.get("http://a.org/16")


def test_a_closed_store_says_so(site: Path) -> None:
    store = PageStore(site)
    store.close()
    store.close()
    with pytest.raises(WebError, match="was closed"):
        store.get(HOME)


def test_an_error_while_writing_leaves_what_was_there(site: Path) -> None:
    before = site.read_bytes()

    def fail() -> None:
        with SiteWriter(site) as writer:
            writer.add(HOME, b"other")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert site.read_bytes() == before
    assert [path.name for path in site.parent.iterdir()] == [site.name]


def test_what_cannot_be_recorded_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no page"), SiteWriter(tmp_path / "a.site"):
        pass
    with SiteWriter(tmp_path / "a.site") as writer:
        with pytest.raises(ConfigError, match="cannot be the address"):
            writer.add("file:///etc/passwd", b"")
        writer.add(HOME, b"")
    with pytest.raises(ConfigError, match="cannot be written"):
        SiteWriter(tmp_path / "a.site" / "b.site")
