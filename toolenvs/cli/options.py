"""Options and arguments that several commands have."""

import tomllib
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from toolenvs.errors import ConfigError

PageId = Annotated[str, typer.Argument(metavar="ID", help="Id of a bundled page, or a TOML file.", show_default=False)]
Overrides = Annotated[
    list[str],
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the page, as in --set budget.max_calls=2."),
]
Seed = Annotated[int, typer.Option(help="Seed of tasks, tools and samples.")]


def overrides(pairs: Sequence[str]) -> dict[str, Any]:
    """The table that `KEY=VALUE` pairs make. Values are written as in TOML; a string needs no quotes.

    Raises:
        ConfigError: a pair has no "=", or no key before it.
    """
    table: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not (key.strip() and equals):
            raise ConfigError(f"--set {pair!r}: write KEY=VALUE, as in --set budget.max_calls=2")
        table[key.strip()] = _value(text.strip())
    return table


def _value(text: str) -> Any:
    try:
        table = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return table["value"] if len(table) == 1 else text
