"""Every schema reads its own rows, from every format, and no schema reads another's."""

import copy
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolenvs import plugins, tasks
from toolenvs.errors import TaskError
from toolenvs.tasks.rows import detect_schema

SCHEMAS = "toolenvs.tasks.schemas"
NAMES = plugins.names(SCHEMAS, "to_task")

EXPECTED = {
    "dapo": [("9a9b6eb4", "What is 2 + 2?\n\nGive an integer.", ("4",)), ("3f2504e0", "What is 17 * 3?", ("51",))],
    "torl": [
        ("numina/train/0", "Solve 2x = 1.", ("\\frac{1}{2}",)),
        ("numina/train/1", "Simplify sqrt(8).", ("2\\sqrt{2}",)),
    ],
    "limr": [("11", "What is 6 * 7?", ("42",)), ("12", "What is 7 * 7?", ("49",))],
    "retool_sft": [("row-0", "What is 3^7?", ()), ("row-1", "What is 2^9?", ())],
    "search_r1": [
        ("nq/train/0", "who wrote the ballad of lomir?", ("Ada Venn", "A. Venn")),
        ("hotpotqa/train/0", "Which river runs through Qualdor?", ("Siltwater",)),
    ],
    "deepresearcher": [
        ("hotpot/train/a1", "Who founded Orrin & Co?", ("Bel Orrin", "B. Orrin")),
        ("hotpot/train/a2", "Where is Tarn Hill?", ("Lomir",)),
    ],
    "gsm8k": [
        ("row-0", "Ann has 3 apples and 4 pears. How many?", ("7",)),
        ("row-1", "How much is a thousand and one?", ("1001",)),
    ],
    "papersearchqa": [
        ("row-0", "Which gene is mutated in Orrin syndrome?", ("LOM1", "lomirin 1")),
        ("row-1", "Where is lomirin made?", ("Liver",)),
    ],
    "ssp": [
        ("row-0", "Answer: Oldport\nSearches needed: 2", ("Oldport",)),
        ("row-1", "Answer: Bel Orrin\nSearches needed: 4", ("Bel Orrin",)),
    ],
    "bird": [
        ("12", "How many towns are large?", ("SELECT COUNT(*) FROM city WHERE people > 5000",)),
        ("13", "Name the towns.", ("SELECT name\nFROM city;",)),
    ],
    "synsql": [
        ("row-0", "List the towns.", ("SELECT name FROM city",)),
        ("row-1", "The big ones?", ("SELECT name FROM city WHERE people > 5",)),
    ],
    "skyrl_sql": [
        ("0", "Which towns?", ("SELECT name FROM city",)),
        ("1", "How many?", ("SELECT count(*) FROM city",)),
    ],
    "intercode": [
        ("row-0", "How many towns are there?", ("SELECT count(*) FROM city",)),
        ("row-1", "Name the towns, the smallest first.", ("SELECT name FROM city ORDER BY people",)),
    ],
    "plain": [("2024-I-1", "Find N.", ("204",)), ("2024-I-2", "Find M.", ("25",))],
}


def numpied(value: Any) -> Any:
    """As pandas gives it after reading Parquet: lists are arrays, numbers are NumPy's."""
    if isinstance(value, dict):
        return {key: numpied(item) for key, item in value.items()}
    if isinstance(value, list):
        array = np.empty(len(value), dtype=object)
        array[:] = [numpied(item) for item in value]
        return array
    return np.int64(value) if isinstance(value, int) else value


def test_every_schema_has_sample_rows(samples):
    assert sorted(samples) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_recognised_by_their_schema_alone(samples, name):
    for row in samples[name]:
        assert detect_schema(row).__name__ == f"toolenvs.tasks.schemas.{name}"
        others = [n for n in NAMES if n not in (name, "plain") and plugins.find(SCHEMAS, n, "matches", "test")(row)]
        assert others == []


@pytest.mark.parametrize("suffix", ["jsonl", "json", "parquet"])
@pytest.mark.parametrize("name", EXPECTED)
def test_id_question_and_golds_from_every_format(samples, write, name, suffix):
    loaded = tasks.load(write(f"{name}.{suffix}", samples[name]))
    assert [(t.id, t.question, t.golds) for t in loaded] == EXPECTED[name]


@pytest.mark.parametrize("name", NAMES)
def test_numpy_values_change_nothing(samples, name):
    plain = list(tasks.from_rows(samples[name]))
    assert list(tasks.from_rows([numpied(row) for row in samples[name]])) == plain
    json.dumps([dict(task.extra) for task in plain])


@pytest.mark.parametrize("name", NAMES)
def test_unknown_columns_pass_through(samples, name):
    rows = [{**row, "pass_rate": 0.5, "tags": ["x", {"y": 1}]} for row in samples[name]]
    for task in tasks.from_rows(rows):
        assert task.extra["pass_rate"] == 0.5
        assert task.extra["tags"] == ["x", {"y": 1}]


