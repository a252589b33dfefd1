import pytest
import torch

from toolenvs import assets, page
from toolenvs.errors import ConfigError, JudgeError
from toolenvs.rewards.judges import maths
from toolenvs.rollout import read_trajectories
from toolenvs.train import advantages
from toolenvs.train.metrics import MetricsWriter, read_metrics, without_times
from toolenvs.train.policy import load_policy
from toolenvs.train.recipe import parse, read_recipe
from toolenvs.train.record import read_settings
from toolenvs.train.watch import read_events

SETTINGS = {
    "steps": 4,
    "prompts": 3,
    "samples": 4,
    "lr": 1e-3,
    "muon_lr": 0.006,
    "checkpoint_every": 2,
    "test_every": 2,
}


@pytest.fixture
def run(training):
    """`run(name, **changes)`: train, and give the folder."""
    return training("grpo", **SETTINGS)


def test_a_run_writes_metrics_trajectories_checkpoints_a_curve_and_a_model(run):
    folder = run("whole", trajectories_every=2)
    lines = read_metrics(folder)
    assert [line["step"] for line in lines] == [0, 1, 2, 3, 4]
    assert [line["step"] for line in lines if "test_success" in line] == [0, 2, 4]
    assert all(0 < line["success"] < 1 and line["groups"] > 0 and line["infrastructure"] == 0 for line in lines[1:])
    # On-policy in the first mini-batch, and not far off in the second.
    assert all(line["ratio"] == pytest.approx(1, abs=0.2) and line["gradient_norm"] > 0 for line in lines[1:])
    shown = list(read_trajectories(folder / "trajectories/step-000004.jsonl"))
    assert [trajectory.group for trajectory in shown] == [str(group) for group in range(3) for _ in range(4)]
    assert [set(trajectory.tokens.versions.tolist()) for trajectory in shown] == [{-1, 3}] * 12
    assert (folder / "curve.png").exists()
    assert read_settings(folder)["settings"]["prompts"] == 3
    assert all(0 <= line["reward_spread"] <= 1 and 0 <= line["shared_text"] <= 1 for line in lines[1:])
    assert all(event["event"] in ("begins", "ends") for event in read_events(folder))
    assert (folder / "model/model.safetensors").exists()


def test_a_resumed_run_gives_the_same_numbers(run, resumed):
    resumed(run)


def test_a_run_that_never_reached_a_checkpoint_begins_again(run):
    whole = run("whole", steps=1)
    (whole / "checkpoints/step-000001.pt").unlink()
    again = run("whole", steps=1, resume=True)
    assert [line["step"] for line in read_metrics(again)] == [0, 1]


@pytest.mark.parametrize(
    "form",
    [
        {"estimator": "dr_grpo", "aggregation": "seq-mean-token-sum-norm", "constant_tokens": 24},
        {"estimator": "rloo", "aggregation": "seq-mean-token-sum"},
        {"estimator": "reinforce_pp_baseline", "dual_clip": 0.0},
        {"kl_coef": 0.1, "kl_form": "k2"},
        {"kl_coef": 0.1, "kl_form": "k1", "kl_place": "reward", "estimator": "reinforce_pp", "filter": "every"},
        {"recompute_logprobs": True},
        {"recompute_logprobs": True, "correction": "sequence-mask", "correction_reject": "geometric"},
        {"policy_loss": "ppo_ewma"},
        {"policy_loss": "m2po", "mini_batches": 4},
        {"policy_loss": "rpg", "kl_coef": 1e-3, "kl_form": "rpg-unnormalised-forward", "estimator": "dr_grpo"},
        {"kl_coef": 0.1, "kl_form": "rpg-reverse", "kl_from": "old"},
        {"estimator": "turn_returns", "turn_gamma": 0.4, "filter": "uncertain", "filter_share": 0.5},
        {"entropy_coef": 0.01, "lm_coef": 0.1, "epochs": 2},
        {"overlong_cache_tokens": 4, "overlong_max_tokens": 8},
        {"packing": "packed", "max_logits_mib": 0.01, "gradient_checkpointing": True, "micro_batch_tokens": 200},
        {"dtype": "bfloat16", "recompute_logprobs": True},
    ],
    ids=lambda form: "-".join(map(str, form.values())),
)
def test_every_form_trains(run, form):
    (_, line) = read_metrics(run("form", steps=1, **form))
    assert line["gradient_norm"] > 0
    assert (line["kl"] != 0) == ("kl_coef" in form and form.get("policy_loss") != "rpg")


