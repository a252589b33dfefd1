"""R-Search's rewards, part by part, and both of its readers."""

from dataclasses import replace
from typing import Any

import pytest

import toolenvs
from toolenvs import loop
from toolenvs.endpoint import Endpoint
from toolenvs.env import ToolEnv
from toolenvs.errors import EngineError
from toolenvs.rewards.reading import Spans
from toolenvs.rewards.terms.r_search import Options, Term
from toolenvs.world import World

FOUND = [("policy", "<search>q</search>"), ("tool", "<observation>"), ("passage", "x"), ("tool", "</observation>")]
EVIDENCE = ("policy", "<original_evidence>The place q is Old Paris.</original_evidence>")
ANSWER = ("policy", "so <answer>Paris</answer>")


@pytest.mark.parametrize(
    ("parts", "answer", "reward"),
    [
        ([*FOUND, EVIDENCE, ANSWER], "Paris", 1 + 2 / 3 + 0.4),
        ([*FOUND, EVIDENCE, ANSWER], "Paris now", 2 / 3 + 2 / 3 + 0.4),
        ([*FOUND, EVIDENCE, ANSWER], "Rome", 2 / 3 + 0.4),
        ([*FOUND, ANSWER], "Paris", 1 + 0.2),
        ([ANSWER], "Paris", 1 + 0.4),
        ([EVIDENCE, ANSWER], "Paris", 1 + 2 / 3 + 0.2),
        ([*FOUND, EVIDENCE, ANSWER, ANSWER], "Paris", 1 + 2 / 3 + 0.2),
        ([*FOUND, EVIDENCE], None, 2 / 3 + 0.2),
        ([*FOUND, EVIDENCE, ("policy", "<answer>Paris"), ("harness", "</answer>")], "Paris", 1 + 2 / 3 + 0.4),
        ([("policy", "x"), ("harness", "use <answer> and </answer>"), ANSWER], "Paris", 1 + 0.4),
        ([*FOUND, ("policy", "<original_evidence> </original_evidence>"), ANSWER], "Paris", 1 + 0.2),
        ([*FOUND, ("policy", "<original_evidence>Old Paris"), ANSWER], "Paris", 1 + 0.2),  # never closed
        ([*FOUND, ("forged", EVIDENCE[1]), ANSWER], "Paris", 1 + 0.2),
        ([FOUND[0], FOUND[1], ("passage", EVIDENCE[1]), FOUND[3], ANSWER], "Paris", 1 + 0.2),
        ([], None, 0.2),
    ],
)
def test_parts(parts: Any, answer: str | None, reward: float, moment: Any) -> None:
    ended = moment(parts, answer=answer, score=0.0)
    assert loop.run(Term(Options())(ended)) == pytest.approx(reward)
    assert loop.run(Term(Options())(replace(ended, verdict=None))) == 0


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("Who is the mayor of Rome?", "Rome lies in Italy. The mayor of Rome is Anna de Vries.", "Anna"),
        ("Who is the mayor of Rome?", "Anna Vries is the mayor of Rome. Bob Day lives there.", "Anna Vries"),
        ("In which year was Anna born?", "Anna, who met Bob, was born in 1911 in Rome. Bob left in 1930.", "1911"),
        ("How many people live in Rome?", "Rome has 2,873,000 people.", "2,873,000"),
        ("What is 6 * 7?", "It is 42.", "42"),
        ("Who is Anna?", "nothing here", ""),
        ("Who is Anna?", "", ""),
    ],
)
def test_spans(question: str, text: str, answer: str) -> None:
    assert loop.run(Spans().read(question, text)) == answer


def test_the_reader_of_spans_does_much_better_with_the_right_passage() -> None:
    tasks = [toolenvs.load("RSearch-v0", max_hops=1).tasks[index] for index in range(200)]
    texts = {passage.id: passage.text for passage in World(1000).passages()}
    right = [loop.run(Spans().read(t.question, texts[t.extra["evidence"][0]])) == t.gold for t in tasks]
    beside = [loop.run(Spans().read(t.question, texts["person-0"])) == t.gold for t in tasks]
    assert sum(right) > 100
    assert sum(beside) < 10


def test_a_model_reads(chat_model: Any, moment: Any) -> None:
    handler, endpoint = chat_model
    handler.answers += [(200, {"choices": [{"message": {"content": "Paris"}}]}), (400, {})]
    term = Term(Options(endpoint=Endpoint(**endpoint)))
    ended = moment([*FOUND, EVIDENCE, ANSWER], answer="Paris", score=1.0)
    assert loop.run(term(ended)) == pytest.approx(2.4)
    [(_, asked)] = handler.asked
    prompt = asked["messages"][0]["content"]
    assert prompt.endswith("Question: q\n\nText:\nThe place q is Old Paris.")
    with pytest.raises(EngineError, match="status 400"):
        loop.run(term(ended))


def test_a_reader_that_fails_is_infrastructure(chat_model: Any) -> None:
    handler, endpoint = chat_model
    handler.answers += [(400, {"error": "gone"})]
    env = ToolEnv("RSearch-v0", endpoint=endpoint)
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(f"{EVIDENCE[1]}<answer>Paris</answer>")
    assert (reward, terminated, truncated, info["ending"]) == (0, False, True, "infrastructure")
    assert "gone" in info["fault"]
    env.close()
