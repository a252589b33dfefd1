"""DeepRetrieval's pages: what each query earns, worked out by hand at both sides of every step of their tables."""

import json
import time
from collections.abc import Callable
from math import log2
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolenvs
from toolenvs import loop, retrieval
from toolenvs.blueprint import Blueprint
from toolenvs.env import ToolEnv
from toolenvs.episode import Episode
from toolenvs.errors import PageError, RetrievalError, TaskError
from toolenvs.retrieval import shared
from toolenvs.rewards.retrieval.searched import Searched
from toolenvs.tasks.task import Task

LITERATURE, EVIDENCE, IR = (f"DeepRetrieval{name}-v0" for name in ("Literature", "Evidence", "IR"))
PAGES = (LITERATURE, EVIDENCE, IR)
SIZE = 3_010
RELEVANT = 20


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Passage `dNNNN` says "filler wN", so that "filler" ranks them in order of their ids, and "wN" finds one."""
    folder = tmp_path_factory.mktemp("deepretrieval")
    rows = [json.dumps({"id": f"d{number:04}", "contents": f'""\nfiller w{number}'}) + "\n" for number in range(SIZE)]
    (folder / "corpus.jsonl").write_text("".join(rows), "utf-8")
    retrieval.index(folder / "corpus.jsonl", folder / "index")
    return str(folder / "index")


@pytest.fixture(scope="module")
def load(index: str) -> Callable[..., Blueprint]:
    """A page over that index, without dates."""

    def made(page: str, **overrides: Any) -> Blueprint:
        return toolenvs.load(page, tasks=[TASK], **{"judge.index": index, "judge.dates": "", **overrides})

    return made


TASK = Task(id="t", question="q", golds=("w7",), extra={"relevant": {f"d{number:04}": 1 for number in range(RELEVANT)}})


def said(query: object) -> str:
    return f"<think>t</think><answer>{json.dumps({'query': query})}</answer>"


def paid(blueprint: Blueprint, text: str, task: Task = TASK) -> float:
    turn = loop.run(Episode(blueprint, task).step(text))
    assert turn.ending == "answer", turn.fault
    return turn.reward


@pytest.mark.parametrize(
    ("found", "worth"),
    [
        (20, 5.0), (14, 5.0), (13, 4.0), (10, 4.0), (9, 3.0), (8, 3.0), (7, 1.0), (6, 1.0), (5, 0.5), (2, 0.5),
        (1, 0.1), (0, -3.5),
    ],
)  # fmt: skip
def test_each_step_of_recall(load: Callable[..., Blueprint], found: int, worth: float) -> None:
    query = " OR ".join(f"w{number}" for number in range(RELEVANT - found, RELEVANT)) or "w99"
    assert paid(load(LITERATURE), said(query)) == 1 + worth


def test_of_a_query_that_is_too_broad_the_best_results_count(load: Callable[..., Blueprint]) -> None:
    assert paid(load(LITERATURE), said("filler")) == 6  # the relevant ones come first by their ids
    assert paid(load(LITERATURE, k=10), said("filler")) == 1 + 4
    assert paid(load(LITERATURE, k=9), said("filler")) == 1 + 3
    assert paid(load(LITERATURE), said("filler NOT (w0 OR w1 OR w2)")) == 6
    assert paid(load(LITERATURE), said("filler AND nowhere")) == -2.5


@pytest.mark.parametrize(
    ("rank", "worth"),
    [
        (1, 5.0), (5, 5.0), (6, 4.0), (20, 4.0), (21, 2.0), (50, 2.0), (51, 1.0), (100, 1.0), (101, 0.5), (1000, 0.5),
        (1001, 0.1), (3000, 0.1), (3001, -3.5),
    ],
)  # fmt: skip
def test_each_step_of_rank(load: Callable[..., Blueprint], rank: int, worth: float) -> None:
    task = Task(id="t", question="q", golds=("nothing", f"W{rank - 1}."))  # any gold, on SQuAD's normalisation
    episode = Episode(load(EVIDENCE), task)
    assert loop.run(episode.step(said("filler"))).reward == 1 + worth
    assert isinstance(episode.verdict, Searched)
    assert episode.verdict.measure == (rank if rank <= 3000 else None)
    assert episode.success == (1 / rank if rank <= 3000 else 0)


def test_an_answer_is_a_word_and_not_a_part_of_one(load: Callable[..., Blueprint]) -> None:
    assert paid(load(EVIDENCE), said("w77"), Task(id="t", question="q", golds=("w7",))) == -2.5
    assert paid(load(EVIDENCE), said("w7 w77"), Task(id="t", question="q", golds=("w7",))) == 6


def test_squad_pays_otherwise(load: Callable[..., Blueprint]) -> None:
    squad = load(EVIDENCE, otherwise=-2.5, failed=-3.0)
    assert paid(squad, said("nowhere")) == -1.5
    assert paid(squad, "<think>t</think><answer>w7</answer>") == -2.0
    assert paid(squad, "<answer>w7</answer>") == -4.0


@pytest.mark.parametrize(
    ("relevant", "query", "gain"),
    [
        ({"d0001": 1}, "w1", 1.0),
        ({"d0001": 1, "d0002": 1}, "w1", 1 / (1 + 1 / log2(3))),
        ({"d0001": 1, "d0000": 3}, "filler", 1.0),  # the ideal is sorted
        ({"d0000": 1, "d0001": 3}, "filler", (1 + 3 / log2(3)) / (3 + 1 / log2(3))),
        ({"d0009": 1}, "filler", 1 / log2(11)),
        ({"d0010": 1}, "filler", 0.0),  # beyond the first ten
        ({"d0001": 1}, "nowhere", 0.0),
    ],
)
def test_gain_and_a_tenth_where_anything_is_found(
    load: Callable[..., Blueprint], relevant: dict[str, int], query: str, gain: float
) -> None:
    task = Task(id="t", question="q", golds=("x",), extra={"relevant": relevant})
    assert paid(load(IR), said(query), task) == pytest.approx(gain + 0.1 if gain else 0.0)


def test_as_many_passages_as_are_trained_with(load: Callable[..., Blueprint]) -> None:
    blueprint = load(IR, k=1000, held_out_k=10)
    relevant = {"relevant": {"d0010": 1}}
    for source, reward in (("nfcorpus_train", 0.1 + 1 / log2(12)), ("nfcorpus_test", 0.0), ("fever_val", 0.0)):
        task = Task(id="t", question="q", source=source, golds=("x",), extra=relevant)
        assert paid(blueprint, said("filler"), task) == pytest.approx(reward)


BROKEN = [
    "",
    "w1 OR w2",
    said("filler").removeprefix("<think>t</think>"),
    said("filler").replace("</think>", ""),
    said("filler") + "<think>more</think>",
    said("filler") * 2,
    f"<answer>{json.dumps({'query': 'filler'})}</answer><think>t</think>",
    f"<think><answer>{json.dumps({'query': 'filler'})}</answer></think>",
    said("filler").removesuffix("</answer>"),
]
UNREADABLE = [
    "<think>t</think><answer></answer>",
    "<think>t</think><answer>filler</answer>",
    '<think>t</think><answer>```json\n{"query": "filler"}\n```</answer>',
    '<think>t</think><answer>["filler"]</answer>',
    '<think>t</think><answer>{"query": ["filler"]}</answer>',
    '<think>t</think><answer>{"Query": "filler"}</answer>',
    '<think>t</think><answer>{"query": " "}</answer>',
    '<think>t</think><answer>{"query": "filler"</answer>',
    "<think>t</think><answer>" + "[" * 100_000 + "</answer>",
]


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_format_is_paid_alike_whatever_it_finds(load: Callable[..., Blueprint], text: str) -> None:
    assert [paid(load(page), text) for page in PAGES] == [-4.0, -4.0, -2.0]


@pytest.mark.parametrize("text", UNREADABLE)
def test_a_query_that_cannot_be_read(load: Callable[..., Blueprint], text: str) -> None:
    assert [paid(load(page), text) for page in PAGES] == [-3.0, -3.0, -2.0]


def test_a_sound_response_may_say_more(load: Callable[..., Blueprint]) -> None:
    assert paid(load(LITERATURE), f"Well. {said('filler')} Done.<|im_end|>") == 6


@given(finds=st.lists(st.integers(0, 60), max_size=30))
def test_rewards_are_bounded_and_never_fall_with_what_is_found(
    load: Callable[..., Blueprint], finds: list[int]
) -> None:
    blueprint = load(LITERATURE)
    rewards = []
    for count in range(0, len(finds) + 1, 7):
        query = " OR ".join(f"w{number}" for number in finds[:count]) or "nowhere"
        rewards.append(paid(blueprint, said(query)))
    assert rewards == sorted(rewards)  # of up to 30 results none is crowded out
    assert all(-4 <= reward <= 6 for reward in rewards)


@given(text=st.one_of(st.text(max_size=80), st.text(max_size=80).map(said)))
def test_any_response_is_paid_within_bounds(load: Callable[..., Blueprint], text: str) -> None:
    for page, least, most in ((LITERATURE, -4, 6), (EVIDENCE, -4, 6), (IR, -2, 1.1)):
        assert least <= loop.run(Episode(load(page), TASK).step(text)).reward <= most


HOSTILE = {
    "large": "filler " * 200_000,
    "nested": "(" * 50_000 + "filler" + ")" * 50_000,
    "regular expression": "(a+)+$" * 20_000,
    "control characters": "\x00\x1b[2J\x7f\u202e" * 20_000,
    "surrogates": "\ud800" * 20_000,
    "shell": "; cat /etc/passwd &maxdate=3000/01/01",
}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_queries_are_cheap_and_harmless(load: Callable[..., Blueprint], page: str, name: str) -> None:
    blueprint = load(page, **{"spaces.action_length": 10_000_000, "budget.max_turn_tokens": None})
    paid(blueprint, said("filler"))
    before_s = time.process_time()
    assert -4 <= paid(blueprint, said(HOSTILE[name])) <= 6
    assert time.process_time() - before_s < 5


@pytest.fixture
def dated(tmp_path: Path) -> Path:
    """Passage `dNNNN` is of the year 1900 + N, the first ten of one day in 2019."""
    rows = [
        {"pmid": f"d{number:04}", "pub_date": "2019/03/01" if number < 10 else 1900 + number} for number in range(99)
    ]
    file = tmp_path / "dates.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)) + "\n\n", "utf-8")
    return file


@pytest.mark.parametrize(
    ("pub_date", "worth"),
    [
        ("2019/03/01", 5.0),
        ("2019-03", 5.0),
        ("2019", 5.0),
        ("2019/02/28", 4.0),
        ("1914", 0.5),
        ("1909", -3.5),
        (None, 5.0),
    ],
)
def test_nothing_later_than_the_review_is_found(
    load: Callable[..., Blueprint], dated: Path, pub_date: str | None, worth: float
) -> None:
    task = Task(id="t", question="q", extra={**TASK.extra, "pub_date": pub_date})
    query = "(filler) AND 3000[dp] NOT 3000[edat]" if pub_date else "filler"
    blueprint = load(LITERATURE, **{"judge.dates": str(dated), "judge.k": 20})
    some = " OR ".join(f"w{number}" for number in range(40))
    assert paid(blueprint, said(f"({some}) AND {query}"), task) == 1 + worth


def test_dates_that_cannot_be_read(load: Callable[..., Blueprint], tmp_path: Path) -> None:
    task = Task(id="t", question="q", extra={**TASK.extra, "pub_date": "2019"})
    for number, text in enumerate(["nothing", "[]", '{"id": "d0001"}', '{"id": "d0001", "date": "May"}']):
        (tmp_path / f"{number}").write_text(text + "\n", "utf-8")
        with pytest.raises(TaskError, match="judge.dates"):
            paid(load(LITERATURE, **{"judge.dates": str(tmp_path / f"{number}")}), said("filler"), task)
    with pytest.raises(PageError, match="is no fictional world"):
        paid(load(LITERATURE, **{"judge.dates": "world"}), said("filler"), task)


def test_the_dates_of_the_world() -> None:
    blueprint = toolenvs.load(LITERATURE)
    people = [task for task in (blueprint.tasks[index] for index in range(60)) if task.extra["fact"] == "employer"]
    task = people[0]
    early = Task(id="e", question="q", extra={**task.extra, "pub_date": "1499"})  # nobody was born before 1500
    assert paid(blueprint, said(task.gold), task) == 6
    assert paid(blueprint, said(task.gold), early) == -2.5


@pytest.mark.parametrize("page", PAGES)
def test_a_retriever_that_fails_is_infrastructure(
    load: Callable[..., Blueprint], monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    class Broken:
        async def asearch(self, queries: list[str], k: int) -> Any:
            raise RetrievalError("no answer")

    blueprint = load(page)
    monkeypatch.setattr(shared, "retriever", lambda index, backend: Broken())
    turn = loop.run(Episode(blueprint, TASK).step(said("filler")))
    assert (turn.ending, turn.fault, turn.truncated) == ("infrastructure", "no answer", True)
    assert not turn.reward_terms
    with pytest.raises(RetrievalError):  # and is found out before the first episode
        loop.run(blueprint.check())


def test_an_answer_of_too_few_lists_is_infrastructure(
    load: Callable[..., Blueprint], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Short:
        async def asearch(self, queries: list[str], k: int) -> Any:
            return []

    blueprint = load(IR)
    monkeypatch.setattr(shared, "retriever", lambda index, backend: Short())
    assert loop.run(Episode(blueprint, TASK).step(said("filler"))).ending == "infrastructure"


RENDERED = "<|im_start|>user\nWrite a query.<|im_end|>\n<|im_start|>assistant\nLet me see.\n<think>"


def published(target: list[Any], *, score: Any = None, prompt: str = RENDERED, **more: Any) -> dict[str, Any]:
    return {
        "data_source": "pubmed_train",
        "prompt": [{"role": "user", "content": prompt}],
        "ability": "literature_mining",
        "reward_model": {"style": "rule", "ground_truth": {"target": target, "score": score}},
        "extra_info": {"split": "train", "index": 0},
        **more,
    }


def over(rows: list[dict[str, Any]], folder: Path, page: str, index: str, **overrides: Any) -> ToolEnv:
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    given = {"judge.index": index, "judge.dates": "", "tasks": {"set": str(file)}, **overrides}
    return ToolEnv(page, **given)


def test_published_rows_open_the_thought_themselves(index: str, tmp_path: Path, dated: Path) -> None:
    row = published(["d0001", "d0002"], pub_date="2019/03/01")
    env = over([row], tmp_path, LITERATURE, index, **{"judge.dates": str(dated)})
    text, _ = env.reset(seed=0)
    assert text == RENDERED
    _, reward, *_ = env.step('so.</think><answer>{"query": "w1"}</answer>')
    assert reward == 1 + 4
    env.reset(seed=0)
    _, reward, *_ = env.step(said("w1"))  # a second <think>
    assert reward == -4
    env.close()


def test_published_grades(index: str, tmp_path: Path) -> None:
    env = over([published(["d0000", "d0001"], score=[1, 3])], tmp_path, IR, index)
    env.reset(seed=0)
    _, reward, *_ = env.step('</think><answer>{"query": "filler"}</answer>')
    assert reward == pytest.approx(0.1 + (1 + 3 / log2(3)) / (3 + 1 / log2(3)))
    env.close()


def test_rows_with_graded_passages(index: str, tmp_path: Path) -> None:
    rows = [
        {"_id": "q1", "query": "first", "qrels": {"d0001": 2, "d0002": 0}},
        {"_id": "q2", "query": "second", "qrels": [{"corpus-id": "d0003", "score": 1}]},
    ]
    env = over(rows, tmp_path, IR, index)
    for key, query, reward in (("q1", "w1", 1.1), ("q1", "w2", 0.0), ("q2", "w3", 1.1)):
        text, _ = env.reset(options={"task": key})
        assert ("first" if key == "q1" else "second") in text
        assert env.step(said(query))[1] == pytest.approx(reward)
    env.close()


@pytest.mark.parametrize(
    ("page", "row", "message"),
    [
        (IR, {"query": "q", "relevant": {"d0001": 1, "x": 1}}, "has no passage 'x'"),
        (LITERATURE, published(["30000001"]), "has no passage '30000001'"),
        (LITERATURE, published(["d0001"], score=[0]), "has no relevant passage"),
        (LITERATURE, published(["d0001"], score=["a"]), "give a whole number"),
        (EVIDENCE, published(["..."]), "none may be empty"),
    ],
)
def test_tasks_are_held_against_the_index_when_they_are_loaded(
    index: str, tmp_path: Path, page: str, row: dict[str, Any], message: str
) -> None:
    env = over([row], tmp_path, page, index)
    with pytest.raises(TaskError, match=message):
        env.reset(seed=0)
    env.close()


def test_a_server_without_passages_by_their_ids_is_believed(
    index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Any, ids: Any) -> None:
        raise RetrievalError("this server has no passages by their ids")

    monkeypatch.setattr(type(retrieval.open(index)), "fetch", refuse)
    env = over([{"query": "q", "relevant": ["d0001", "x"]}], tmp_path, IR, index)
    env.reset(seed=0)
    assert env.step(said("w1"))[1] == pytest.approx(0.1 + 1 / (1 + 1 / log2(3)))
    env.close()


def test_wrong_pages(index: str) -> None:
    with pytest.raises(PageError, match="not the world of the tasks"):
        toolenvs.load(IR, **{"judge.index": "world:200"})
    with pytest.raises(PageError, match="k = 0 is out of range"):
        toolenvs.load(IR, k=0)
    with pytest.raises(PageError, match="key must not be empty"):
        toolenvs.load(IR, key="")
    blueprint = toolenvs.load(IR, tasks=[TASK], **{"judge.index": index, "measure": "recall"})
    with pytest.raises(PageError, match="'search_gain' needs a judge that searches and measures 'ndcg'"):
        paid(blueprint, said("filler"))
    blueprint = toolenvs.load("SSRL-v0", tasks=[TASK], reward=[{"term": "search_tiers"}])
    with pytest.raises(PageError, match="'search_tiers' needs a judge that searches and measures 'recall'"):
        paid(blueprint, said("filler"))


def test_a_task_that_says_nothing_of_relevance_is_refused(load: Callable[..., Blueprint]) -> None:
    for extra in ({}, {"relevant": {}}, {"relevant": {"d0001": 0}}, {"relevant": ["d0001"]}, {"relevant": {"d": True}}):
        with pytest.raises(TaskError, match="task 't'"):
            paid(load(IR), said("filler"), Task(id="t", question="q", extra=extra))
