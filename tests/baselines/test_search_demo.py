"""baselines/search_demo.py: its conditions decide, its chance is right, and it runs from end to end."""

import json
from collections import Counter
from statistics import mean

import pytest

from toolenvs import assets, blueprint
from toolenvs.rollout import collect
from toolenvs.tasks.generated import generate
from toolenvs.train.recipe import read_recipe
from toolenvs.train.tiny import search_demos
from toolenvs.train.tiny.reader import build_reader_tokenizer
from toolenvs.world import World

SMALL = ["--size", "16", "--steps", "2", "--batch", "4", "--prompts", "2", "--samples", "2", "--max_turn_tokens", "8"]


@pytest.fixture(scope="module")
def demo(load_script):
    return load_script("search_demo")


@pytest.fixture(scope="module")
def settings(demo):
    recipe = read_recipe(assets.folder("baselines") / "recipes" / "search_tiny.toml")
    return demo.grpo.Args(output="unused", **recipe)


async def test_an_agent_that_reads_lives_on_what_the_search_finds(demo, settings, monkeypatch, tmp_path):
    for name, percent in (("SEARCH_PERCENT", 100), ("FAULTY_PERCENT", 0), ("MISREADING_PERCENT", 0)):
        monkeypatch.setattr(search_demos, name, percent)
    lies = {"tools.search.index": str(demo.lying_index(tmp_path, demo.world_of(settings)))}
    found = {}
    conditions = {"sound": {}, "empty": {"tools.search.passage": ""}, "lying": lies, "none": demo.NO_CALLS}
    for name, keys in conditions.items():
        env = blueprint.load(
            settings.page,
            tokenizer=build_reader_tokenizer(),
            **{**settings.env, **settings.test_env, **keys},
        )
        agent = search_demos.SearchDemonstrator(env, seed=0)
        episodes = await collect(env, agent, [env.tasks[index] for index in range(40)])
        found[name] = mean(episode.success for episode in episodes)
        status = "spent" if name == "none" else "ok"
        assert all([call.status for call in episode.calls] == [status] for episode in episodes)
    assert found["sound"] == 1
    assert max(found["empty"], found["lying"], found["none"]) <= 0.05  # a lie may be true by accident


def test_the_worlds_of_training_and_test_share_no_name_and_no_question(settings):
    train, test = (
        blueprint.load(settings.page, **keys).tasks for keys in (settings.env, settings.env | settings.test_env)
    )
    trained = {train[index].question for index in range(1000)}
    assert not trained & {test[index].question for index in range(1000)}
    names = [{each.name(key) for key in each.keys()} for each in (World(1000, seed=0), World(1000, seed=1))]  # noqa: SIM118
    assert len(names[0] & names[1]) <= 0.01 * 1000


def test_chance_is_what_the_best_constant_guess_gives(demo):
    world = World(1000, seed=1)
    tasks = list(generate("world", split="test", size=400, world=1, max_hops=1))
    kinds: dict[str, Counter[str]] = {}
    for key in world.keys():  # noqa: SIM118
        entity = world.entity(key)
        for fact in (*entity.links, *entity.figures):
            value = world.name(entity.links[fact]) if fact in entity.links else str(entity.figures[fact])
            kinds.setdefault(f"{key.kind} {fact}", Counter())[value] += 1
    shares = {name: values.most_common(1)[0][1] / values.total() for name, values in kinds.items()}
    asked = [f"{task.extra['evidence'][0].split('-')[0]} {task.extra['facts'][0]}" for task in tasks]
    assert demo.chance(world, tasks) == pytest.approx(mean(shares[name] for name in asked))
    assert demo.chance(world, tasks) < 0.05


def test_it_runs_from_end_to_end_and_an_untrained_policy_fails(demo, policy, tmp_path):
    result = demo.run(tmp_path / "seed-0", policy, 0, 4, SMALL)
    measured = ("cold_start", "trained", "trained_without_calls", "greedy", "no_calls", "empty", "lying")
    assert {name: result[name] for name in measured} == dict.fromkeys(measured, 0.0)
    assert all(result[name] > 0 for name in ("sft_cpu_s", "grpo_cpu_s", "no_calls_cpu_s", "tests_cpu_s", "chance"))
    assert (tmp_path / "seed-0" / "episodes.html").exists()
    (tmp_path / "seed-0" / "result.json").write_text(json.dumps(result))
    demo.report(tmp_path, [0], tmp_path / "results")
    written = json.loads((tmp_path / "results" / "search_demo.json").read_text())
    assert written["seeds"] == [result]
    assert [step for step, _ in written["curves"]["grpo-0"]["held_out"]] == [0, 2]
    assert (tmp_path / "results" / "search_demo.png").stat().st_size > 10_000
