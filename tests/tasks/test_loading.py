"""`load`: one door, several rooms behind it."""

import subprocess
import sys

import datasets
import pyarrow.parquet
import pytest

from toolenvs import tasks
from toolenvs.errors import MissingExtraError, TaskError

QA = [{"id": f"q{i}", "question": f"What is {i} + 1?", "answer": str(i + 1)} for i in range(5)]


@pytest.mark.parametrize("suffix", ["jsonl", "json", "parquet"])
def test_a_file_is_taken_whole_by_its_suffix(write, suffix):
    path = write(f"anything.{suffix}", QA)
    assert list(tasks.load(path, split="test")) == list(tasks.from_rows(QA))
    assert len(tasks.load(str(path), limit=2)) == 2


@pytest.mark.parametrize(("suffix", "spelling"), [("jsonl", "JSONL"), ("json", "Json"), ("parquet", "PARQUET")])
def test_suffixes_are_read_in_any_case(write, tmp_path, suffix, spelling):
    path = write(f"train.{suffix}", QA)
    path = path.rename(tmp_path / f"train.{spelling}")
    assert list(tasks.load(path)) == list(tasks.load(tmp_path)) == list(tasks.from_rows(QA))


@pytest.mark.parametrize(
    "names",
    [
        ("train.jsonl", "test.jsonl"),
        ("data/train-00000-of-00001.parquet", "data/test-00000-of-00001.parquet"),
        ("train/part.json", "test/part.json"),
    ],
)
def test_a_folder_is_read_by_split(write, tmp_path, names):
    write(names[0], QA[:3])
    write(names[1], QA[3:])
    assert [task.id for task in tasks.load(tmp_path)] == ["q0", "q1", "q2"]
    assert [task.id for task in tasks.load(tmp_path, split="test")] == ["q3", "q4"]
    with pytest.raises(TaskError, match=f"no file for split 'dev' .*{names[0]}"):
        tasks.load(tmp_path, split="dev")


def test_shards_make_one_set_and_errors_name_the_shard(write, tmp_path):
    write("train-00000-of-00002.jsonl", QA[:2])
    second = write("train-00001-of-00002.jsonl", [*QA[2:4], {"id": "bad", "question": "Q"}])
    with pytest.raises(TaskError) as caught:
        tasks.load(tmp_path)
    assert str(caught.value).startswith(f"{second}: row 3: no answer")
    skipping = tasks.load(tmp_path, on_bad_row="skip")
    assert len(skipping) == 4
    assert skipping.skipped[0].where == f"{second}: row 3"


def test_rows_without_ids_keep_theirs_across_shards(write, tmp_path):
    for shard in range(2):
        write(f"train-{shard}.jsonl", [{"question": f"{shard}?", "answer": "1"}])
    assert [task.id for task in tasks.load(tmp_path)] == ["row-0", "row-1"]


def test_jsonl_rows_are_lines_and_a_broken_line_is_one_bad_row(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"question": "Q1", "answer": "1"}\n\n{"question": "Q2", \n\xff\xfe\n'
        + b"[" * 200_000
        + b'\n{"question": "Q6", "answer": '
        + b"9" * 5000
        + b'}\n{"question": "\xc3\xa9?", "answer": "7"}'
    )
    loaded = tasks.load(path, on_bad_row="skip")
    assert [task.question for task in loaded] == ["Q1", "é?"]
    assert [skip.where for skip in loaded.skipped] == [f"{path}: row {n}" for n in (3, 4, 5, 6)]
    with pytest.raises(TaskError, match=r"a\.jsonl: row 3: not JSON .*each line must be one object"):
        tasks.load(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b'{"question": "Q"}\n{"question": "R"}', "not JSON .*name it .jsonl"),
        ("a.json", b'{"rows": []}', "must hold one list of rows"),
        ("a.json", b"\xff", "not JSON"),
        ("a.json", b"[]", "holds no task"),
        ("a.jsonl", b"\n", "holds no task"),
        ("a.parquet", b"PAR1 no", "not readable as Parquet after row 0"),
        ("a.csv", b"question,answer", "cannot tell its format; name it .jsonl, .jsonl.gz, .json, .parquet"),
    ],
)
def test_broken_files_are_named(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TaskError, match=message) as caught:
        tasks.load(path)
    assert str(path) in str(caught.value)