def test_verl_columns_stay_in_extra_without_the_gold(samples):
    task = tasks.from_rows(samples["dapo"])[0]
    assert task.source == "math_dapo"
    assert task.messages == tuple(samples["dapo"][0]["prompt"])
    assert task.extra["reward_model"] == {"style": "rule-lighteval/MATH_v2"}
    assert task.extra["extra_info"]["split"] == "train"
    assert task.extra["agent_name"] == "tool_agent"


def test_misspelt_style_is_read_as_style(samples):
    row = samples["torl"][0]
    misspelt = tasks.from_rows([row])[0]
    row["reward_model"]["style"] = row["reward_model"].pop("stype")
    assert tasks.from_rows([row], schema="torl")[0] == misspelt
    assert tasks.from_rows([row])[0] == misspelt
    assert misspelt.extra["reward_model"] == {"style": "rule"}
    assert [message["role"] for message in misspelt.messages] == ["system", "user"]


@pytest.mark.parametrize(
    ("ground_truth", "golds"),
    [
        ("34", ("34",)),
        (34, ("34",)),
        (34.0, ("34",)),
        (0.5, ("0.5",)),
        (np.float64(34), ("34",)),
        (["34", "34.0", "34"], ("34", "34.0")),
        (np.array(["34", "34.0"], dtype=object), ("34", "34.0")),
        ({"target": np.array(["34"], dtype=object)}, ("34",)),
        ({"target": "34"}, ("34",)),
    ],
)
@pytest.mark.parametrize("name", ["dapo", "torl", "search_r1", "deepresearcher", "deepretrieval"])
def test_ground_truth_in_any_form(samples, name, ground_truth, golds):
    row = samples[name][0]
    row["reward_model"]["ground_truth"] = ground_truth
    assert tasks.from_rows([row])[0].golds == golds


@pytest.mark.parametrize("column", ["answer", "golden_answers", "possible_answers", "answers", "target"])
@pytest.mark.parametrize(
    "value",
    [
        ["Ada Venn", "A. Venn", "Ada Venn"],
        ("Ada Venn", "A. Venn"),
        '["Ada Venn", "A. Venn"]',
        ' ["Ada Venn", "A. Venn"]\n',
        np.array(["Ada Venn", "A. Venn"]),
        np.array(["Ada Venn", "A. Venn"], dtype=object),
        [np.array(["Ada Venn"], dtype=object), "A. Venn"],
        {"target": '["Ada Venn", "A. Venn"]'},
    ],
)
def test_several_golds_in_any_form(column, value):
    assert tasks.from_rows([{"question": "Who wrote it?", column: value}])[0].golds == ("Ada Venn", "A. Venn")


@pytest.mark.parametrize("text", ["[0, 1]", "[0, 1)", '["0", 1]', '["open', "[x]", "[]", '[["a"]]', '{"a": "b"}'])
def test_text_in_brackets_that_is_no_list_of_texts_is_one_gold(text):
    assert tasks.from_rows([{"question": "Which interval?", "answer": text}])[0].golds == (text,)


@pytest.mark.parametrize("text", ['["4", ""]', '[" "]'])
def test_an_empty_gold_in_a_json_list_is_refused(text):
    with pytest.raises(TaskError, match=r"row 1: key 'answer' is empty"):
        tasks.from_rows([{"question": "Q", "answer": text}])


@pytest.mark.parametrize("index", [7, np.int64(7), "7", 7.0])
@pytest.mark.parametrize(("name", "expected"), [("dapo", "7"), ("search_r1", "nq/train/7")])
def test_index_is_a_number_or_text(samples, name, expected, index):
    row = samples[name][0]
    row["extra_info"]["index"] = index
    assert tasks.from_rows([row])[0].id == expected


@pytest.mark.parametrize("name", ["dapo", "torl", "search_r1", "deepresearcher", "deepretrieval", "limr", "plain"])
def test_rendered_prompts_are_marked_and_kept_whole(samples, rendered_prompt, name):
    row = samples[name][0]
    if name == "limr":
        row["prompt"] = rendered_prompt.strip()
    elif name == "plain":
        row["Problem"] = rendered_prompt
    else:
        row["prompt"][-1]["content"] = rendered_prompt
    task = tasks.from_rows([row])[0]
    assert task.rendered
    assert task.messages[-1] == {
        "role": "user",
        "content": rendered_prompt.strip() if name == "limr" else rendered_prompt,
    }


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"deepretrieval"}))
def test_ordinary_prompts_are_not_marked(samples, name):
    assert not any(task.rendered for task in tasks.from_rows(samples[name]))