def test_a_step_that_recomputes_tells_the_engines_mismatch(run):
    (_, line) = read_metrics(run("recomputing", steps=1, recompute_logprobs=True))
    assert 0 <= line["rollout_mismatch"] <= line["rollout_mismatch_max"] < 1e-3
    assert 0 <= line["rollout_kl"] < 1e-6
    (_, line) = read_metrics(run("trusting", steps=1))
    assert "rollout_mismatch" not in line


def test_a_step_whose_groups_all_agree_changes_nothing(run, policy):
    folder = run("agreeing", steps=1, samples=1)
    (_, line) = read_metrics(folder)
    assert line["groups"] == 0
    assert "loss" not in line
    before, after = (load(place) for place in (policy, folder / "model"))
    assert all(torch.equal(value, after[name]) for name, value in before.items())


def test_steps_that_change_nothing_keep_the_version_and_bring_the_decay_on(run, monkeypatch):
    roll_out, write = run.module.roll_out, MetricsWriter.write

    def idle(args, run, step):
        trajectories, groups = roll_out(args, run, step)
        return trajectories, [] if step in (2, 3) else groups

    def interrupted(self, step, line):
        write(self, step, line)
        if step == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(run.module, "roll_out", idle)
    options = {"steps": 5, "decay": True, "trajectories_every": 1, "filter": "every", "replay": "dots"}
    whole = run("whole", **options)
    assert ["gradient_norm" in line for line in read_metrics(whole)[1:]] == [True, False, False, True, True]
    state = torch.load(whole / "checkpoints/step-000005.pt", weights_only=True)
    assert (state["optimizers"]["steps"], state["optimizers"]["passed"]) == (3 * 2, 5 * 2)

    monkeypatch.setattr(MetricsWriter, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run("cut", **options)
    monkeypatch.setattr(MetricsWriter, "write", write)
    cut = run("cut", **options, resume=True)  # behind a step that changed nothing
    assert list(map(without_times, read_metrics(cut))) == list(map(without_times, read_metrics(whole)))
    for folder in (whole, cut):
        episodes = map(read_trajectories, sorted(folder.glob("trajectories/*")))
        assert [{int(one.tokens.versions.max()) for one in each} for each in episodes] == [{0}, {1}, {1}, {1}, {4}]


@pytest.mark.parametrize(("every", "kept"), [(0, []), (2, [2, 3]), (3, [3]), (10, [3])])
def test_the_last_step_s_trajectories_are_kept_in_any_case(run, every, kept):
    folder = run("kept", steps=3, prompts=1, samples=1, test_tasks=1, trajectories_every=every)
    assert [path.name for path in sorted(folder.glob("trajectories/*"))] == [f"step-{step:06d}.jsonl" for step in kept]


def load(folder):
    return load_policy(str(folder))[0].state_dict()


def test_dropped_groups_are_made_up_for(run):
    few = read_metrics(run("few", steps=1, samples=2, prompts=8))[1]
    more = read_metrics(run("more", steps=1, samples=2, prompts=8, generation_batches=8))[1]
    assert few["groups"] < 8
    assert more["groups"] == 8


def test_infrastructure_failures_are_counted_and_not_learned_from(run, monkeypatch):
    async def dead(self, moment):
        raise JudgeError("the judge died")

    monkeypatch.setattr(maths.Judge, "__call__", dead)
    line = read_metrics(run("dying", steps=1))[1]
    assert (line["infrastructure"], line["groups"]) == (1, 0)


def test_an_estimator_that_needs_a_critic_is_sent_to_ppo(run):
    with pytest.raises(ConfigError, match=r"baselines/ppo\.py trains one"):
        run("wrong", steps=1, estimator="gae")


def test_recipes_name_settings_and_page_keys_that_exist(script):
    files = sorted((assets.folder("baselines") / "recipes").glob("*.toml"))
    assert files
    for file in files:
        estimator = read_recipe(file).get("estimator", "grpo")
        kind = "sft" if file.stem.endswith("_sft") else "ppo" if "values" in advantages.needs(estimator) else "grpo"
        assert f"baselines/{kind}.py" in file.read_text("utf-8") or not file.stem.endswith("_tiny")
        args = parse(script(kind).Args, ["--recipe", str(file), "--output", "x"])
        page.load(args.page, {**args.env, **args.test_env})


def test_an_unknown_estimator_is_refused_by_name(run):
    with pytest.raises(ConfigError, match="did you mean 'grpo'"):
        run("wrong", steps=1, estimator="gprpo")
