"""The faults that the notes of the published SQL pages name: which are kept as they are, and which cannot be had."""

import functools
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolenvs
from toolenvs import loop
from toolenvs.blueprint import Blueprint
from toolenvs.episode import Episode
from toolenvs.errors import PageError
from toolenvs.rewards.sql.ran import Ran
from toolenvs.tasks.task import Task

DEEP, INTERCODE, SKYRL = "DeepRetrievalSQL-v0", "InterCodeSQL-v0", "SkyRLSQL-v0"
SLOW = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
EMPTY = "SELECT name FROM town WHERE people < 0"
Load = Callable[..., Blueprint]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("published") / "towns.sqlite"
    with closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE town (name TEXT, people INTEGER)")
        base.executemany("INSERT INTO town VALUES (?, ?)", [("Oldport", 7), ("Lomir", 7), ("Tarn", 5), ("Tarn", 5)])
        base.commit()
    return path


@pytest.fixture
def load(source: Path) -> Load:
    def made(page: str, gold: str, set_: str = "", **overrides: Any) -> Blueprint:
        task = Task(id="t", question="q", golds=(gold,), source=set_, extra={"database": str(source)})
        return toolenvs.load(page, tasks=[task], **overrides)

    return made


def paid(blueprint: Blueprint, *actions: str) -> tuple[float, bool | float | None]:
    episode = Episode(blueprint, blueprint.tasks[0])
    turns = [loop.run(episode.step(action)) for action in actions]
    assert turns[-1].fault is None
    return turns[-1].reward, episode.success


def in_json(sql: object) -> str:
    return f"<think>t</think><answer>{json.dumps({'sql': sql})}</answer>"


@pytest.mark.parametrize(
    ("said", "spider", "bird", "careful"),
    [
        ("SELECT people FROM town", 1.1, 1.1, 1.1),
        ("SELECT DISTINCT people FROM town", 1.1, 1.1, 0),  # sets lose duplicates
        ("SELECT people FROM town ORDER BY people", 1.1, 1.1, 1.1),
        ("SELECT 7 UNION SELECT 5", 1.1, 1.1, 0),
        ("SELECT name FROM town", 0, 0.4, 0),
        (SLOW, 0, 0.4, 0),  # no rows, and no error
        ("SELECT nme FROM town", 0, 0, 0),
        ("UPDATE town SET people = 1", 0, 0, 0),
        ("DROP TABLE town", 0, 0, 0),
        ("", 0, 0, 0),  # the released code runs it, and finds nothing
        ("SELECT 1; DROP TABLE town", 0, 0, 0),
    ],
)
def test_deepretrieval(load: Load, said: str, spider: float, bird: float, careful: float, source: Path) -> None:
    before = source.read_bytes()
    for set_, reward in (("spider_train", spider), ("bird_train", bird), ("wikisql_test", spider)):
        blueprint = load(DEEP, "SELECT people FROM town", set_)
        assert paid(blueprint, in_json(said))[0] == pytest.approx(reward)
    keys = {"judge.metric": "careful", "judge.by_source": {"bird": "careful"}}
    assert paid(load(DEEP, "SELECT people FROM town", "bird_train", **keys), in_json(said))[0] == careful
    assert source.read_bytes() == before
    assert [path.name for path in source.parent.iterdir()] == [source.name]


def test_deepretrieval_takes_a_query_that_never_ends_for_one_that_finds_nothing(load: Load) -> None:
    for gold in (EMPTY, SLOW):  # two that hang are equal
        assert paid(load(DEEP, gold), in_json(SLOW)) == (1.1, True)
    wrong = {"judge.metric": "careful"}
    assert paid(load(DEEP, EMPTY, **wrong), in_json(SLOW)) == (0, False)
    for gold, why in ((EMPTY, "its gold query finds nothing: no rows"), (SLOW, "its gold query fails (timeout")):
        blueprint = load(DEEP, gold)  # and so no task of a file has such a gold
        assert str(blueprint.judge.check_task(blueprint.tasks[0])).startswith(why)


@pytest.mark.parametrize("said", [["SELECT people FROM town"], {"a": 1}, None, 7, "", "  "])
def test_deepretrieval_an_object_with_the_key_is_in_the_format_whatever_it_holds(load: Load, said: object) -> None:
    for set_ in ("spider_train", "bird_train"):
        assert paid(load(DEEP, "SELECT people FROM town", set_), in_json(said)) == (0, False)


@pytest.mark.parametrize(
    "answer", ['"sql"', '["sql"]', "sql", "{}", '{"SQL": "SELECT people FROM town"}', "[" * 100_000]
)
def test_deepretrieval_an_answer_without_the_key_is_out_of_it(load: Load, answer: str) -> None:
    blueprint = load(DEEP, "SELECT people FROM town", **{"spaces.action_length": 200_000, "max_turn_tokens": None})
    assert paid(blueprint, f"<think>t</think><answer>{answer}</answer>") == (-2, False)


