"""Each monitor warns of its own sign once it is there, and says nothing of a run that learns."""

import random

import pytest

from toolenvs.errors import ConfigError
from toolenvs.train.monitors import names, open_monitors


def healthy(steps=60, seed=0):
    """Lines of a run that learns: success rises to 0.97, and with it spread and entropy fall."""
    rng = random.Random(seed)
    lines = []
    for step in range(1, steps + 1):
        success = min(0.97, 0.3 + 0.04 * step) + rng.uniform(-0.04, 0.02)
        lines.append(
            {
                "step": step,
                "success": success,
                "reward_spread": 0.45 * (1 - success) + 0.01,
                "entropy": 0.5 * (1 - success) + 0.02,
                "policy_tokens": 20 + step / 5 + rng.uniform(-2, 2),
                "cut_short": 0.02,
                "shared_text": 0.1,
                "gradient_norm": rng.uniform(0.5, 2.0),
                "rollout_mismatch": 1e-6,
                "infrastructure": 0.0,
                "failed_calls": max(0.05, 0.5 - step / 50),
                "tool_use": 0.9,
            }
        )
    return lines


def warned(name, lines, **options):
    """The steps at which the monitor warns."""
    look = open_monitors({name: options})[name]
    return [line["step"] for end, line in enumerate(lines, start=1) if look(lines[:end])]


def then(change, *, at=40, steps=60):
    """A run that learns, until at a step something else happens."""
    lines = healthy(steps)
    return [line if line["step"] < at else {**line, **change(line)} for line in lines]


SIGNS = {
    "reward_spread": lambda line: {"reward_spread": 0.01, "success": 0.3},
    "entropy": lambda line: {"entropy": 0.01, "success": 0.3},
    "length": lambda line: {"policy_tokens": 120.0, "success": 0.3},
    "gradient_norm": lambda line: {"gradient_norm": 30.0},
    "mismatch": lambda line: {"rollout_mismatch": 0.2},
    "infrastructure": lambda line: {"infrastructure": 0.3},
    "success": lambda line: {"success": 0.1},
    "template": lambda line: {"shared_text": 0.9, "success": 0.3},
}
OTHERS = [
    ("entropy", lambda line: {"entropy": 4.0}, "risen to noise"),
    ("length", lambda line: {"policy_tokens": 3.0, "success": 0.3}, "shrunk from"),
    ("length", lambda line: {"cut_short": 0.8}, "A budget ends"),
    ("gradient_norm", lambda line: {"gradient_norm": None}, "no finite number"),
    ("mismatch", lambda line: {"engine_mismatch": 0.2}, "engine_mismatch"),
    ("infrastructure", lambda line: {"failed_calls": 0.8}, "tool calls fail"),
]


def test_every_monitor_has_its_sign_here():
    assert names() == sorted(SIGNS)


@pytest.mark.parametrize("name", sorted(SIGNS))
@pytest.mark.parametrize("seed", range(3))
def test_a_run_that_learns_is_not_disturbed(name, seed):
    assert warned(name, healthy(seed=seed)) == []


@pytest.mark.parametrize("name", sorted(SIGNS))
def test_its_sign_is_seen_within_a_window_and_in_no_other_run(name):
    steps = warned(name, then(SIGNS[name]))
    assert 40 <= steps[0] <= 46


@pytest.mark.parametrize("name", sorted(SIGNS))
def test_it_says_what_to_try_in_one_sentence(name):
    lines = then(SIGNS[name], steps=47)
    told = [text for end in range(40, 48) if (text := open_monitors({})[name](lines[:end]))]
    assert told
    assert told[0].endswith(".")
    assert "\n" not in told[0]
    assert any(word in told[0] for word in ("try", "look at", "go on from"))


@pytest.mark.parametrize(("name", "change", "words"), OTHERS)
def test_further_signs(name, change, words):
    lines = then(change)
    assert 40 <= warned(name, lines)[0] <= 46
    assert any(words in (open_monitors({})[name](lines[:end]) or "") for end in range(40, 60))


@pytest.mark.parametrize("name", sorted(SIGNS))
def test_lines_without_its_metrics_and_no_lines_at_all_are_none_of_its_business(name):
    look = open_monitors({})[name]
    assert look([]) is None
    assert look([{"step": step, "test_success": 0.5} for step in range(50)]) is None
    nothing_finite = [dict.fromkeys(line, None) | {"step": line["step"]} for line in healthy(30)]
    assert (look(nothing_finite) is not None) == (name == "gradient_norm")


def test_success_that_came_with_the_length_is_no_fault():
    assert warned("length", then(lambda line: {"policy_tokens": 90.0, "success": 0.995}, steps=52)) == []


def test_a_policy_that_was_broken_at_once_is_seen_by_what_it_could_before():
    lines = [{"step": 0, "test_success": 0.44}, *({"step": step, "success": 0.0} for step in range(1, 20))]
    assert warned("success", lines)[0] == 5
    assert "before the first step" in (open_monitors({})["success"](lines) or "")
    assert warned("success", [{**line, "success": 0.2} for line in lines]) == []


def test_help_neither_disturbs_a_monitor_nor_calms_it():
    """Where every episode is helped there is no success to look at, and the length is that of help."""

    def helped(change):
        return then(lambda line: {**change, "helped": 1.0, "success": None})

    for tested, steps in ((0.95, []), (0.3, [40])):
        lines = [{"step": 0, "test_success": tested}, *helped({"entropy": 0.01})]
        assert [40 if 40 <= step <= 46 else step for step in warned("entropy", lines)[:1]] == steps
    assert warned("length", then(lambda line: {"policy_tokens": 120.0, "success": 0.3, "helped": 0.5})) == []
    assert warned("success", helped({})) == []
    gaps = [line if line["step"] % 2 else {**line, "success": None} for line in then(SIGNS["success"])]
    told = open_monitors({})["success"](gaps) or ""
    assert 20 < int(told.partition("around step ")[2].partition(":")[0]) < 40  # when it was at its best


def test_a_small_spread_of_solved_tasks_is_what_one_wants():
    assert warned("reward_spread", then(lambda line: {"reward_spread": 0.0, "success": 0.99})) == []
    assert warned("entropy", then(lambda line: {"entropy": 0.0, "success": 0.99})) == []


def test_thresholds_can_be_set_and_monitors_left_out():
    lines = then(SIGNS["mismatch"])
    assert warned("mismatch", lines, most=0.5) == []
    assert open_monitors({"mismatch.most": 0.5})["mismatch"](lines) is None
    assert open_monitors({"mismatch": True}).keys() == open_monitors({}).keys()
    assert "mismatch" not in open_monitors({"mismatch": False})


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"entropi": False}, "did you mean 'entropy'"),
        ({"entropy.fal": 0.1}, "did you mean 'fall'"),
        ({"entropy.fall": "low"}, "a number is needed"),
        ({"entropy": 3}, "monitors.entropy"),
    ],
)
def test_what_is_not_there_is_refused_by_name(table, told):
    with pytest.raises(ConfigError, match=told):
        open_monitors(table)
