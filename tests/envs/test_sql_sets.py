"""Sets of questions as they are published, each made small: played by their pages as a user would."""

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import toolenvs
from toolenvs.errors import TaskError

SHOP = "CREATE TABLE town (name TEXT, people INTEGER, country TEXT)"
CLUB = "CREATE TABLE member (nick TEXT, age INTEGER)"
LARGE = "SELECT name FROM town WHERE people > 3500"
TALLY = "SELECT country, count(*) FROM town GROUP BY country"
OLD = "SELECT nick FROM member WHERE age >= 60 ORDER BY age"


def town(path: Path, name: str, count: int = 40) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [(f"{name} {n}", n * 100, f"land {n % 3}") for n in range(1, count + 1)]
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.execute(SHOP)
        base.executemany("INSERT INTO town VALUES (?, ?, ?)", rows)
        base.commit()
    return path


def club(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.execute(CLUB)
        base.executemany("INSERT INTO member VALUES (?, ?)", [(f"nick{n}", 40 + n) for n in range(25)])
        base.commit()
    return path


@contextlib.contextmanager
def made(page: str, **keys: Any) -> Iterator[gym.Env[str, str]]:
    """The environment, and a check that no database changed while it was used."""
    env = gym.make(f"toolenvs/{page}", disable_env_checker=True, **keys)
    yield env
    env.close()


def last(env: gym.Env[str, str], task: int | str, *actions: str) -> tuple[float, dict[str, Any]]:
    """Reward and info of the last of these actions."""
    env.reset(seed=0, options={"task": task})
    reward, info = 0.0, {}
    for action in actions:
        _, reward, _, _, info = env.step(action)
    return float(reward), info


def answer(sql: str) -> str:
    return f"<think>t</think><answer>{sql}</answer>"


def in_json(sql: str) -> str:
    return answer(json.dumps({"sql": sql}))


def digests(folder: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def unchanged(tmp_path: Path) -> Iterator[None]:
    """Nothing of a set changes, and nothing comes to lie beside it; requested behind the set's own fixture."""
    before = digests(tmp_path)
    yield
    assert digests(tmp_path) == before


@pytest.fixture
def bird(tmp_path: Path) -> Path:
    town(tmp_path / "dev_databases" / "shop" / "shop.sqlite", "Oldport")
    (tmp_path / "dev_databases" / "shop" / "database_description").mkdir()
    (tmp_path / "dev_databases" / "shop" / "database_description" / "town.csv").write_text("original_column_name\n")
    rows = [
        {
            "question_id": 0,
            "db_id": "shop",
            "question": "Which are large?",
            "evidence": "large: above 3500",
            "SQL": LARGE,
        },
        {"question_id": 1, "db_id": "shop", "question": "How many in each?", "evidence": "", "SQL": TALLY},
    ]
    (tmp_path / "dev.json").write_text(json.dumps([{**row, "difficulty": "simple"} for row in rows]))
    (tmp_path / "dev_tables.json").write_text(json.dumps([{"db_id": "shop", "table_names": ["town"]}]))
    (tmp_path / "dev.sql").write_text(f"{LARGE}\tshop\n")
    return tmp_path


def test_bird(bird: Path, unchanged: None) -> None:
    with made("BirdSQL-v0", tasks={"set": str(bird), "split": "dev"}) as env:
        text, info = env.reset(seed=0, options={"task": "0"})
        assert "CREATE TABLE town (" in text
        assert "Hint: large: above 3500" in text
        assert info["success"] is None
        assert last(env, "0", answer("SELECT name FROM town WHERE people >= 3600"))[0] == 1
        assert last(env, "1", answer("SELECT country, count(name) FROM town GROUP BY 1 ORDER BY 2"))[0] == 1
        for wrong in ("SELECT name FROM town", "DELETE FROM town", "SELECT name FROM towns", "DROP TABLE town", ""):
            assert last(env, "0", answer(wrong))[0] == 0
        assert last(env, "0", answer("SELECT name FROM town WHERE people >= 3600"))[0] == 1  # the rows are there


def test_mini_dev_and_the_questions_for_training(bird: Path) -> None:
    rows = json.loads((bird / "dev.json").read_text())
    (bird / "mini_dev_sqlite.json").write_text(json.dumps(rows[1:]))
    town(bird / "train_databases" / "shop" / "shop.sqlite", "Elsewhere")
    trained = [{key: row[key] for key in ("db_id", "question", "evidence", "SQL")} for row in rows]  # without ids
    (bird / "train.json").write_text(json.dumps(trained))
    with made("BirdSQL-v0", tasks={"set": str(bird), "split": "mini_dev_sqlite"}) as env:
        assert last(env, "1", answer(TALLY))[0] == 1
    with made("BirdSQL-v0", tasks={"set": str(bird)}) as env:
        assert "'Elsewhere 1'" in env.reset(seed=0)[0]
        assert last(env, 1, answer(TALLY))[0] == 1


@pytest.mark.parametrize("page", ["SQL-v0", "SkyRLSQL-v0", "SpiderSQL-v0", "DeepRetrievalSQL-v0", "InterCodeSQL-v0"])
def test_every_sql_page_takes_bird(page: str, bird: Path, unchanged: None) -> None:
    gold = {
        "SpiderSQL-v0": (answer(LARGE),),
        "DeepRetrievalSQL-v0": (in_json(LARGE),),
        "InterCodeSQL-v0": (f"Action: execute[{LARGE}]", "Action: submit"),
    }.get(page, (f"<think>t</think><solution>{LARGE}</solution>",))
    with made(page, tasks={"set": str(bird), "split": "dev"}) as env:
        reward, info = last(env, "0", *gold)
        assert reward == (1.1 if page == "DeepRetrievalSQL-v0" else 1)
        assert info["success"] == 1


@pytest.mark.parametrize("page", ["SQL-v0", "SkyRLSQL-v0", "BirdSQL-v0", "SpiderSQL-v0", "DeepRetrievalSQL-v0"])
def test_a_task_that_names_a_database_is_never_about_the_world(page: str, bird: Path) -> None:
    with (
        made(page, tasks={"set": str(bird / "dev.json")}) as env,
        pytest.raises(TaskError, match="does not say which database it is about: load the set's folder"),
    ):
        env.reset(seed=0)
    found = {"judge.databases": str(bird / "dev_databases")}
    if page in ("SQL-v0", "SkyRLSQL-v0"):
        found["tools.sql.databases"] = found["judge.databases"]
    with made(page, tasks={"set": str(bird / "dev.json")}, **found) as env:
        assert "CREATE TABLE town (" in env.reset(seed=0)[0]
    with (
        made(page, tasks={"set": str(bird / "dev.json")}, **dict.fromkeys(found, str(bird / "nowhere"))) as env,
        pytest.raises(TaskError, match=r"its database .*nowhere/shop/shop.sqlite is not there; is .* the right folder"),
    ):
        env.reset(seed=0)


@pytest.fixture
def spider(tmp_path: Path) -> Path:
    for name, count in (("shop", 40), ("shop_1", 36), ("shop_2", 37)):
        town(tmp_path / "database" / "shop" / f"{name}.sqlite", "Lomir", count)
    with contextlib.closing(sqlite3.connect(tmp_path / "database" / "shop" / "shop_2.sqlite")) as base:
        base.execute("INSERT INTO town VALUES ('Between', 3520, 'land 9')")
        base.execute("INSERT INTO town SELECT * FROM town WHERE people = 3600")  # the same twice
        base.commit()
    club(tmp_path / "test_database" / "club" / "club.sqlite")
    (tmp_path / "database" / "shop" / "schema.sql").write_text(SHOP)

    def row(db_id: str, question: str, query: str) -> dict[str, Any]:
        return {"db_id": db_id, "question": question, "query": query, "query_toks": query.split(), "sql": {}}

    ordered = "SELECT name, people FROM town WHERE people < 400 ORDER BY people DESC"
    (tmp_path / "dev.json").write_text(
        json.dumps([row("shop", "Which are large?", LARGE), row("shop", "The small ones, largest first?", ordered)])
    )
    (tmp_path / "train_spider.json").write_text(json.dumps([row("shop", "How many in each?", TALLY)]))
    (tmp_path / "train_others.json").write_text(
        json.dumps([row("shop", "Who is so?", 'SELECT name FROM town WHERE country = "land 1" AND people < 500')])
    )
    (tmp_path / "test.json").write_text(json.dumps([row("club", "Who is old?", OLD)]))
    (tmp_path / "tables.json").write_text(json.dumps([{"db_id": "shop"}]))
    return tmp_path


def test_spider(spider: Path, unchanged: None) -> None:
    with made("SpiderSQL-v0", tasks={"set": str(spider), "split": "dev"}) as env:
        assert last(env, 0, answer(f"{LARGE};"))[0] == 1
        assert last(env, 0, answer("SELECT DISTINCT name FROM town WHERE people > 3500"))[0] == 1  # it is taken out
        assert last(env, 0, answer("SELECT name FROM town WHERE people > 3550"))[0] == 0  # of the second neighbour
        assert last(env, 0, answer("SELECT name FROM town WHERE people > 3500 GROUP BY name"))[0] == 0
        assert last(env, 0, answer("SELECT name, people FROM town WHERE people > 3500"))[0] == 0
        assert last(env, 0, answer("DELETE FROM town"))[0] == 0
        swapped = "SELECT people, name FROM town WHERE people < 400 ORDER BY people"
        assert last(env, 1, answer(f"{swapped} DESC"))[0] == 1  # in any order of the columns
        assert last(env, 1, answer(swapped))[0] == 0
    careful = {"judge.metric": "careful"}
    with made("SpiderSQL-v0", tasks={"set": str(spider), "split": "dev"}, **careful) as env:
        assert last(env, 0, answer("SELECT name FROM town WHERE people > 3550"))[0] == 0  # of a changed copy


def test_spider_has_two_files_for_training_and_databases_of_its_own_for_the_test(spider: Path, unchanged: None) -> None:
    with made("SpiderSQL-v0", tasks={"set": str(spider)}) as env:
        assert last(env, 0, answer("SELECT country, count(*) FROM town GROUP BY 1"))[0] == 1
        assert last(env, 1, answer("SELECT name FROM town WHERE people < 500 AND country = 'land 1'"))[0] == 1
        assert last(env, 1, answer('SELECT name FROM town WHERE people < 500 AND country = "land 1"'))[0] == 1
    with made("SpiderSQL-v0", tasks={"set": str(spider), "split": "test"}) as env:
        assert "nick TEXT" in env.reset(seed=0)[0]
        assert last(env, 0, answer(OLD))[0] == 1
        assert last(env, 0, answer(f"{OLD} DESC"))[0] == 0


def test_databases_that_lie_flat_are_no_states_of_one_another(tmp_path: Path) -> None:
    town(tmp_path / "database" / "shop.sqlite", "Oldport")
    club(tmp_path / "database" / "club.sqlite")
    rows = [{"db_id": "shop", "question": "?", "query": LARGE}, {"db_id": "club", "question": "??", "query": OLD}]
    (tmp_path / "dev.json").write_text(json.dumps(rows))
    with made("SpiderSQL-v0", tasks={"set": str(tmp_path), "split": "dev"}) as env:
        assert last(env, 0, answer(LARGE))[0] == 1
        assert last(env, 1, answer(OLD))[0] == 1
        assert last(env, 1, answer(LARGE))[0] == 0


def test_a_solution_has_its_texts_in_single_quotes(tmp_path: Path) -> None:
    town(tmp_path / "dev_databases" / "shop" / "shop.sqlite", "Oldport")
    gold = 'SELECT name FROM "town" WHERE country = "land 1"'
    (tmp_path / "dev.json").write_text(json.dumps([{"db_id": "shop", "question": "?", "SQL": gold}]))
    blueprint = toolenvs.load("SQL-v0", tasks={"set": str(tmp_path), "split": "dev"})
    said = blueprint.judge.solution(blueprint.tasks[0])
    assert said is not None
    assert said.endswith("<solution>\nSELECT name FROM \"town\" WHERE country = 'land 1'\n</solution>")
    with made("SQL-v0", tasks={"set": str(tmp_path), "split": "dev"}) as env:
        assert last(env, 0, said)[0] == 1


def test_a_gold_that_fails_on_a_database_beside_is_told(spider: Path) -> None:
    with contextlib.closing(sqlite3.connect(spider / "database" / "shop" / "shop_1.sqlite")) as base:
        base.execute("ALTER TABLE town RENAME COLUMN people TO inhabitants")
        base.commit()
    tasks = {"set": str(spider), "split": "dev"}
    with (
        made("SpiderSQL-v0", tasks=tasks) as env,
        pytest.raises(TaskError, match=r"gold query fails on shop_1.sqlite, beside its database \(no such column"),
    ):
        env.reset(seed=0)
    with made("BirdSQL-v0", tasks=tasks) as env:  # which looks at no other
        assert last(env, 0, answer(LARGE))[0] == 1


def test_synsql(tmp_path: Path) -> None:
    town(tmp_path / "databases" / "shop" / "shop.sqlite", "Tarn")
    club(tmp_path / "databases" / "club" / "club.sqlite")
    row = {"question_style": "Formal", "sql_complexity": "Simple", "cot": "Read it."}
    rows = [
        {**row, "db_id": "shop", "question": "Which?", "external_knowledge": "large: above 3500", "sql": LARGE},
        {**row, "db_id": "club", "question": "Who?", "external_knowledge": "", "sql": OLD},
    ]
    (tmp_path / "data.json").write_text(json.dumps(rows))
    with made("SkyRLSQL-v0", tasks={"set": str(tmp_path)}) as env:
        text, _ = env.reset(seed=0, options={"task": 0})
        assert "External knowledge: large: above 3500" in text
        text, *_ = env.step("<think>t</think><sql>SELECT count(*) FROM town</sql>")
        assert text == (
            "\n\n<observation>count(*)\n40\n(1 row)\n<reminder>You have 5 turns left.</reminder></observation>\n\n"
        )
        assert env.step(f"<think>t</think><solution>{LARGE}</solution>")[1] == 1
        for solution, reward in ((f"{OLD} DESC", 1), ("SELECT nick FROM member", 0)):  # the order is no matter
            assert last(env, 1, f"<think>t</think><solution>{solution}</solution>")[0] == reward


def test_skyrl_sql_finds_each_sets_databases_in_omnisqls_folder(tmp_path: Path) -> None:
    town(tmp_path / "data" / "SynSQL-2.5M" / "databases" / "shop" / "shop.sqlite", "Tarn")
    club(tmp_path / "data" / "spider" / "database" / "club" / "club.sqlite")

    def row(data: str, db_id: str, known: str, question: str, sql: str, index: int) -> dict[str, Any]:
        told = f"{{db_details}}:CREATE TABLE ...;\n {{external_knowledge}}: {known};\n {{question}}: {question}"
        prompt = [{"role": "system", "content": "You are good at SQL."}, {"role": "user", "content": told}]
        gold = {"method": "rule", "ground_truth": sql}
        return {"data": data, "db_id": db_id, "prompt": prompt, "reward_spec": gold, "extra_info": {"index": index}}

    rows = [
        row("synsql", "shop", "large: above 3500", "Which are large?", LARGE, 0),
        row("spider", "club", "", "Who is old?", OLD, 1),
    ]
    file = tmp_path / "train.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    folders = dict.fromkeys(("tools.sql.databases", "judge.databases"), str(tmp_path / "data"))
    with made("SkyRLSQL-v0", tasks={"set": str(file)}, **folders) as env:
        text, _ = env.reset(seed=0, options={"task": "0"})
        assert "External knowledge: large: above 3500" in text
        assert "Question: Which are large?\n" in text
        assert "db_details" not in text
        assert "(25 rows)" in str(last(env, "1", "<think>t</think><sql>SELECT * FROM member</sql>")[1]["calls"])
        for task, gold in (("0", LARGE), ("1", OLD)):
            assert last(env, task, f"<think>t</think><solution>{gold}</solution>")[0] == 1


def deepretrieval_row(name: str, path: str, question: str, sql: str, index: int) -> dict[str, Any]:
    prompt = f"<|im_start|>user\n{question}\nAssistant: <|im_end|>\n<|im_start|>assistant\nLet me see.\n<think>"
    return {
        "data_source": f"{name}_train",
        "prompt": [{"role": "user", "content": prompt}],
        "ability": "sql_generation",
        "reward_model": {"style": "rule", "ground_truth": {"target": sql}},
        "extra_info": {"split": "train", "index": index, "db_path": path},
    }


def test_deepretrieval_pays_each_set_as_its_source_says(tmp_path: Path) -> None:
    shop = town(tmp_path / "raw" / "shop" / "shop.sqlite", "Oldport")
    rows = [
        deepretrieval_row("spider", str(shop), "Which are large?", LARGE, 0),
        deepretrieval_row("bird", "data/raw_data/bird/shop/shop.sqlite", "Which are large?", LARGE, 1),
    ]
    file = tmp_path / "train.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    # the second row's path is of another machine
    with made("DeepRetrievalSQL-v0", tasks={"set": str(file)}, **{"judge.databases": str(tmp_path / "raw")}) as env:
        text, _ = env.reset(seed=0, options={"task": 0})
        assert text.endswith("Let me see.\n<think>")  # a rendered prompt opens the thought
        for sql, spider, bird in (
            ("SELECT name FROM town WHERE people >= 3600", 1.1, 1.1),
            ("SELECT name FROM town WHERE people > 3500 UNION ALL SELECT name FROM town WHERE people > 3900", 1.1, 1.1),
            ("SELECT name FROM town", 0, 0.4),
            ("SELECT nme FROM town", 0, 0),
            ("DELETE FROM town", 0, 0),
        ):
            said = in_json(sql).removeprefix("<think>")
            assert [last(env, task, said)[0] for task in (0, 1)] == pytest.approx([spider, bird])
            assert [last(env, task, f"<think>{said}")[0] for task in (0, 1)] == [-2, -2]  # a second one
        assert last(env, 1, in_json("SELECT name FROM town").removeprefix("<think>"))[1]["success"] == 0
    with (
        made("DeepRetrievalSQL-v0", tasks={"set": str(file)}) as env,
        pytest.raises(TaskError, match=r"raw_data/bird/shop/shop.sqlite is not there, and no folder of databases"),
    ):
        env.reset(seed=0)


def test_intercode(tmp_path: Path) -> None:
    town(tmp_path / "database" / "shop" / "shop.sqlite", "Oldport")
    small = "SELECT name FROM town WHERE people < 600 ORDER BY people;"
    rows = [
        {"db": "shop", "gold": LARGE, "query": "Which are large?", "hardness": "easy", "db_tables": {"town": ["name"]}},
        {"db": "shop", "gold": small, "query": "The small ones, smallest first?", "hardness": "easy", "db_tables": {}},
    ]
    (tmp_path / "ic_spider_dev.json").write_text(json.dumps(rows))
    with made("InterCodeSQL-v0", tasks={"set": str(tmp_path), "split": "ic_spider_dev"}) as env:
        text, _ = env.reset(seed=0, options={"task": 0})
        assert "Which are large?" in text
        assert "town" not in text  # it has to look
        text, *_ = env.step("Thought: what is there?\nAction: execute[.schema]")
        assert "CREATE TABLE town (" in text

        def paid(task: int, *queries: str) -> tuple[float, Any]:
            reward, info = last(env, task, *(f"Action: execute[{sql}]" for sql in queries), "Action: submit")
            return reward, info["success"]

        assert paid(0, "SELECT 1", LARGE) == (1, 1)
        assert paid(0, "SELECT name FROM town WHERE people > 3900") == (0.2, 0.2)  # one of five
        assert paid(1, small) == (1, 1)
        assert paid(1, small.replace("people;", "people DESC;")) == (-1, 0)  # the verdict stays from 0 to 1
        assert paid(1, small, "DELETE FROM town") == (0, 0)
        assert paid(1, small, "DELETE FROM town", small) == (1, 1)
        assert last(env, 0, "Action: submit")[0] == 0
        assert toolenvs.load("InterCodeSQL-v0").page.budget.max_turns == 10
        reward, info = last(env, 1, *["Action: execute[SELECT 1]"] * 9, f"Action: execute[{small}]")
        assert (reward, info["ending"], info["success"]) == (1, "turns", 1)
