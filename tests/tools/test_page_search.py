"""The search for pages: what it lists, how it is written, and what the tools that read pages may ask it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs import loop, schema
from toolenvs.errors import ConfigError, PageError, ToolError
from toolenvs.retrieval import Hit
from toolenvs.tasks.task import Task
from toolenvs.tools.page_search import Options, Session, Tool, excerpt

TASK = Task(id="t", question="Who wrote it?", golds=("x",))
NAME = "The Silent Staircase of Vlerereth"
URL = "https://world.test/works/167.html"


def opened(**options: Any) -> Session:
    return loop.run(Tool(schema.read(Options, options, "test")).open(TASK, seed=0, progress=0.0))


def ask(session: Session, query: Any) -> Any:
    return loop.run(session.call({"query": query}))


def test_documents_and_what_is_kept_of_them() -> None:
    session = opened(topk=2, text="passage", text_chars=60, document="{rank}|{title}|{url}|{text}\n")
    first, second = ask(session, NAME).text.splitlines()
    assert first.startswith(f"1|{NAME}|{URL}|The world / works # {NAME}"[:60])
    assert len(first.split("|")[3]) == 60
    assert second.startswith("2|")
    assert session.latest[0] == URL
    assert session.texts[URL] == first.split("|")[3]
    ask(session, "Fedruvash")
    assert URL not in session.latest[:1]
    assert URL in session.texts  # found before, and still known
    assert session.queries == ("Fedruvash",)


def test_results_as_json() -> None:
    session = opened(topk=1, many=True, max_queries=2, form="json", text_chars=80)
    lists = json.loads(ask(session, [NAME, "Fedruvash", "left out"]).text)
    assert [one["query"] for one in lists] == [NAME, "Fedruvash"]
    assert lists[0]["pages"] == [{"title": NAME, "url": URL, "quick_summary": session.texts[URL]}]
    assert session.latest == (URL, lists[1]["pages"][0]["url"])
    assert json.loads(ask(session, "Fedruvash").text)[0]["query"] == "Fedruvash"  # a text alone is a list of one


def test_every_page_is_listed_once_and_only_pages() -> None:
    session = opened(topk=20)
    data = ask(session, "town").data
    assert len(data["urls"][0]) == len(set(data["urls"][0])) == 20
    hits = [Hit("12 https://a.test/x#y", 2.0, "X", "one  two"), Hit("https://a.test/x", 1.0, "X", "later"),
            Hit("person-17", 1.0, "no address", "z"), Hit("ftp://a.test/", 1.0, "F", "z")]  # fmt: skip
    assert [(one.url, one.text) for one in session._results("one", hits)] == [("https://a.test/x", "one two")]


def test_an_index_without_addresses_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"index = 'world:1000' finds '.*-\d+', which is no address of a page"):
        ask(opened(index="world:1000"), "town")


class Served(BaseHTTPRequestHandler):
    """Answers as ASearcher's local server does."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        found = [{"contents": f'"A page"\nabout {query}', "url": "https://a.test/x"} for query in asked["queries"]]
        body = json.dumps({"result": [[one] for one in found]}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


def test_a_search_server_whose_ids_are_addresses() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Served)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}#asearcher"
    session = opened(site="live", allow=["a.test"], index=address, topk=3)
    assert ask(session, "towns").text == "[1] A page (https://a.test/x)\nabout towns"
    assert session.latest == ("https://a.test/x",)
    server.shutdown()
    server.server_close()
    thread.join()


def test_nothing_found_and_wrong_arguments() -> None:
    session = opened(topk=2)
    assert ask(session, "zzzzqqq").text == "Nothing was found."
    assert session.latest == ()
    for wrong in (None, 7, [], ["x", 3], [" "], {"x": 1}):
        with pytest.raises(ToolError, match="'query' must be a list of queries"):
            ask(session, wrong)
    assert ask(opened(form="json"), "zzzzqqq").text == '[{"query": "zzzzqqq", "pages": []}]'


def test_a_fork_goes_its_own_way() -> None:
    session = opened(topk=1)
    ask(session, NAME)
    copy = loop.run(session.fork())
    ask(copy, "Fedruvash")
    assert session.latest == (URL,) != copy.latest
    assert len(session.texts) == 1
    assert len(copy.texts) == 2


def test_the_live_web_needs_a_search_of_its_own() -> None:
    with pytest.raises(ConfigError, match="set index to a search server"):
        Options(site="live", allow=("a.test",))
    assert Options(site="live", allow=("a.test",), index="http://127.0.0.1:1/retrieve").index
    with pytest.raises(PageError, match="topk = 0 is out of range"):
        schema.read(Options, {"topk": 0}, "test")


def test_another_world_than_that_of_the_tasks_is_refused() -> None:
    tool = Tool(Options(site="sites/world:200:3"))
    assert tool.disagrees({"set": "world", "passages": 200, "world": 3}) is None
    assert tool.disagrees({"set": "rows.jsonl"}) is None
    assert "set it to 'sites/world:1000:0'" in (tool.disagrees({"set": "world"}) or "")


@given(
    text=st.text(alphabet="ab é", max_size=60).map(lambda text: " ".join(text.split())),
    query=st.text(alphabet="ab é", max_size=8),
    chars=st.integers(min_value=1, max_value=30),
)
def test_an_excerpt_is_a_stretch_of_the_text_within_its_length(text: str, query: str, chars: int) -> None:
    found = excerpt(text, query, chars)
    assert len(found) <= chars
    assert found in text
    words = [word for word in query.split() if f" {word} " in f" {text} " and len(word) <= chars]
    assert not words or any(word in found.split() for word in words)


@pytest.mark.parametrize(
    ("query", "chars", "found"),
    [
        ("fox dog", 19, "the quick fox over"),
        ("brown dog", 24, "over the brown lazy dog"),
        ("nothing", 9, "the quick"),
        ("quick", 9, "the quick"),
        ("dog", 3, "dog"),
        ("dog", 2, "th"),  # no word fits: its beginning
        ("", 100, "the quick fox over the brown lazy dog"),
    ],
)
def test_the_stretch_with_most_words_of_the_query(query: str, chars: int, found: str) -> None:
    assert excerpt("the quick fox over the brown lazy dog", query, chars) == found
