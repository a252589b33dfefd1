"""Trajectories as a Hugging Face data set: every field comes back, whatever the form."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import datasets
import pytest

import toolenvs
from toolenvs import loop
from toolenvs.adapters import datasets as exports
from toolenvs.agents.scripted import Scripted
from toolenvs.errors import ConfigError, TranscriptError
from toolenvs.rollout import Trajectory, TrajectoryWriter, collect
from toolenvs.rollout.trajectory import CallRecord
from toolenvs.tokens import Mask
from toolenvs.transcript import Author, Segment

CALL = "<code>\n```python\nprint(2 + 2)\n```\n</code>"
ANSWER = "so <answer>\n\\boxed{4}\n</answer>"


def episodes(codec: Any, *turns: str, page: str = "ReTool-v0", count: int = 2, **keys: Any) -> list[Trajectory]:
    """Episodes of a policy that samples these turns' tokens."""
    from tests.adapters.conftest import Recorded

    env = toolenvs.load(page, tokenizer=codec, **keys)
    tasks = [env.tasks[index] for index in range(count)]
    return loop.run(collect(env, Recorded([codec.encode(turn) for turn in turns]), tasks))


@pytest.fixture(scope="module")
def kinds(byte_codec: Any) -> list[Trajectory]:
    """One of each kind: with tokens, a call and an answer; with text only; failed; forgetful; with files and a page."""
    plain = episodes(byte_codec, CALL, ANSWER)
    env = toolenvs.load("ReTool-v0")
    text = loop.run(collect(env, Scripted([CALL, ANSWER]), [env.tasks[0]]))
    failed = dataclasses.replace(
        plain[0], ending="infrastructure", success=None, fault="the sandbox died", reward_terms={}, turn_rewards=()
    )
    forgetful = episodes(
        byte_codec,
        "<access>https://world.test/people/1.html</access>",
        "</think>",
        "</think>",
        "<answer>x</answer>",
        page="ASearcherLocal-v0",
        count=1,
        user="{question}",
        piece_chars=90,
        max_pieces=4,
        kept_chars=7,
        topk=1,
    )
    assert forgetful[0].earlier
    call = CallRecord(
        turn=1,
        tool="browse",
        arguments={"cursor": None, "ids": [1, {"deep": "\ud83d"}]},
        result="é",
        status="ok",
        seconds=0.25,
        files={"figure-1.png": b"\x89PNG\x00\xff"},
        page={"url": "https://world.test/", "lines": [1, 2], "hits": []},
    )
    with_files = dataclasses.replace(plain[1], calls=(call,), metrics={"injected": 1.0}, agent_seconds=(0.5, 0.25))
    branch = dataclasses.replace(plain[1], sampled_by=("0", "1"), guidance="hint")
    return [*plain, *text, failed, *forgetful, with_files, branch]


def test_every_field_of_a_trajectory_is_exported(kinds: list[Trajectory]) -> None:
    row, fields = exports.to_row(kinds[0]), exports.features()
    assert set(row) == set(fields)
    stored = {"transcript": "segments", "tokens": "ids"}
    known = {**row, **json.loads(row["more"])}
    optional = {"sampled_by", "guidance"}  # written where they are set
    assert {stored.get(field.name, field.name) for field in dataclasses.fields(Trajectory)} - optional <= set(known)


@pytest.mark.parametrize("name", ["folder", "one.parquet", "one.jsonl"])
def test_what_is_written_is_read_back_equal(kinds: list[Trajectory], name: str, tmp_path: Path) -> None:
    assert exports.write(kinds, tmp_path / name).rows == len(kinds)
    assert list(exports.read(tmp_path / name)) == kinds
    assert [path.name for path in tmp_path.iterdir()] == [name]  # nothing is left beside it


@pytest.mark.parametrize("name", ["one.parquet", "one.jsonl"])
def test_datasets_itself_reads_the_files(kinds: list[Trajectory], name: str, tmp_path: Path) -> None:
    exports.write(kinds, tmp_path / name)
    kind = {"one.parquet": "parquet", "one.jsonl": "json"}[name]
    loaded = datasets.load_dataset(
        kind,
        data_files=str(tmp_path / name),
        split="train",
        cache_dir=str(tmp_path / "cache"),
        features=exports.features(),
    )
    assert list(exports.from_dataset(loaded)) == kinds


