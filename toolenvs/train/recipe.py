"""A script's settings: defaults in a dataclass, over them a recipe (TOML), over that the command line.

Every field of the dataclass has its sentence in a string below it, which `--help` prints. A recipe may begin with
`extends = "other.toml"`, a file beside it: then it holds only what differs from that one, key by key in its tables too.
"""

import ast
import dataclasses
import inspect
import itertools
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from toolenvs import schema
from toolenvs.assets import folder
from toolenvs.errors import ConfigError, PageError, did_you_mean

T = TypeVar("T")


def parse(cls: type[T], argv: Sequence[str] | None = None, *, description: str = "") -> T:
    """Read the settings of a script: `--recipe FILE`, or a bundled one's name, then `--name value` for any field.

    A field that is a table takes its keys as `--table.key value`. Values are written as in TOML, strings without
    quotes; an option without a value is true.

    Args:
        cls: a dataclass of what TOML can hold.
        argv: the command line without the program's name; by default the process's own.
        description: what the script does, for `--help`, which prints and exits.

    Raises:
        ConfigError: the recipe cannot be read, or a setting is unknown, missing or of another type.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if "--help" in words or "-h" in words:
        print(_help(cls, description))
        raise SystemExit(0)
    options = _options(words)
    table: dict[str, Any] = {}
    where = "command line"
    if (recipe := options.pop("recipe", None)) is not None:
        table = read_recipe(find_recipe(str(recipe)))
        where = f"command line or {recipe}"
    known = schema.fields(cast(type, cls))
    for option, text in options.items():
        name, _, inner = option.partition(".")
        name = name.replace("-", "_")
        if name not in known:
            raise ConfigError(f"command line: unknown option --{option}; {did_you_mean(name, known)}")
        value = text if known[name] is str else _toml_value(text)
        if inner:
            table[name] = {**table.get(name, {}), inner: value}
        else:
            table[name] = value
    try:
        return schema.read(cls, table, where)
    except PageError as error:
        raise ConfigError(f"{error}; --help lists the settings") from None


def find_recipe(name: str) -> Path:
    """The file of a recipe: a path, or the name of one in baselines/recipes.

    Raises:
        ConfigError: it is called like a bundled one, and there is none of that name.
    """
    bundled = {path.stem: path for path in sorted((folder("baselines") / "recipes").glob("*.toml"))}
    if Path(name).suffix or Path(name).exists():
        return Path(name)
    if name not in bundled:
        hint = did_you_mean(name, bundled)
        raise ConfigError(f"there is no recipe {name!r}: give a TOML file, or a bundled one; {hint}")
    return bundled[name]


def read_recipe(path: Path) -> dict[str, Any]:
    """The table in a recipe file, laid over that of the recipe that it extends.

    Raises:
        ConfigError: it cannot be read, or extends itself.
    """
    return _read(path, ())


def _read(path: Path, extending: tuple[Path, ...]) -> dict[str, Any]:
    if path in extending:
        raise ConfigError(f"recipe {path} extends itself, by {' -> '.join(each.name for each in extending)}")
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"recipe {path} cannot be read: {error}") from error
    if (base := table.pop("extends", None)) is None:
        return table
    below = _read(path.parent / str(base), (*extending, path))
    for name, value in table.items():
        joined = isinstance(value, dict) and isinstance(below.get(name), dict)
        below[name] = {**below[name], **value} if joined else value
    return below


def sentences(cls: type) -> dict[str, str]:
    """The string below each field of a dataclass, inherited ones too, on one line, by the field's name."""
    found: dict[str, str] = {}
    for part in reversed(cls.__mro__):
        if dataclasses.is_dataclass(part):
            (definition,) = ast.parse(inspect.cleandoc(inspect.getsource(part))).body
            for node, below in itertools.pairwise(cast(ast.ClassDef, definition).body):
                match node, below:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                        found[name] = " ".join(text.split())
    return found


def _options(words: list[str]) -> dict[str, str]:
    """`--name value`, `--name=value` and `--name` as pairs."""
    options: dict[str, str] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            options[name] = value if equals else "true"
            name = "" if equals else name
        elif name:
            options[name] = word
            name = ""
        else:
            raise ConfigError(f"command line: {word!r} belongs to no option; write --name value")
    return options


def _toml_value(text: str) -> Any:
    """A value as TOML writes it; what is not TOML is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _help(cls: Any, description: str) -> str:
    recipe = "    A TOML file of settings, or the name of one in baselines/recipes; options given here go before it."
    lines = [description.strip(), "", "--recipe", recipe]
    said = sentences(cls)
    for name, field in cls.__dataclass_fields__.items():
        default = "" if repr(field.default).startswith("<dataclasses") else f" (default {field.default!r})"
        lines += [f"--{name.replace('_', '-')}{default}", f"    {said.get(name, '')}"]
    return "\n".join(lines)
