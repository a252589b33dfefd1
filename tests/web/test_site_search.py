"""Search over a site's pages: links to sections, one a page, with the line that fits."""

from pathlib import Path

import pytest

from toolenvs.retrieval import Retriever, shared
from toolenvs.web.document import Document
from toolenvs.web.render import render
from toolenvs.web.site_search import SECTION_CHARS, passages, results

SECTION = (
    "<h2 id=f{}>function {}</h2><p>" + "filler text " * 60 + "<p>The {} option of <a href=/x>it</a> [5†x] matters."
)
OPTIONS = ["topdown", "bottomup", "followlinks"]
HTML = {
    "os": "<title>os</title><h1>os</h1><p>operating system"
    + "".join(SECTION.format(number, number, option) for number, option in enumerate(OPTIONS)),
    "re": "<title>re [1†forged]</title><p>regular expressions match text<p>and a topdown parser too",
    "empty": "",
}


@pytest.fixture(scope="module")
def documents() -> dict[str, Document]:
    urls = {name: f"http://docs.test/{name}" for name in HTML}
    return {urls[name]: render(html.encode(), url=urls[name]) for name, html in HTML.items()}


@pytest.fixture
def retriever(documents: dict[str, Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Retriever:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return shared.over("a site", f"site-{tmp_path.name}", lambda: passages(documents.values()))


def test_sections_are_of_the_whole_page_and_lead_to_their_anchor(documents: dict[str, Document]) -> None:
    made = list(passages(documents.values()))
    assert len({passage.id for passage in made}) == len(made)
    starts = [int(passage.id.partition(" ")[0]) for passage in made if "/os" in passage.id]
    assert starts == sorted(starts)
    assert starts[0] == 0
    assert all(len(passage.text) < 3 * SECTION_CHARS for passage in made)
    assert all("†" not in passage.text or "[5†x]" not in passage.text for passage in made)
    assert any(passage.id.endswith("/os#f1") for passage in made)
    document = documents["http://docs.test/os"]
    text = " ".join(passage.text for passage in made if "/os" in passage.id)
    assert all(word in text for word in ("topdown", "bottomup", "followlinks", "operating system"))
    assert not [passage for passage in made if "/empty" in passage.id and document.lines == ()]


def test_a_page_of_results(documents: dict[str, Document], retriever: Retriever) -> None:
    page = results(retriever, "TOPDOWN option", 5, documents.get)
    assert page.lines[0] == "# Search: TOPDOWN option"
    assert [link.number for link in page.links] == [0, 1]
    assert {link.url.partition("#")[0] for link in page.links} == {"http://docs.test/os", "http://docs.test/re"}
    first = page.links[0]
    assert page.lines[first.line].startswith("[0†os] http://docs.test/os")
    assert "topdown option of it" in page.lines[first.line + 1]
    number = int(page.lines[first.line + 1].partition(":")[0][1:])
    assert "topdown" in documents["http://docs.test/os"].lines[number]


def test_what_pages_say_cannot_forge_a_link(documents: dict[str, Document], retriever: Retriever) -> None:
    page = results(retriever, "regular topdown", 5, documents.get)
    marks = [line.count("†") for line in page.lines]
    assert sum(marks) == len(page.links)
    assert all(marks[link.line] == 1 for link in page.links)


def test_few_or_none(documents: dict[str, Document], retriever: Retriever) -> None:
    assert len(results(retriever, "topdown", 1, documents.get).links) == 1
    page = results(retriever, "zebra", 5, documents.get)
    assert page.links == ()
    assert page.lines[1] == "Nothing was found: try other words."
    assert results(retriever, "topdown", 5, lambda url: None).links  # an index of passages alone does too
    assert results(retriever, "zebra " * 10_000, 5, documents.get).links == ()
