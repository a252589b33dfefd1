"""The reading agent: page by page and part by part, what it notes, and when it stops."""

import json
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs import loop, schema
from toolenvs.env import ToolEnv
from toolenvs.errors import EngineError, ToolError
from toolenvs.tasks.task import Task
from toolenvs.tools import page_notes, page_search
from toolenvs.tools._reading import Extracts, Note, content_words, note_of

QUESTION = "Where does the story of The Silent Staircase of Vlerereth take place?"
TASK = Task(id="t", question=QUESTION, golds=("Fedruvash",))
URL, OTHER = "https://world.test/works/167.html", "https://world.test/places/15.html"


class Script:
    """A reader that gives notes in turn, and keeps what it was asked."""

    def __init__(self, *notes: Note) -> None:
        self.notes = list(notes)
        self.asked: list[dict[str, Any]] = []

    async def read(self, text: str, **about: Any) -> Note:
        self.asked.append({"text": text, **about, "found": list(about["found"])})
        return self.notes.pop(0)


def opened(*notes: Note, **options: Any) -> tuple[page_notes.Session, Script]:
    tool = page_notes.Tool(schema.read(page_notes.Options, {"latest_only": False, **options}, "test"))
    script = Script(*notes)
    if notes:
        tool.reader = script
    return loop.run(tool.open(TASK, seed=0, progress=0.0)), script


def read(session: page_notes.Session, *urls: Any) -> list[dict[str, Any]]:
    return json.loads(loop.run(session.call({"url_list": list(urls)})).text)


def test_it_reads_on_until_it_says_no_and_remembers_what_it_noted() -> None:
    session, script = opened(
        Note("a", True, "about a"), Note("", True), Note("c", False, "about c"), Note("d", False), part_chars=60
    )
    first, second = read(session, URL, OTHER)
    assert first["information"] == [{"page_number": 1, "page_summary": "a"}, {"page_number": 3, "page_summary": "c"}]
    assert second == {"url": OTHER, "information": [{"page_number": 1, "page_summary": "d"}]}
    assert [one["number"] for one in script.asked] == [1, 2, 3, 1]
    assert [one["found"] for one in script.asked] == [[], ["a"], ["a"], ["a", "c"]]  # of earlier parts and pages
    assert [one["summary"] for one in script.asked] == ["", "about a", "about a", ""]
    assert all(QUESTION in one["question"] for one in script.asked)
    assert "".join(one["text"] for one in script.asked[:3]).startswith("The world / works\n# The Silent Staircase")


def test_a_reader_that_never_says_no_ends_with_the_page() -> None:
    session, script = opened(*[Note("more", True)] * 50, part_chars=50)
    [page] = read(session, URL)
    assert len(page["information"]) == len(script.asked) == script.asked[0]["total"] < 20
    session, script = opened(*[Note("more", True)] * 50, part_chars=50, max_parts=2)
    read(session, URL)
    assert len(script.asked) == 2


def test_what_was_told_is_not_told_again() -> None:
    session, _ = opened(Note("a", False), Note("a", False), Note("a", False))
    assert [len(page["information"]) for page in read(session, URL, URL)] == [1, 0]
    copy = loop.run(session.fork())
    assert read(copy, URL)[0]["information"] == []
    session, _ = opened(Note("a", False), Note("a", False), repeat=True)
    assert [len(page["information"]) for page in read(session, URL, URL)] == [1, 1]


def test_only_what_the_latest_search_found_is_opened() -> None:
    session, script = opened(*[Note("a", False)] * 3, latest_only=True)
    assert read(session, URL)[0]["information"] == []  # there was no search
    search = loop.run(page_search.Tool(page_search.Options(topk=1)).open(TASK, seed=0, progress=0.0))
    session.sessions = {"page_search": search}
    loop.run(search.call({"query": "The Silent Staircase of Vlerereth"}))
    assert read(session, f" {URL}#facts ")[0]["information"]
    loop.run(search.call({"query": "Fedruvash"}))
    assert read(session, URL)[0]["information"] == []
    assert read(session, OTHER)[0]["information"]
    assert "Fedruvash" in script.asked[-1]["question"]  # read for the search, too
    result = loop.run(session.call({"url_list": [URL, "nonsense"]}))
    assert (result.status, result.data["statuses"]) == ("not_searched", ["not_searched"] * 2)


def test_what_cannot_be_read_has_no_notes() -> None:
    session, _ = opened()
    result = loop.run(session.call({"url_list": ["https://world.test/nobody.html", "file:///x", URL]}))
    assert result.data["statuses"] == ["not_found", "bad_url", "ok"]
    assert result.status == "ok"
    assert [bool(page["information"]) for page in json.loads(result.text)] == [False, False, True]
    for wrong in (None, [], [3], [""], {"a": 1}):
        with pytest.raises(ToolError, match="'url_list' must be a list of addresses"):
            loop.run(session.call({"url_list": wrong}))
    assert len(read(opened(max_urls=2)[0], URL, URL, URL)) == 2


def test_without_a_model_the_lines_with_most_of_the_words() -> None:
    session, _ = opened()
    [page] = read(session, URL)
    [note] = page["information"]
    assert "Its story takes place in Fedruvash." in note["page_summary"]


