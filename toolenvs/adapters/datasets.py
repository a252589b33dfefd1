"""Trajectories as a Hugging Face data set, and back.

One row an episode, each column of one type whatever the page: names and values of reward terms, metrics and budgets
stand in lists, and what has no fixed shape (a call's arguments, where a browser stood) is JSON, as is `more`: whatever
else a trajectory holds.

    to_dataset(read_trajectories("runs/one")).push_to_hub("me/episodes")
    write(read_trajectories("runs/one"), "episodes.parquet")
    episodes = list(read("episodes.parquet"))           # the same trajectories again
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from toolenvs.errors import ConfigError, MissingExtraError, did_you_mean
from toolenvs.protocols.templates import parse_chatml
from toolenvs.rollout import Trajectory
from toolenvs.tokens import Mask, TokenTranscript
from toolenvs.transcript import Author, Transcript

FORMS = ("datasets", "parquet", "jsonl")
"""A folder that `datasets.load_from_disk` reads; one Parquet file; one file of JSON lines."""
_ROWS = 256
"""Rows that are held in memory at once where a file is written."""
_HALF = "\ufffd"
"""Stands for half a surrogate pair, which a model may write and Arrow cannot hold."""


@dataclass(slots=True)
class Written:
    """What was written."""

    rows: int = 0
    mended: int = 0
    """Rows with half a surrogate pair, which U+FFFD stands for now."""


def features() -> Any:
    """The type of every column.

    Raises:
        MissingExtraError: datasets is not installed.
    """
    from_hub = _datasets()
    value, many = from_hub.Value, from_hub.List
    text, number, integer, flag = value("string"), value("float64"), value("int64"), value("bool")
    pairs = many({"name": text, "value": number})
    tokens = {
        "ids": many(integer),
        "mask": many(value("int8")),
        "logprobs": many(number),
        "versions": many(integer),
        "spans": many({"author": text, "start": integer, "end": integer, "turn": integer}),
    }
    segment = {"author": text, "text": text, "turn": integer, "scored": flag, "verbatim": flag, "kept": text}
    call = {"turn": integer, "tool": text, "arguments": text, "result": text, "status": text, "seconds": number}
    return from_hub.Features(
        {
            **dict.fromkeys(("key", "group", "env", "task", "question"), text),
            "golds": many(text),
            "seed": integer,
            "messages": many({"role": text, "content": text}),
            "segments": many(segment),
            **tokens,
            "token_rewards": many(number),
            "earlier": many(tokens),
            "reward": number,
            "turn_rewards": many(number),
            "reward_terms": pairs,
            "ending": text,
            "success": number,
            "metrics": pairs,
            "fault": text,
            "calls": many({**call, "files": many({"name": text, "content": text}), "page": text}),
            "usage": pairs,
            "seconds": number,
            "agent_seconds": many(number),
            "prompt_tokens": integer,
            "completion_tokens": integer,
            "more": text,
        }
    )


def to_row(trajectory: Trajectory) -> dict[str, Any]:
    """One row, plain values only.

    `messages` is the conversation by who wrote it: the prompt's messages, and then an assistant's message for each run
    of the policy's text and a tool's for each of the environment's. `ids`, `mask` and so on are None where the rollout
    knew no tokenizer. `token_rewards` stands on the last policy token of each turn, and is None where no token can
    carry it, or where several sequences share it (`earlier` is not empty).
    """
    data = trajectory.to_json()
    tokens = trajectory.tokens
    return {
        **{name: data[name] for name in _PLAIN},
        "messages": messages_of(trajectory.transcript),
        "segments": [
            dict(zip(_SEGMENT, (*segment, None)[: len(_SEGMENT)], strict=True)) for segment in data["transcript"]
        ],
        **(dict.fromkeys(_TOKENS) if tokens is None else _token_columns(tokens)),
        "token_rewards": _token_rewards(trajectory),
        "earlier": [_token_columns(one) for one in trajectory.earlier],
        "reward": trajectory.reward,
        **{name: _pairs(data[name]) for name in _MAPPINGS},
        "calls": [_call_row(call) for call in data["calls"]],
        "more": _json({name: value for name, value in data.items() if name not in _OWN}),
    }


def from_row(row: Mapping[str, Any]) -> Trajectory:
    """The inverse of `to_row`; every invariant of the transcripts is checked again.

    Raises:
        TranscriptError: an invariant is broken.
        ConfigError: a column is missing.
    """
    if missing := [
        name for name in (*_PLAIN, *_MAPPINGS, *_TOKENS, "segments", "earlier", "calls", "more") if name not in row
    ]:
        raise ConfigError(f"a row has no column {missing[0]!r}: only what toolenvs exported can be read back")
    data: dict[str, Any] = {**json.loads(row["more"]), **{name: row[name] for name in _PLAIN}}
    data |= {name: {pair["name"]: pair["value"] for pair in row[name]} for name in _MAPPINGS}
    data["transcript"] = [
        [segment[name] for name in _SEGMENT if name != "kept" or segment[name] is not None]
        for segment in row["segments"]
    ]
    data["tokens"] = None if row["ids"] is None else _token_json(row)
    data["earlier"] = [_token_json(one) for one in row["earlier"]]
    data["calls"] = [_call_json(call) for call in row["calls"]]
    return Trajectory.from_json(data)


def to_dataset(trajectories: Iterable[Trajectory]) -> Any:
    """A `datasets.Dataset` in memory.

    Raises:
        MissingExtraError: datasets is not installed.
    """
    return _in_memory(to_row(one) for one in trajectories)


def from_dataset(dataset: Iterable[Mapping[str, Any]]) -> Iterator[Trajectory]:
    """The trajectories of a data set, in order."""
    return map(from_row, dataset)


def write(trajectories: Iterable[Trajectory], out: str | Path, form: str | None = None) -> Written:
    """Write a data set.

    Args:
        trajectories: what to write.
        out: a file or folder that is not there yet.
        form: one of `FORMS`; None to tell it by the name: .parquet, .jsonl, else a folder.

    Raises:
        ConfigError: `out` is there already or cannot be written, the form is unknown, or there is no trajectory.
        MissingExtraError: datasets is not installed.
    """
    out = Path(out)
    form = form or {".parquet": "parquet", ".jsonl": "jsonl"}.get(out.suffix, "datasets")
    if form not in FORMS:
        raise ConfigError(f"unknown form {form!r}; {did_you_mean(form, FORMS)}")
    if out.exists():
        raise ConfigError(f"{out} is there already: give another name, or remove it")
    written = Written()
    aside = out.with_name(out.name + ".part")
    try:
        aside.parent.mkdir(parents=True, exist_ok=True)
        _WRITERS[form](_counted(trajectories, written), aside)
        if written.rows:
            aside.rename(out)
    except OSError as error:
        raise ConfigError(f"{out} cannot be written: {error}") from error
    finally:
        _remove(aside)
    if not written.rows:
        raise ConfigError("there is no trajectory to write")
    return written


def read(path: str | Path) -> Iterator[Trajectory]:
    """The trajectories of what `write` wrote, whatever its form.

    Raises:
        ConfigError: there is nothing, or it is no such data set.
        MissingExtraError: datasets is not installed.
    """
    path = Path(path)
    if not path.exists():
        raise ConfigError(f"there is no data set at {path}")
    if path.is_dir():
        yield from from_dataset(_datasets().load_from_disk(str(path)))
    elif path.suffix == ".parquet":
        from pyarrow import parquet

        for batch in parquet.ParquetFile(path).iter_batches(_ROWS):
            yield from map(from_row, batch.to_pylist())
    else:
        with path.open(encoding="utf-8") as lines:
            yield from (from_row(json.loads(line)) for line in lines)


def messages_of(transcript: Transcript) -> list[dict[str, str]]:
    """The conversation by who wrote it, see `to_row`."""
    messages: list[dict[str, str]] = []
    for segment in transcript.segments:
        if segment.author is Author.PROMPT:
            messages += [dict(message) for message in parse_chatml(segment.text)]
            continue
        role = "assistant" if segment.author is Author.POLICY else "tool"
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += segment.text
        else:
            messages.append({"role": role, "content": segment.text})
    return messages


_PLAIN = (
    "key",
    "group",
    "env",
    "task",
    "question",
    "golds",
    "seed",
    "turn_rewards",
    "ending",
    "success",
    "fault",
    "seconds",
    "agent_seconds",
    "prompt_tokens",
    "completion_tokens",
)
_MAPPINGS = ("reward_terms", "metrics", "usage")
_TOKENS = ("ids", "mask", "logprobs", "versions", "spans")
_OWN = (*_PLAIN, *_MAPPINGS, "transcript", "tokens", "earlier", "calls")
"""What of a trajectory has columns; the rest goes into `more`."""
_SEGMENT = ("author", "text", "turn", "scored", "verbatim", "kept")
_SPAN = ("author", "start", "end", "turn")


def _pairs(values: Mapping[str, float]) -> list[dict[str, Any]]:
    return [{"name": name, "value": float(value)} for name, value in values.items()]


def _token_columns(tokens: TokenTranscript) -> dict[str, Any]:
    data = tokens.to_json()
    return {**data, "spans": [dict(zip(_SPAN, span, strict=True)) for span in data["spans"]]}


def _token_json(row: Mapping[str, Any]) -> dict[str, Any]:
    spans = [[span[name] for name in _SPAN] for span in row["spans"]]
    return {**{name: row[name] for name in _TOKENS}, "spans": spans}


def _token_rewards(trajectory: Trajectory) -> list[float] | None:
    tokens = trajectory.tokens
    if tokens is None or trajectory.earlier or Mask.POLICY not in tokens.mask:
        return None
    return [float(reward) for reward in tokens.token_rewards(trajectory.turn_rewards)]


def _call_row(call: Mapping[str, Any]) -> dict[str, Any]:
    files = [{"name": name, "content": content} for name, content in call.get("files", {}).items()]
    page = call.get("page")
    told = {"arguments": _json(call["arguments"]), "files": files, "page": None if page is None else _json(page)}
    return {**call, **told}


def _call_json(row: Mapping[str, Any]) -> dict[str, Any]:
    files = {file["name"]: file["content"] for file in row["files"]}
    page = None if row["page"] is None else json.loads(row["page"])
    call = {name: value for name, value in row.items() if name not in ("files", "page")}
    return {
        **call,
        "arguments": json.loads(row["arguments"]),
        **({"files": files} if files else {}),
        **({"page": page} if page is not None else {}),
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)


def _counted(trajectories: Iterable[Trajectory], written: Written) -> Iterator[dict[str, Any]]:
    for trajectory in trajectories:
        row = to_row(trajectory)
        try:
            json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            row = _mend(row)
            written.mended += 1
        written.rows += 1
        yield row


def _mend(value: Any) -> Any:
    """The same with `_HALF` for halves of surrogate pairs."""
    if isinstance(value, str):
        return "".join(_HALF if "\ud800" <= character <= "\udfff" else character for character in value)
    if isinstance(value, Mapping):
        return {_mend(key): _mend(one) for key, one in value.items()}
    return [_mend(one) for one in value] if isinstance(value, list) else value


def _in_memory(rows: Iterable[dict[str, Any]]) -> Any:
    from_hub, types = _datasets(), features()
    parts = [from_hub.Dataset.from_list(some, features=types) for some in _portions(rows)]
    if not parts:
        return from_hub.Dataset.from_dict({name: [] for name in types}, features=types)
    return from_hub.concatenate_datasets(parts)


def _write_folder(rows: Iterable[dict[str, Any]], out: Path) -> None:
    bars = _datasets().utils.logging
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        _in_memory(rows).save_to_disk(str(out))
    finally:
        if shown:
            bars.enable_progress_bar()


def _write_parquet(rows: Iterable[dict[str, Any]], out: Path) -> None:
    types = features()
    import pyarrow as pa
    from pyarrow import parquet

    schema = types.arrow_schema
    with parquet.ParquetWriter(out, schema) as file:
        for some in _portions(rows):
            file.write_table(pa.Table.from_pylist(some, schema=schema))


def _write_lines(rows: Iterable[dict[str, Any]], out: Path) -> None:
    with out.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _portions(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    left = iter(rows)
    while some := list(islice(left, _ROWS)):
        yield some


_WRITERS = {"datasets": _write_folder, "parquet": _write_parquet, "jsonl": _write_lines}


def _remove(path: Path) -> None:
    if path.is_dir():
        import shutil

        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _datasets() -> Any:
    try:
        import datasets
    except ImportError as error:
        raise MissingExtraError("datasets", "data", "a Hugging Face data set") from error
    return datasets
