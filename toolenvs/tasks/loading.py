"""`load`: one door to every task set."""

from itertools import chain
from pathlib import Path
from typing import Any

from toolenvs.errors import TaskError, did_you_mean
from toolenvs.tasks.beir import is_beir, read_beir
from toolenvs.tasks.files import is_saved_dataset, read_file, read_hf, split_files
from toolenvs.tasks.generated import generate, generator_names
from toolenvs.tasks.rows import OnBadRow, check_limit, from_located_rows
from toolenvs.tasks.sql_folders import read_sql, sql_folder
from toolenvs.tasks.task import TaskSet

_HF_PREFIX = "hf:"
_FILE_OPTIONS = ("schema", "on_bad_row", "config")


def load(
    name_or_path: str | Path,
    *,
    split: str = "train",
    seed: int = 0,
    size: int | None = None,
    limit: int | None = None,
    **options: Any,
) -> TaskSet:
    """The task set of that name.

        load("arithmetic", split="test", difficulty=2, limit=50)
        load("dapo-math-17k.parquet")
        load("hf:Maxwell-Jia/AIME_2024")
        load("beir/nfcorpus", split="test")                # a folder with queries.jsonl and qrels/test.tsv
        load("bird", split="dev")                          # a folder with dev.json and dev_databases/

    Args:
        name_or_path: a generator (a module of `toolenvs.tasks.generators`); a .jsonl, .jsonl.gz, .json or .parquet
            file, or a folder of them; a folder of BEIR, see `toolenvs.tasks.beir`, or of BIRD, Spider or SynSQL, see
            `toolenvs.tasks.sql_folders`; or `hf:` and a Hugging Face dataset (`hf:` and a folder: one that
            `save_to_disk` wrote).
        split: of a generator, a folder or a dataset; a single file is taken whole, whatever its name.
        seed: of a generator; files keep their order.
        size: how many tasks a generator has.
        limit: at most that many tasks, the first ones.
        options: for a generator, its own (`difficulty`, ...); for rows, `schema`, `on_bad_row` (see `from_rows`) and
            `config`, the dataset's configuration.

    Raises:
        TaskError: there is no such set, or a row or an option is wrong.
        MissingExtraError: the format needs a package of the extra `data`.
    """
    name = str(name_or_path)
    check_limit(name, limit)
    if name in generator_names():
        tasks = generate(name, split=split, seed=seed, size=size, **options)
        if limit is None or limit >= len(tasks):
            return tasks
        return generate(name, split=split, seed=seed, size=limit, **options)
    for option in options:
        if option not in _FILE_OPTIONS:
            raise TaskError(f"{name}: no option {option!r} for rows; {did_you_mean(option, _FILE_OPTIONS)}")
    if size is not None:
        raise TaskError(f"{name}: size is for generators; use limit to take the first rows of a file")
    schema: str = options.get("schema", "auto")
    on_bad_row: OnBadRow = options.get("on_bad_row", "error")
    config: str | None = options.get("config")
    path = Path(name)
    if name.startswith(_HF_PREFIX):
        rows = read_hf(name.removeprefix(_HF_PREFIX), split, config)
    elif path.is_dir() and is_saved_dataset(path):
        rows = read_hf(name, split, config)
    elif path.is_dir() and is_beir(path):
        rows = read_beir(path, split)
    elif path.is_dir() and (found := sql_folder(path, split)) is not None:
        rows = read_sql(found, split)
    elif path.is_dir():
        rows = chain.from_iterable(map(read_file, split_files(path, split)))
    elif path.is_file():
        rows = read_file(path)
    else:
        raise TaskError(
            f"{name!r} is neither a generator nor a file that exists; {did_you_mean(name, generator_names())}"
        )
    return from_located_rows(rows, schema=schema, name=name, on_bad_row=on_bad_row, limit=limit)