def test_deepretrieval_the_parts_of_the_reward_are_keys(load: Load) -> None:
    keys = {"reward.deepretrieval_sql.format": 0.5, "reward.deepretrieval_sql.broken": -1.0}
    blueprint = load(DEEP, "SELECT people FROM town", "bird_dev", **keys)
    rewards = [paid(blueprint, said)[0] for said in (in_json("SELECT people FROM town"), in_json("SELECT 1"), "no")]
    assert rewards == [1.5, 0.8, -1.0]
    one = load(DEEP, "SELECT people FROM town", **{"judge.key": "q", "reward.deepretrieval_sql.key": "q"})
    assert paid(one, in_json("SELECT people FROM town").replace('"sql"', '"q"'))[0] == 1.1


@pytest.mark.parametrize("term", ["deepretrieval_sql", "sql_score"])
def test_terms_of_sql_need_its_judge(term: str) -> None:
    blueprint = toolenvs.load("SSRL-v0", tasks=[Task(id="t", question="q", golds=("x",))], reward=[{"term": term}])
    with pytest.raises(PageError, match=f"{term!r} needs the judge 'sql'"):
        paid(blueprint, "<answer>x</answer>")


@given(text=st.one_of(st.text(max_size=60), st.text(max_size=60).map(lambda sql: in_json(sql))))
def test_any_response_is_paid_within_bounds(text: str) -> None:
    for page, least, most in ((DEEP, -2, 1.1), ("SpiderSQL-v0", 0, 1), (SKYRL, -1, 1)):
        reward, success = paid_in_the_world(page, text)
        assert least <= reward <= most
        assert success in (False, None)  # no such text is the gold


@given(text=st.one_of(st.text(max_size=60), st.text(max_size=60).map(lambda sql: f"Action: execute[{sql}]")))
def test_any_turn_of_intercode_is_paid_within_bounds(text: str) -> None:
    blueprint = in_the_world(INTERCODE, max_turns=1)
    episode = Episode(blueprint, blueprint.tasks[0])
    turn = loop.run(episode.step(text))
    assert turn.ending is not None
    assert -1 <= turn.reward <= 1
    assert 0 <= float(episode.success or 0) <= 1


@functools.cache
def in_the_world(page: str, **overrides: Any) -> Blueprint:
    return toolenvs.load(page, **overrides)


def paid_in_the_world(page: str, text: str) -> tuple[float, bool | float | None]:
    blueprint = in_the_world(page)
    episode = Episode(blueprint, blueprint.tasks[0])
    turn = loop.run(episode.step(text))
    assert turn.fault is None
    return turn.reward, episode.success


def execute(*queries: str) -> list[str]:
    return [f"Thought: hm\nAction: execute[{sql}]" for sql in queries]


@pytest.mark.parametrize(
    ("said", "reward"),
    [
        ("SELECT name FROM town ORDER BY name", 1.0),
        ("SELECT name FROM town ORDER BY name DESC", -0.8),  # four pairs of six reversed, one tied on each side
        ("SELECT name FROM town ORDER BY name DESC LIMIT 3", -0.38),  # 3 of 4 rows; of their pairs 1 reversed, 2 tied
        ("SELECT name FROM (SELECT DISTINCT name FROM town) ORDER BY name DESC", -0.75),  # three of four, reversed
        ("SELECT name FROM town WHERE name < 'P' ORDER BY name", 0.5),
        ("SELECT name, 1 FROM town", 0.0),
        ("SELECT name FROM town WHERE name = 'Tarn'", 0.5),  # alike: the tau of one value is none
        ("SELECT nme FROM town", 0.0),
        (SLOW, 0.0),
        ("DELETE FROM town", 0.0),
        (".schema", 0.0),
    ],
)
def test_intercode_pays_order_and_the_verdict_stays_from_0_to_1(load: Load, said: str, reward: float) -> None:
    blueprint = load(INTERCODE, "SELECT name FROM town ORDER BY name")
    episode = Episode(blueprint, blueprint.tasks[0])
    for action in (*execute(said), "Action: submit"):
        turn = loop.run(episode.step(action))
    assert turn.reward_terms == {"sql_score": reward}
    assert isinstance(episode.verdict, Ran)
    assert (episode.success, episode.verdict.published) == (max(reward, 0.0), reward)
    assert episode.verdict.correct is (reward == 1)


def test_intercode_writes_are_not_there_for_the_gold_or_the_next_task(load: Load) -> None:
    blueprint = load(INTERCODE, "SELECT name FROM town ORDER BY name")
    for _ in range(2):
        queries = execute("DELETE FROM town", "SELECT name FROM town ORDER BY name")
        assert paid(blueprint, *queries, "Action: submit") == (1, 1)


