"""Hand-made rows of every schema, and a writer of each file format."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Rows = list[dict[str, Any]]

RENDERED = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nFind trials.<|im_end|>\n<|im_start|>assistant\n"


def user(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


SAMPLES: dict[str, Rows] = {
    "dapo": [
        {
            "data_source": "math_dapo",
            "prompt": user(f"Solve it; end with a line Answer: $x.\n\n{problem}\n\nThe last line begins with Answer:."),
            "ability": "MATH",
            "reward_model": {"ground_truth": gold, "style": "rule-lighteval/MATH_v2"},
            "extra_info": {"index": index, "split": "train", "raw_problem": problem},
            "agent_name": "tool_agent",
        }
        for index, problem, gold in (
            ("9a9b6eb4", "What is 2 + 2?\n\nGive an integer.", "4"),
            ("3f2504e0", "What is 17 * 3?", "51"),
            ("9a9b6eb4", "What is 2 + 2?\n\nGive an integer.", "4"),
        )
    ],
    "torl": [
        {
            "data_source": "numina",
            "prompt": [{"role": "system", "content": "Reason and run code."}, *user(problem)],
            "ability": "math",
            "reward_model": {"ground_truth": gold, "stype": "rule"},
            "extra_info": {"id": index, "split": "train"},
        }
        for index, problem, gold in ((0, "Solve 2x = 1.", "\\frac{1}{2}"), (1, "Simplify sqrt(8).", "2\\sqrt{2}"))
    ],
    "limr": [
        {"id": 11, "prompt": " What is 6 * 7? ", "answer": "42", "source": "math", "level": 5},
        {"id": 12, "prompt": "What is 7 * 7?", "answer": "49", "source": "math", "level": 3},
    ],
    "retool_sft": [
        {
            "messages": [
                *user("Call the interpreter when you need it.\n*user question:*\nWhat is 3^7?"),
                {"role": "assistant", "content": "<code>print(3**7)</code>"},
            ],
            "tools": [{"type": "function", "function": {"name": "code_interpreter"}}],
        },
        {"messages": [*user("What is 2^9?"), {"role": "assistant", "content": "512"}], "tools": []},
    ],
    "search_r1": [
        {
            "data_source": source,
            "prompt": user(f"Use <search> when knowledge is lacking. Question: {question}\n"),
            "ability": "fact-reasoning",
            "reward_model": {"style": "rule", "ground_truth": {"target": golds}},
            "extra_info": {"split": "train", "index": index},
        }
        for source, index, question, golds in (
            ("nq", 0, "who wrote the ballad of lomir?", ["Ada Venn", "A. Venn"]),
            ("hotpotqa", 0, "Which river runs through Qualdor?", ["Siltwater"]),
        )
    ],
    "deepresearcher": [
        {
            "data_source": "hotpot",
            "prompt": user(question),
            "ability": "search & question answering",
            "reward_model": {"ground_truth": gold, "style": "unknown"},
            "extra_info": {"index": index, "split": "train"},
        }
        for index, question, gold in (
            ("a1", "Who founded Orrin & Co?", "Bel Orrin<|answer_split|>B. Orrin"),
            ("a2", "Where is Tarn Hill?", "Lomir"),
        )
    ],
    "deepretrieval": [
        {
            "data_source": "pubmed_train",
            "prompt": user(RENDERED),
            "ability": "literature_mining",
            "reward_model": {"style": "rule", "ground_truth": {"target": ["101", "102"], "score": [1, 1]}},
            "extra_info": {"split": "train", "index": 4, "db_path": None},
            "pub_date": "2019/03/01",
        },
        {
            "data_source": "spider_train",
            "prompt": user(RENDERED.replace("trials", "rows")),
            "ability": "sql_generation",
            "reward_model": {"style": "rule", "ground_truth": {"target": ["SELECT 1"], "score": None}},
            "extra_info": {"split": "train", "index": 4, "db_path": "concert.sqlite"},
            "pub_date": None,
        },
    ],
    "gsm8k": [
        {"question": "Ann has 3 apples and 4 pears. How many?", "answer": "3 + 4 = 7\n#### 7"},
        {"question": "How much is a thousand and one?", "answer": "That is it.\n#### 1,001"},
    ],
    "papersearchqa": [
        {
            "question": "Which gene is mutated in Orrin syndrome?",
            "answer": "LOM1",
            "is_paraphrased": False,
            "cat_num": "1",
            "cat": "Genetic mutations",
            "pmid": "30000001",
            "golden_answers": ["LOM1", "lomirin 1"],
        },
        {
            "question": " Where is lomirin made? ",
            "answer": "Liver",
            "is_paraphrased": True,
            "cat_num": "9",
            "cat": "Anatomy",
            "pmid": "30000001",
            "golden_answers": ["Liver"],
        },
    ],
    "ssp": [
        {"ground_truth": "Oldport", "search_turns": 2, "sys_question_example": "Where is Tarn Hill?"},
        {"ground_truth": "Bel Orrin", "search_turns": 4, "sys_question_example": "Who founded it?"},
    ],
    "qrels": [
        {"_id": "PLAIN-2", "query": " Works set in Lomir ", "qrels": {"d1": 2, "d2": 0, "d3": 1}, "split": "a"},
        {"_id": "PLAIN-3", "query": "Who was born in Qualdor?", "qrels": {"d4": 1}, "split": "a"},
    ],
    "bird": [
        {
            "question_id": 12,
            "db_id": "shop",
            "question": " How many towns are large? ",
            "evidence": "large means more than 5000 people",
            "SQL": "SELECT COUNT(*) FROM city WHERE people > 5000",
            "difficulty": "simple",
        },
        {
            "question_id": 13,
            "db_id": "shop",
            "question": "Name the towns.",
            "evidence": "",
            "SQL": "SELECT name\nFROM city;",
            "difficulty": "moderate",
        },
    ],
    "spider": [
        {
            "db_id": "shop",
            "query": "SELECT count(*) FROM city",
            "query_toks": ["SELECT", "count", "(", "*", ")"],
            "query_toks_no_value": ["select", "count"],
            "question": "How many towns are there?",
            "question_toks": ["How", "many"],
            "sql": {"select": [False, [[3, [0, [0, 0, False], None]]]], "limit": None},
        },
        {
            "db_id": "shop",
            "query": "SELECT name FROM city WHERE people > 5",
            "query_toks": ["SELECT"],
            "query_toks_no_value": ["select"],
            "question": "Which towns?",
            "question_toks": ["Which"],
            "sql": {"select": [False, [[0, [0, [0, 1, False], None]]]], "limit": 3},
        },
    ],
    "synsql": [
        {
            "db_id": "shop",
            "sql_complexity": "Simple",
            "question_style": "Formal",
            "question": "List the towns.",
            "external_knowledge": "",
            "cot": "Read the names.",
            "sql": "SELECT name FROM city",
        },
        {
            "db_id": "shop",
            "sql_complexity": "Complex",
            "question_style": "Vague",
            "question": "The big ones?",
            "external_knowledge": "big: above 5",
            "cot": "Filter.",
            "sql": "SELECT name FROM city WHERE people > 5",
        },
    ],
    "skyrl_sql": [
        {
            "data": data,
            "db_id": "shop",
            "env_class": "text2sql",
            "prompt": user(f"{{db_details}}:CREATE ...;\n {{external_knowledge}}: {known};\n {{question}}: {question}"),
            "reward_spec": {"method": "rule", "ground_truth": sql},
            "extra_info": {"index": index},
            "max_turns": 6,
        }
        for index, (data, known, question, sql) in enumerate(
            (
                ("synsql", "large: a; b", "Which towns?", "SELECT name FROM city"),
                ("spider", "", "How many?", "SELECT count(*) FROM city"),
            )
        )
    ],
    "intercode": [
        {
            "db": "shop",
            "gold": "SELECT count(*) FROM city",
            "query": "How many towns are there?",
            "hardness": "easy",
            "db_tables": {"city": ["name", "people"]},
        },
        {
            "db": "shop",
            "gold": "SELECT name FROM city ORDER BY people",
            "query": "Name the towns, the smallest first.",
            "hardness": "medium",
            "db_tables": {"city": ["name", "people"]},
        },
    ],
    "plain": [
        {"ID": "2024-I-1", "Problem": "Find N.", "Solution": "It is 204.", "Answer": 204},
        {"ID": "2024-I-2", "Problem": "Find M.", "Solution": "It is 25.", "Answer": 25},
    ],
}

Write = Callable[..., Path]


@pytest.fixture
def samples() -> dict[str, Rows]:
    """For each schema, fresh rows; the third of `dapo` repeats the first."""
    return json.loads(json.dumps(SAMPLES))


@pytest.fixture
def rendered_prompt() -> str:
    return RENDERED


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """`write("name.jsonl", rows)`; the suffix chooses the format."""

    def write_rows(name: str, rows: Rows) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        elif path.suffix == ".json":
            path.write_text(json.dumps(rows))
        else:
            import pyarrow
            import pyarrow.parquet

            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
        return path

    return write_rows