def test_deepretrieval_keeps_what_its_rewards_need(samples):
    literature, sql = tasks.from_rows(samples["deepretrieval"])
    assert literature.golds == ("101", "102")
    assert literature.extra["reward_model"] == {"style": "rule", "score": [1, 1]}
    assert literature.extra["pub_date"] == "2019/03/01"
    assert sql.golds == ("SELECT 1",)
    assert (sql.extra["database"], sql.extra["db_id"]) == ("concert.sqlite", "concert")
    samples["deepretrieval"][1]["extra_info"] |= {"db_path": "dbs/all.db", "db_id": "1-2"}  # as WikiSQL's rows
    named = tasks.from_rows(samples["deepretrieval"])[1].extra
    assert (named["database"], named["db_id"]) == ("dbs/all.db", "1-2")


def test_intercode_reads_its_rows_of_bird(samples):
    (row,) = [row for row in samples["bird"] if row["evidence"]]
    moved = {key: value for key, value in row.items() if key not in ("db_id", "question")}
    moved |= {"db": row["db_id"], "query": row["question"], "gold": row["SQL"]}
    read, known = tasks.from_rows([moved])[0], tasks.from_rows([row])[0]
    assert (read.id, read.question, read.golds, read.extra) == (known.id, known.question, known.golds, known.extra)
    assert (read.source, known.source) == ("intercode", "bird")


def test_skyrl_sql_keeps_what_a_question_needs_to_know_apart(samples):
    first, second = tasks.from_rows(samples["skyrl_sql"])
    assert [first.extra["evidence"], second.extra["evidence"]] == ["large: a; b", ""]
    samples["skyrl_sql"][0]["prompt"][-1]["content"] = "Schema: x; Which?"
    assert tasks.from_rows(samples["skyrl_sql"])[0].question == "Schema: x; Which?"


def test_dapo_rows_without_raw_problem_are_unwrapped(samples):
    row = samples["dapo"][0]
    problem = row["extra_info"].pop("raw_problem")
    assert tasks.from_rows([row])[0].question == problem
    row["prompt"][0]["content"] = "One.\n\nTwo.\n\nThree."
    assert tasks.from_rows([row])[0].question == "One.\n\nTwo.\n\nThree."


def test_search_r1_prefers_the_raw_question(samples):
    row = {**samples["search_r1"][0], "question": "who wrote it?", "golden_answers": ["Ada Venn"], "id": "train_0"}
    task = tasks.from_rows([row])[0]
    assert task.question == "who wrote it?"
    assert (task.extra["golden_answers"], task.extra["id"]) == (["Ada Venn"], "train_0")


def test_the_verl_port_of_search_r1_is_recognised_by_its_source(samples):
    row = {**samples["search_r1"][0], "data_source": "searchR1_nq", "ability": None}
    assert tasks.from_rows([row])[0].source == "searchR1_nq"


def test_the_question_is_asked_last_except_in_finished_conversations(samples):
    example = [{"role": "user", "content": "An example."}, {"role": "assistant", "content": "Its answer."}]
    row = samples["torl"][0]
    row["prompt"][1:1] = example
    assert tasks.from_rows([row])[0].question == "Solve 2x = 1."
    conversation = samples["retool_sft"][1]
    conversation["messages"].append({"role": "user", "content": "Thank you."})
    assert tasks.from_rows([conversation])[0].question == "What is 2^9?"


def test_a_rendered_search_r1_prompt_is_its_own_question(samples, rendered_prompt):
    row = samples["search_r1"][0]
    row["prompt"][0]["content"] = rendered_prompt.replace("Find trials.", "Question: Find trials.")
    assert tasks.from_rows([row])[0].question == row["prompt"][0]["content"]


def test_sft_conversations_go_through_whole(samples):
    first = samples["retool_sft"][0]
    call = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "code_interpreter"}}]}
    first["messages"].insert(1, call)
    task = tasks.from_rows([first])[0]
    assert task.extra["messages"] == first["messages"]
    assert task.extra["tools"] == first["tools"]
    assert task.messages == (first["messages"][0],)
    assert tasks.from_rows([{**first, "answer": 2187}])[0].golds == ("2187",)


@pytest.mark.parametrize(
    ("row", "question", "golds"),
    [
        ({"problem": "P", "answer": "70", "id": 3}, "P", ("70",)),
        ({"question": "Q", "golden_answers": ["a", "b"]}, "Q", ("a", "b")),
        ({"prompt": "Q", "ground_truth": 5}, "Q", ("5",)),
        ({"Question": "Q", "Final_Answer": "x", "source": "s"}, "Q", ("x",)),
        ({"problem": "P", "solution": "So \\boxed{1}, no: \\boxed{\\frac{1}{2}}."}, "P", ("\\frac{1}{2}",)),
        ({"problem": "P", "solution": "seven"}, "P", ("seven",)),
        ({"problem": "P", "solution": "never closed \\boxed{1"}, "P", ("never closed \\boxed{1",)),
        ({"problem": "P", "solution": "s", "answer": "a"}, "P", ("a",)),
        (
            {"prompt": [{"role": "user", "content": "Q"}], "reward_model": {"ground_truth": "9"}, "data_source": "d"},
            "Q",
            ("9",),
        ),
        ({"prompt": [{"role": "user", "content": [{"type": "text", "text": "Q"}]}], "answer": "1"}, "Q", ("1",)),
    ],
)
def test_plain_rows_under_many_names(row, question, golds):
    task = tasks.from_rows([row])[0]
    assert (task.question, task.golds) == (question, golds)


