"""`toolenvs train`: hand over to a script of baselines."""

import runpy
import sys
from typing import Annotated

import typer

from toolenvs.assets import folder
from toolenvs.errors import ConfigError, did_you_mean

_HELP = ("-h", "--help")


def train(
    ctx: typer.Context,
    arguments: Annotated[list[str] | None, typer.Argument(metavar="SCRIPT [ARGUMENTS]...", show_default=False)] = None,
) -> None:
    """Train a policy: `toolenvs train sft|grpo|ppo [ARGUMENTS]`; `toolenvs train grpo --help` explains each setting."""
    scripts = {path.stem: path for path in sorted(folder("baselines").glob("*.py"))}
    name, *rest = arguments or ["--help"]
    if name in _HELP:
        typer.echo(ctx.get_help())
        typer.echo(f"Scripts: {', '.join(scripts)}. Recipes: {folder('baselines') / 'recipes'}")
        return
    if name not in scripts:
        raise ConfigError(f"there is no script {name!r} in baselines; {did_you_mean(name, scripts)}")
    script = scripts[name]
    sys.argv = [str(script), *rest]
    sys.path.insert(0, str(script.parent))  # as `python script` has it
    runpy.run_path(str(script), run_name="__main__")