async def extracted(text: str, question: str, words: int, found: Sequence[str] = ()) -> Note:
    return await Extracts(words).read(text, question=question, number=1, total=2, found=found, summary="")


@pytest.mark.parametrize(
    ("question", "words", "information", "page_down"),
    [
        ("Who is mayor of Brof?", 100, "The mayor of Brof is Ada\nBrof has mills", False),
        ("Who is mayor of Brof?", 6, "The mayor of Brof is Ada", False),
        ("Who is mayor of Brof?", 3, "The mayor of", True),  # a line that is too long alone: its beginning
        ("Who founded Brof?", 100, "The mayor of Brof is Ada\nBrof has mills", True),
        ("What is it?", 100, "", False),  # no word to look for
        ("zzz", 100, "", True),
    ],
)
async def test_extracts(question: str, words: int, information: str, page_down: bool) -> None:
    text = "The  mayor of Brof is Ada\nNothing here\n\nBrof has mills"
    assert await extracted(text, question, words) == Note(information, page_down)


async def test_what_was_noted_before_counts_for_stopping() -> None:
    assert (await extracted("Brof", "mayor of Brof", 10)).page_down
    assert not (await extracted("Brof", "mayor of Brof", 10, ["its mayor is Ada"])).page_down


@given(
    text=st.text(alphabet="abA \n", max_size=20),
    question=st.text(alphabet="ab ", max_size=10),
    found=st.lists(st.text(alphabet="abA \n", max_size=12), max_size=4),
)
def test_it_reads_on_until_every_word_was_noted(text: str, question: str, found: list[str]) -> None:
    note = loop.run(extracted(text, question, 5, found))
    noted = set[str]().union(*map(content_words, [*found, note.information]))
    assert note.page_down == (not content_words(question) <= noted)


async def test_many_notes_are_not_read_word_by_word_again_for_each_part() -> None:
    found = [f"filler {number} " + "and so on for a while " * 40 for number in range(1_000)]
    started_s = time.thread_time()
    for _ in range(3):
        content_words("\n".join(found))
    words_s, started_s = time.thread_time() - started_s, time.thread_time()
    for _ in range(3):
        assert (await extracted("Brof", "mayor of Brof", 10, found)).page_down
    assert time.thread_time() - started_s < words_s / 2


@given(
    lines=st.lists(st.text(alphabet="ab \n", max_size=20), max_size=8),
    question=st.text(alphabet="ab ", max_size=10),
    words=st.integers(min_value=1, max_value=12),
)
def test_notes_are_lines_of_the_page_within_their_words(lines: list[str], question: str, words: int) -> None:
    note = loop.run(extracted("\n".join(lines), question, words))
    assert len(note.information.split()) <= words
    flat = [" ".join(line.split()) for line in "\n".join(lines).split("\n")]
    noted = note.information.split("\n") if note.information else []
    assert all(any(line.startswith(one) for line in flat) and content_words(one) is not None for one in noted)


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        ('{"extracted_info": " x ", "page_down": "Yes", "short_summary": "s"}', Note("x", True, "s")),
        ('Here: ```json\n{"extracted_info": "x", "page_down": "no"}\n```', Note("x", False)),
        ('{"extracted_info": "x", "page_down": true}', Note("x", True)),
        ('{"extracted_info": ["x"], "page_down": 1}', Note("", False)),
        ("I could not read it", Note("", False)),
        ("} {", Note("", False)),
        ("{" * 100_000 + "}", Note("", False)),
        ("[1]", Note("", False)),
    ],
)
def test_what_a_model_may_answer(answer: str, note: Note) -> None:
    assert note_of(answer) == note


def said(text: str) -> tuple[int, dict[str, Any]]:
    return 200, {"choices": [{"message": {"content": text}}]}


def test_a_model_reads(chat_model: Any) -> None:
    handler, endpoint = chat_model
    handler.answers += [
        said('{"extracted_info": "It is Fedruvash.", "page_down": "yes", "short_summary": "a ballad"}'),
        said('{"extracted_info": "", "page_down": "no"}'),
    ]
    session, _ = opened(endpoint=endpoint, part_chars=200)
    [page] = read(session, URL)
    assert page["information"] == [{"page_number": 1, "page_summary": "It is Fedruvash."}]
    first, second = (body["messages"][0]["content"] for _, body in handler.asked)
    for part in (QUESTION, "part 1 of 2", "# The Silent Staircase of Vlerereth", "nothing was read of it"):
        assert part in first
    for part in ("part 2 of 2", "It is Fedruvash.", "a ballad"):
        assert part in second


def test_a_model_that_fails_is_infrastructure(chat_model: Any) -> None:
    handler, endpoint = chat_model
    handler.answers += [(400, {"error": "no such model"})] * 2
    session, _ = opened(endpoint=endpoint)
    with pytest.raises(EngineError, match="no such model"):
        read(session, URL)
    env = ToolEnv("DeepResearcher-v0", latest_only=False, endpoint=endpoint)
    env.reset(seed=0)
    call = {"name": "browse_webpage", "arguments": {"url_list": [URL]}}
    *_, truncated, info = env.step(f"x</think><tool_call>{json.dumps(call)}</tool_call>")
    assert (truncated, info["ending"], info["success"]) == (True, "infrastructure", None)
    env.close()
