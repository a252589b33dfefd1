"""baselines/sql_demo.py: the worlds of training and test differ, and it runs from end to end."""

import json

import pytest

from toolenvs import assets, blueprint
from toolenvs.rollout import collect
from toolenvs.train.recipe import read_recipe
from toolenvs.train.tiny import sql_demos
from toolenvs.train.tiny.reader import build_reader_tokenizer

SMALL = ["--size", "16", "--steps", "2", "--batch", "4", "--prompts", "2", "--samples", "2", "--max_turn_tokens", "8"]


@pytest.fixture(scope="module")
def demo(load_script):
    return load_script("sql_demo")


def recipe(name):
    return read_recipe(assets.folder("baselines") / "recipes" / f"{name}.toml")


@pytest.fixture(scope="module")
def settings():
    return recipe("sql_tiny")


def test_cold_start_and_grpo_have_the_same_environment(settings):
    cold = recipe("sql_tiny_sft")
    assert cold["env"] == settings["env"]
    assert cold["test_env"] == settings["test_env"]
    assert {cold["page"], settings["page"]} == {"toolenvs/SQL-v0"}


async def test_the_questions_can_be_answered_within_the_recipes_limits(settings, monkeypatch):
    for name, percent in (("FAULTY_PERCENT", 0), ("TRYING_PERCENT", 100)):
        monkeypatch.setattr(sql_demos, name, percent)
    env = blueprint.load(settings["page"], tokenizer=build_reader_tokenizer(), **settings["env"] | settings["test_env"])
    tasks = [env.tasks[index] for index in range(60)]
    assert {task.extra["database"] for task in tasks} == {"world:1000:1"}
    episodes = await collect(env, sql_demos.SqlDemonstrator(env, seed=0), tasks)
    assert [episode.success for episode in episodes] == [1.0] * 60
    assert all([call.status for call in episode.calls] == ["ok"] for episode in episodes)
    lengths = [sum(episode.tokens.mask == 1) for episode in episodes]
    assert max(lengths) <= 2 * settings["max_turn_tokens"]


def test_no_question_of_the_test_is_asked_in_training(settings):
    train, test = (
        blueprint.load(settings["page"], **keys).tasks
        for keys in (settings["env"], settings["env"] | settings["test_env"])
    )
    asked = {task.question for task in train}
    assert not asked & {test[index].question for index in range(512)}


def test_it_runs_from_end_to_end_and_an_untrained_policy_fails(demo, policy, tmp_path):
    result = demo.run(tmp_path / "seed-0", policy, 0, 4, SMALL)
    measured = ("cold_start", "trained", "greedy", "greedy_cold_start", "no_calls")
    assert {name: result[name] for name in measured} == dict.fromkeys(measured, 0.0)
    assert all(result[name] > 0 for name in ("sft_cpu_s", "grpo_cpu_s", "tests_cpu_s"))
    assert (tmp_path / "seed-0" / "episodes.html").exists()
    (tmp_path / "seed-0" / "result.json").write_text(json.dumps(result))
    demo.report(tmp_path, [0], tmp_path / "results")
    written = json.loads((tmp_path / "results" / "sql_demo.json").read_text())
    assert written["seeds"] == [result]
    assert [step for step, _ in written["curves"]["grpo-0"]["held_out"]] == [0, 2]
    before = (tmp_path / "sft" / "model" / "model.safetensors").stat().st_mtime_ns
    again = demo.run(tmp_path / "seed-1", policy, 1, 4, SMALL)
    assert (again["seed"], again["cold_start"], again["sft_cpu_s"]) == (1, 0, result["sft_cpu_s"])
    assert (tmp_path / "sft" / "model" / "model.safetensors").stat().st_mtime_ns == before
    assert (tmp_path / "results" / "sql_demo.png").stat().st_size > 10_000