def test_worked_solutions_stay_readable():
    boxed = "So it is \\boxed{3}."
    assert tasks.from_rows([{"problem": "P", "solution": boxed}])[0].extra["solution"] == boxed
    task = tasks.from_rows([{"question": "Q", "answer": "1 + 2\n#### 3"}])[0]
    assert task.extra["solution"] == "1 + 2"


DELETE = object()


@pytest.mark.parametrize(
    ("name", "path", "value", "key"),
    [
        ("dapo", ("prompt",), DELETE, "'prompt'"),
        ("dapo", ("prompt",), 5, "'prompt'"),
        ("dapo", ("prompt",), [], "'prompt'"),
        ("dapo", ("prompt",), [3], r"'prompt\[0\]'"),
        ("dapo", ("prompt",), [{"content": "x"}], r"'prompt\[0\]\.role'"),
        ("dapo", ("prompt",), [{"role": "user", "content": 3}], r"'prompt\[0\]\.content'"),
        ("dapo", ("reward_model",), DELETE, "'reward_model.ground_truth'"),
        ("dapo", ("reward_model",), "rule", "'reward_model'"),
        ("dapo", ("reward_model", "ground_truth"), DELETE, "'reward_model.ground_truth'"),
        ("dapo", ("reward_model", "ground_truth"), "  ", "'reward_model.ground_truth'"),
        ("dapo", ("reward_model", "ground_truth"), [], "'reward_model.ground_truth'"),
        ("dapo", ("reward_model", "ground_truth"), True, "'reward_model.ground_truth'"),
        ("dapo", ("reward_model", "ground_truth"), float("nan"), "'reward_model.ground_truth'"),
        ("dapo", ("reward_model", "ground_truth"), float("inf"), "'reward_model.ground_truth'"),
        ("dapo", ("reward_model", "ground_truth"), {"goal": "4"}, "'goal'"),
        ("search_r1", ("reward_model", "ground_truth", "target"), [None], "'reward_model.ground_truth.target'"),
        ("deepresearcher", ("reward_model", "ground_truth"), "<|answer_split|>", "'reward_model.ground_truth'"),
        ("torl", ("prompt",), [{"role": "system", "content": "x"}], "'prompt'"),
        ("limr", ("answer",), "", "'answer'"),
        ("limr", ("prompt",), " ", "'prompt'"),
        ("retool_sft", ("messages",), [{"role": "assistant", "content": "x"}], "'messages'"),
        ("gsm8k", ("answer",), "work ####", "'answer'"),
        ("plain", ("Answer",), {"value": 3}, "'value'"),
        ("plain", ("Problem",), "", "'Problem'"),
        ("plain", ("Problem",), DELETE, "question, problem"),
        ("dapo", ("prompt",), [{"role": "user", "content": "half \ud83d"}], "surrogate"),
    ],
)
def test_errors_name_file_row_and_key(samples, write, name, path, value, key):
    good, bad = samples[name][:2]
    target = bad
    for step in path[:-1]:
        target = target[step]
    if value is DELETE:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    file = write("some.jsonl", [good, bad])
    with pytest.raises(TaskError, match=key) as caught:
        tasks.load(file, schema=name)
    assert str(caught.value).startswith(f"{file}: row 2: ")
    kept = tasks.load(file, schema=name, on_bad_row="skip")
    assert len(kept) == 1
    assert [skip.where for skip in kept.skipped] == [f"{file}: row 2"]


def paths_of(value: Any) -> list[tuple]:
    """Every place in a row where a value stands."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(key, *rest) for key, inner in steps for rest in ((), *paths_of(inner))]


odd_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), value=odd_values)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # the rows are copied before they are changed
def test_any_value_anywhere_is_a_task_or_a_task_error(samples, name, data, value):
    row = copy.deepcopy(samples[name][0])
    *way, last = data.draw(st.sampled_from(paths_of(row)))
    target = row
    for step in way:
        target = target[step]
    target[last] = value
    for schema in (name, "auto"):
        try:
            task = tasks.from_rows([row], schema=schema)[0]
        except TaskError:
            continue
        assert task.question.strip()
        assert all(isinstance(gold, str) and gold for gold in task.golds)