def test_parquet_cut_short_is_reported(write):
    path = write("a.parquet", QA)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(TaskError, match="not readable as Parquet"):
        tasks.load(path)


def test_parquet_is_read_in_batches(write, monkeypatch):
    path = write("a.parquet", [{"question": f"{i}?", "answer": str(i)} for i in range(3000)])
    monkeypatch.setattr(pyarrow.parquet, "read_table", None)
    assert [task.gold for task in tasks.load(path)] == [str(i) for i in range(3000)]


def test_datasets_on_disk_are_read_with_and_without_the_prefix(tmp_path):
    train, test = datasets.Dataset.from_list(QA[:3]), datasets.Dataset.from_list(QA[3:])
    datasets.DatasetDict({"train": train, "test": test}).save_to_disk(str(tmp_path / "both"))
    train.save_to_disk(str(tmp_path / "one"))
    assert [task.id for task in tasks.load(f"hf:{tmp_path / 'both'}", split="test")] == ["q3", "q4"]
    assert [task.id for task in tasks.load(tmp_path / "both", limit=1)] == ["q0"]
    assert len(tasks.load(tmp_path / "one")) == 3
    with pytest.raises(TaskError, match="no split 'dev'; it has train, test"):
        tasks.load(tmp_path / "both", split="dev")


def test_named_datasets_go_through_load_dataset(monkeypatch):
    asked = []

    def load_dataset(*args, **kwargs):
        asked.append((args, kwargs))
        return datasets.Dataset.from_list(QA)

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    assert len(tasks.load("hf:owner/name", split="test", config="main")) == 5
    assert asked == [(("owner/name", "main"), {"split": "test"})]


def test_errors_in_datasets_count_rows_from_one(monkeypatch):
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: datasets.Dataset.from_list([*QA, {"question": ""}]))
    with pytest.raises(TaskError, match=r"^hf:owner/name: row 6: "):
        tasks.load("hf:owner/name")


def test_a_dataset_that_cannot_be_loaded_is_a_task_error(monkeypatch):
    def load_dataset(*args, **kwargs):
        raise datasets.exceptions.DatasetNotFoundError("no such dataset")

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(TaskError, match="hf:owner/name: cannot load split 'train' .no such dataset"):
        tasks.load("hf:owner/name")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("arithmetics", {}, "neither a generator nor a file that exists; did you mean 'arithmetic'"),
        ("missing.jsonl", {}, "'missing.jsonl' is neither"),
        ("arithmetic", {"split": "tests"}, "did you mean 'test'"),
        ("arithmetic", {"size": 0}, "size is 0; give 1 to"),
        ("arithmetic", {"limit": -1}, "limit is -1; give at least 1"),
        ("arithmetic", {"limit": "3"}, "limit is '3'; give at least 1, a whole number"),
        ("arithmetic", {"limit": True}, "limit is True; give at least 1, a whole number"),
        ("arithmetic", {"dificulty": 1}, "no option 'dificulty'; did you mean 'difficulty'"),
        ("hf:x", {"sizes": 1}, "no option 'sizes' for rows"),
        ("hf:x", {"size": 1}, "size is for generators; use limit"),
    ],
)
def test_errors_suggest(name, options, message):
    with pytest.raises(TaskError, match=message):
        tasks.load(name, **options)


@pytest.mark.parametrize(("package", "name"), [("pyarrow", "a.parquet"), ("datasets", "hf:owner/name")])
def test_a_missing_package_names_its_extra(tmp_path, monkeypatch, package, name):
    (tmp_path / "a.parquet").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'toolenvs\[data\]'"):
        tasks.load(name)


def test_json_lines_need_no_extra(write):
    path = write("a.jsonl", QA)
    code = f"""
import sys
from toolenvs import tasks
assert len(tasks.load({str(path)!r})) == 5 and tasks.load("arithmetic")[0].gold
heavy = {{"pyarrow", "datasets", "pandas", "torch", "transformers", "sympy"}} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True)