def test_rows_are_typed_and_say_what_training_reads(kinds: list[Trajectory]) -> None:
    table = exports.to_dataset(kinds)
    assert table.features == exports.features()
    row, first = table[0], kinds[0]
    assert row["messages"][-1] == {"role": "assistant", "content": ANSWER}
    assert [message["role"] for message in row["messages"]][-3:] == ["assistant", "tool", "assistant"]
    assert "".join(message["content"] for message in row["messages"]).endswith(first.transcript.response)
    assert len(row["ids"]) == len(row["mask"]) == len(row["logprobs"]) == len(row["token_rewards"])
    assert sum(row["token_rewards"]) == pytest.approx(row["reward"])
    assert all(mask == Mask.POLICY for mask, reward in zip(row["mask"], row["token_rewards"], strict=True) if reward)
    assert {pair["name"]: pair["value"] for pair in row["reward_terms"]} == first.reward_terms
    assert json.loads(row["calls"][0]["arguments"])["code"].strip() == "print(2 + 2)"
    without_tokens = next(row for row, one in zip(table, kinds, strict=True) if one.tokens is None)
    assert without_tokens["ids"] is None
    assert without_tokens["token_rewards"] is None


def test_an_empty_table_has_its_types() -> None:
    assert exports.to_dataset([]).features == exports.features()


def test_more_rows_than_are_held_at_once(kinds: list[Trajectory], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(exports, "_ROWS", 2)
    for name in ("folder", "one.parquet"):
        exports.write(kinds, tmp_path / name)
        assert list(exports.read(tmp_path / name)) == kinds


def test_half_a_surrogate_pair_does_not_lose_the_rest(kinds: list[Trajectory], tmp_path: Path) -> None:
    segments = (*kinds[2].transcript.segments[:-1], Segment(Author.POLICY, "\ud83d and more", 2))
    broken = dataclasses.replace(kinds[2], transcript=dataclasses.replace(kinds[2].transcript, segments=segments))
    for name in ("one.parquet", "one.jsonl"):
        written = exports.write([kinds[0], broken], tmp_path / name)
        assert (written.rows, written.mended) == (2, 1)
        again = list(exports.read(tmp_path / name))
        assert again[0] == kinds[0]
        assert again[1].transcript.segments[-1].text == "\ufffd and more"


def test_nothing_is_overwritten_or_half_written(kinds: list[Trajectory], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no trajectory to write"):
        exports.write([], tmp_path / "one.parquet")

    def torn() -> Any:
        yield kinds[0]
        raise TranscriptError("a line of the source is broken")

    for name in ("folder", "one.parquet", "one.jsonl"):
        with pytest.raises(TranscriptError):
            exports.write(torn(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "kept.jsonl").write_text("mine", encoding="utf-8")
    with pytest.raises(ConfigError, match="is there already"):
        exports.write(kinds, tmp_path / "kept.jsonl")
    assert (tmp_path / "kept.jsonl").read_text(encoding="utf-8") == "mine"


def test_what_is_no_such_data_set_is_refused(kinds: list[Trajectory], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'parquet'"):
        exports.write(kinds, tmp_path / "x", "parket")
    with pytest.raises(ConfigError, match="no data set at"):
        list(exports.read(tmp_path / "nowhere"))
    (tmp_path / "other.jsonl").write_text('{"key": "1"}\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="no column 'group'"):
        list(exports.read(tmp_path / "other.jsonl"))
    row = exports.to_row(kinds[0])
    row["mask"] = [0] * len(row["mask"])
    row["logprobs"] = row["logprobs"][:-1]
    with pytest.raises(TranscriptError):
        exports.from_row(row)


def test_a_file_of_trajectories_survives_the_way_there_and_back(kinds: list[Trajectory], tmp_path: Path) -> None:
    """What `TrajectoryWriter` wrote is what comes back, to the byte."""
    for name, source in (("a.jsonl", kinds), ("b.jsonl", None)):
        if source is None:
            exports.write(kinds, tmp_path / "folder")
            source = list(exports.read(tmp_path / "folder"))
        with TrajectoryWriter(tmp_path / name) as writer:
            for trajectory in source:
                writer.write(trajectory)
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