def test_intercode_a_fork_submits_its_own_last_query(load: Load) -> None:
    blueprint = load(INTERCODE, "SELECT name FROM town ORDER BY name")
    episode = Episode(blueprint, blueprint.tasks[0])
    loop.run(episode.step(execute("SELECT name FROM town ORDER BY name")[0]))
    copy = loop.run(episode.fork())
    loop.run(copy.step(execute("SELECT 1")[0]))
    rewards = [loop.run(one.step("Action: submit")).reward for one in (episode, copy)]
    assert rewards == [1, 0]


def test_intercode_by_a_fairer_judge(load: Load) -> None:
    keys = {"judge.metric": "careful", "reward": [{"term": "outcome"}]}
    blueprint = load(INTERCODE, "SELECT name FROM town", **keys)
    assert paid(blueprint, *execute("SELECT name FROM town ORDER BY name DESC"), "Action: submit") == (1, True)


def think(sql: str) -> str:
    return f"<think>t</think><sql>{sql}</sql>"


def test_skyrl_sql_no_query_equals_an_empty_gold(load: Load) -> None:
    blueprint = load(SKYRL, EMPTY)
    for said, reward in ((EMPTY, 1), ("INSERT INTO town VALUES ('x', 1)", 0), ("SELECT nme FROM town", 0), (SLOW, 0)):
        assert paid(blueprint, f"<think>t</think><solution>{said}</solution>")[0] == reward


def test_skyrl_sql_shows_rows_in_order_and_as_often_as_they_come(load: Load) -> None:
    blueprint = load(SKYRL, "SELECT name FROM town")
    episode = Episode(blueprint, blueprint.tasks[0])
    shown = [loop.run(episode.step(think("SELECT name FROM town ORDER BY name DESC"))).observation for _ in range(5)]
    rows = "name\nTarn\nTarn\nOldport\nLomir\n(4 rows)"
    notes = [f"<reminder>You have {left} turns left.</reminder>" for left in (5, 4, 3, 2, 1)]
    assert shown == [f"\n\n<observation>{rows}\n{note}</observation>\n\n" for note in notes]
    assert loop.run(episode.step(think("SELECT 1"))).ending == "turns"  # the sixth must answer


def test_skyrl_sql_errors_name_no_file(load: Load, source: Path) -> None:
    blueprint = load(SKYRL, "SELECT name FROM town")
    shown = loop.run(Episode(blueprint, blueprint.tasks[0]).step(think("SELECT nme FROM town"))).observation
    assert "no such column: nme" in shown
    assert str(source.parent) not in shown


def test_skyrl_sql_input_is_prompt_and_all_before_a_turn(load: Load, byte_codec: Any) -> None:
    first = load(SKYRL, "SELECT name FROM town", tokenizer=byte_codec)
    episode = Episode(first, first.tasks[0])
    turn = loop.run(episode.step(think("SELECT 1")))
    count = byte_codec.count
    used = count(episode.prompt, verbatim=False) + count(think("SELECT 1")) + count(turn.observation)
    assert episode.usage()["input_tokens"].used == used
    assert episode.usage()["input_tokens"].left == 29_000 - used
    for limit, ending in ((used, None), (used - 1, "length")):
        tight = load(SKYRL, "SELECT name FROM town", tokenizer=byte_codec, max_input_tokens=limit)
        assert loop.run(Episode(tight, tight.tasks[0]).step(think("SELECT 1"))).ending == ending
    assert "input_tokens" not in Episode(load("SQL-v0", EMPTY), first.tasks[0]).usage()


def test_what_is_cut_equals_no_set(tmp_path: Path) -> None:
    path = tmp_path / "many.sqlite"
    with closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE many (a INTEGER)")
        base.executemany("INSERT INTO many VALUES (?)", [(n % 2,) for n in range(20_001)])
        base.commit()
    task = Task(id="t", question="q", golds=("SELECT DISTINCT a FROM many",), extra={"database": str(path)})
    blueprint = toolenvs.load("BirdSQL-v0", tasks=[task])
    junk = "SELECT a FROM many UNION ALL SELECT 7"
    for said, reward in (("SELECT a FROM many LIMIT 9", 1), (junk, 0)):
        assert paid(blueprint, f"<think>t</think><answer>{said}</answer>")[0] == reward


@pytest.mark.parametrize(
    "text",
    [
        "```sql\n{}\n```",
        "```sql {}```",
        "```{}```",
        "```sqlite3\n{};\n```",
        "```json\n{{}}\n```\nand so\n```SQL\n{}\n```",
    ],
)
def test_a_query_may_stand_in_a_fenced_block_of_any_form(load: Load, text: str) -> None:
    gold = "SELECT name FROM town WHERE people < 7"
    blueprint = load("BirdSQL-v0", gold)
    assert paid(blueprint, f"<think>t</think><answer>{text.format(gold)}</answer>")[0] == 1
