"""baselines/learning.py: what makes each algorithm is a setting that exists, and the report shows every seed."""

import json

import pytest

from toolenvs import assets, page
from toolenvs.train import advantages, filters
from toolenvs.train.recipe import parse


@pytest.fixture(scope="module")
def learning(load_script):
    return load_script("learning")


def test_every_algorithm_is_made_of_settings_that_exist(learning, load_script):
    made = {}
    for name, (script, recipe, options) in learning.ALGORITHMS.items():
        file = assets.folder("baselines") / "recipes" / f"{recipe}.toml"
        args = parse(load_script(script).Args, ["--recipe", str(file), "--output", "x", *options])
        page.load(args.page, {**args.env, **args.test_env})
        assert args.filter in filters.names()
        assert ("values" in advantages.needs(args.estimator)) == (script == "ppo")
        assert args.prompts * args.samples == 256
        made[name] = args
    assert made["VAPO"].lm_coef == 0.1
    assert made["StarPO-S"].filter_share == 0.25
    assert made["DAPO"].overlong_cache_tokens > 0
    assert made["GRPO"].aggregation == "seq-mean-token-mean"
    assert made["PPO"].samples == 1


def test_the_report_shows_every_algorithm_and_seed(learning, tmp_path, capsys):
    for name, end in (("PPO", 0.75), ("GRPO", 0.5)):
        for seed in (0, 1):
            folder = learning.folder(tmp_path, name, seed)
            folder.mkdir()
            lines = [
                {"step": 0, "test_success": 0.25},
                {"step": 1, "success": 0.3},
                {"step": 2, "success": 0.4, "test_success": end + seed / 8},
            ]
            (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    learning.report(tmp_path, tmp_path / "results", ["PPO", "GRPO"], [0, 1])
    assert "| PPO | 0.250 to 0.750 | 0.250 to 0.875 | 0.812 |" in capsys.readouterr().out
    written = json.loads((tmp_path / "results" / "learning.json").read_text())
    assert written["curves"]["GRPO"]["seed 1"] == {
        "rollouts": [[1, 0.3], [2, 0.4]],
        "held_out": [[0, 0.25], [2, 0.625]],
    }
    assert (tmp_path / "results" / "learning.png").stat().st_size > 5000
