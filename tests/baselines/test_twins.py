"""Every published recipe has a tiny twin that trains: its algorithm and its page, with the real tools and judges.

An untrained policy solves nothing, so that there would be nothing to learn: after each rollout half of the episodes are
called right, by their tokens. All else is as it is.
"""

import asyncio
import dataclasses
import sys

import pytest
import torch

from toolenvs import assets, blueprint
from toolenvs.agents.scripted import Oracle
from toolenvs.rollout import collect
from toolenvs.train import advantages
from toolenvs.train.metrics import read_metrics
from toolenvs.train.policy import load_policy, save_policy
from toolenvs.train.recipe import parse, read_recipe
from toolenvs.train.run import Run
from toolenvs.train.tiny.model import build_model
from toolenvs.train.tiny.tokenizer import build_tokenizer

RECIPES = assets.folder("baselines") / "recipes"
TWINS = sorted(
    file.stem
    for file in RECIPES.glob("*_tiny.toml")
    if f'extends = "{file.stem.removesuffix("_tiny")}.toml"' in file.read_text("utf-8")
)
PUBLISHED = sorted(file.stem for file in RECIPES.glob("*.toml") if not file.stem.endswith(("_tiny", "_sft")))
DEMOS = {"retool": "retool_tiny", "skyrl_sql": "sql_tiny"}
"""Recipes whose twin is a demo, which its own tests run."""


@pytest.fixture(scope="module")
def policies(tmp_path_factory, policy):
    """Folders of untrained policies, by the name that a recipe gives them."""
    tokenizer = build_tokenizer()
    plain = save_policy(tmp_path_factory.mktemp("plain"), build_model(tokenizer, 0), tokenizer)
    return {"tiny": str(plain), "tiny-reader": policy}


@pytest.fixture(autouse=True)
def lenient(load_script, monkeypatch):
    """Half of all episodes are right, whatever their judge says."""
    threads = torch.get_num_threads()
    load_script("ppo")  # which loads grpo as its neighbour

    def judged(roll_out):
        def rolled_out(*args, **options):
            return [
                episode
                if episode.failed
                else dataclasses.replace(episode, success=float(right(episode)), turn_rewards=paid(episode))
                for episode in roll_out(*args, **options)
            ]

        return rolled_out

    for name in ("collect", "play"):  # independent episodes, and all others
        monkeypatch.setattr(Run, name, judged(getattr(Run, name)))
    yield
    torch.set_num_threads(threads)


def right(episode):
    return int(episode.tokens.ids.sum()) % 2 == 0


def paid(episode):
    """The turns' rewards as they were, and 1 more at the end where the episode is right."""
    return (*episode.turn_rewards[:-1], episode.turn_rewards[-1] + right(episode))


def test_every_published_recipe_has_a_twin_of_the_same_algorithm():
    assert {f"{name}_tiny" for name in PUBLISHED} - set(TWINS) == {f"{name}_tiny" for name in DEMOS}
    assert all((RECIPES / f"{twin}.toml").exists() for twin in DEMOS.values())
    own = ("page", "estimator", "filter", "aggregation", "policy_loss", "kl_form", "kl_place", "lm_coef", "kl_coef")
    for twin in TWINS:
        recipe, base = (read_recipe(RECIPES / f"{name}.toml") for name in (twin, twin.removesuffix("_tiny")))
        assert {key: recipe.get(key) for key in own} == {key: base.get(key) for key in own}


def test_every_value_of_a_published_recipe_has_its_source_beside_it():
    for name in PUBLISHED:
        settings, *_ = (RECIPES / f"{name}.toml").read_text("utf-8").split("\n[env]")
        bare = [line for line in settings.splitlines() if "=" in line and not line.startswith("#") and "#" not in line]
        allowed = ("page", "extends", "samples = 1", "aggregation")
        assert [line for line in bare if not line.startswith(allowed)] == [], name


@pytest.mark.parametrize("twin", TWINS)
def test_a_twin_trains(twin, policies, tmp_path):
    recipe = read_recipe(RECIPES / f"{twin}.toml")
    kind = "ppo" if "values" in advantages.needs(recipe["estimator"]) else "grpo"
    module = sys.modules["grpo"] if kind == "grpo" else sys.modules["baselines_ppo"]
    model = policies[recipe["model"]]
    given = ["--recipe", f"{RECIPES}/{twin}.toml", "--model", model, "--output", str(tmp_path / "run")]
    module.main(parse(module.Args, given))
    lines = read_metrics(tmp_path / "run")
    assert [line["step"] for line in lines] == [0, 1, 2, 3]
    assert all(line["infrastructure"] == 0 for line in lines[1:])
    trained = [line for line in lines[1:] if line.get("gradient_norm")]
    assert len(trained) >= (2 if kind == "ppo" else 1)
    if kind == "ppo":
        assert all(line["value_gradient_norm"] > 0 for line in lines[1:])
        assert "gradient_norm" not in lines[1]  # the critic's warm-up
    before, after = (load_policy(str(folder))[0].state_dict() for folder in (model, tmp_path / "run" / "model"))
    assert any(not torch.equal(value, after[name]) for name, value in before.items())


def test_the_tools_are_real(policies):
    """The double decides who is right, and nothing else: what a search returns is what the index holds."""
    env = blueprint.load("SearchR1-v0")
    (episode,) = asyncio.run(collect(env, Oracle(env), [env.tasks[0]]))
    assert episode.success == 1
    assert episode.calls
