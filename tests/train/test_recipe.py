import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from toolenvs.assets import folder
from toolenvs.errors import ConfigError
from toolenvs.train.recipe import find_recipe, parse, read_recipe, sentences


@dataclass(frozen=True)
class Args:
    """Settings."""

    model: str
    """Where the policy
    comes from."""
    steps: int = 10
    """How many."""
    lr: float = 0.5
    """Step size."""
    clip: float | None = None
    """Optional."""
    resume: bool = False
    """Go on."""
    env: Mapping[str, Any] = field(default_factory=dict)
    """Page overrides."""


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text('model = "tiny"\nsteps = 20\nlr = 1\n[env]\n"budget.max_calls" = 2\n"tasks.size" = 5\n')
    return path


def test_command_line_goes_before_recipe_before_defaults(recipe):
    args = parse(
        Args,
        ["--recipe", str(recipe), "--steps=30", "--resume", "--env.tasks.size", "7", "--env.prompt.user", "{question}"],
    )
    assert (args.model, args.steps, args.lr, args.clip, args.resume) == ("tiny", 30, 1.0, None, True)
    assert args.env == {"budget.max_calls": 2, "tasks.size": 7, "prompt.user": "{question}"}


def test_a_string_stays_one_and_dashes_are_underscores():
    assert parse(Args, ["--model", "7"]).model == "7"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "missing 'model'"),
        (["--model", "tiny", "--step", "3"], "unknown option --step; did you mean 'steps'"),
        (["--model", "tiny", "--steps", "many"], "steps: a whole number is needed"),
        (["--model", "tiny", "more"], "'more' belongs to no option"),
        (["--recipe", "nowhere.toml"], "nowhere.toml cannot be read"),
    ],
)
def test_what_is_wrong_is_said(argv, message):
    with pytest.raises(ConfigError, match=message):
        parse(Args, argv)


def test_a_bundled_recipe_is_known_by_its_name(recipe, monkeypatch):
    bundled = tomllib.loads((folder("baselines") / "recipes" / "retool_tiny.toml").read_text("utf-8"))
    assert read_recipe(find_recipe("retool_tiny")) == bundled
    with pytest.raises(ConfigError, match="no recipe 'retool_tin': .*did you mean 'retool_tiny'"):
        parse(Args, ["--recipe", "retool_tin"])
    monkeypatch.chdir(recipe.parent)
    assert find_recipe("recipe.toml") == Path("recipe.toml")


def test_a_recipe_with_an_unknown_key_is_refused(recipe):
    recipe.write_text("model = 'tiny'\nlearning_rate = 1\n")
    with pytest.raises(ConfigError, match="unknown key 'learning_rate'"):
        parse(Args, ["--recipe", str(recipe)])


def test_help_prints_every_sentence(capsys):
    with pytest.raises(SystemExit):
        parse(Args, ["--help"], description="Trains.")
    printed = capsys.readouterr().out
    assert all(sentence in printed for sentence in sentences(Args).values())
    assert sentences(Args)["model"] == "Where the policy comes from."
    assert "--steps (default 10)" in printed


def test_a_recipe_may_extend_another_key_by_key(recipe):
    twin = recipe.with_name("twin.toml")
    twin.write_text('extends = "recipe.toml"\nsteps = 2\n[env]\n"tasks.size" = 7\n"tasks.set" = "arithmetic"\n')
    grandchild = recipe.with_name("grandchild.toml")
    grandchild.write_text('extends = "twin.toml"\nlr = 3\n')
    args = parse(Args, ["--recipe", str(grandchild), "--env.tasks.size", "8"])
    assert (args.model, args.steps, args.lr) == ("tiny", 2, 3.0)
    assert args.env == {"budget.max_calls": 2, "tasks.size": 8, "tasks.set": "arithmetic"}


def test_a_recipe_that_extends_itself_or_nothing_is_refused(recipe):
    recipe.write_text('extends = "twin.toml"\n')
    with pytest.raises(ConfigError, match="twin.toml cannot be read"):
        parse(Args, ["--recipe", str(recipe)])
    recipe.with_name("twin.toml").write_text('extends = "recipe.toml"\n')
    with pytest.raises(ConfigError, match=r"recipe.toml extends itself, by recipe.toml -> twin.toml"):
        parse(Args, ["--recipe", str(recipe)])


@dataclass(frozen=True)
class More(Args):
    """Settings of another script."""

    steps: int = 3
    """How many others."""
    depth: int = 1
    """How deep."""


def test_sentences_of_inherited_settings_are_known_and_the_newest_counts():
    assert sentences(More) == {**sentences(Args), "steps": "How many others.", "depth": "How deep."}
    assert parse(More, ["--model", "tiny", "--lr", "2"]) == More(model="tiny", lr=2.0)
