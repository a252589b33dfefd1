"""Sokoban: its rules and rewards by hand, levels by a search that goes the other way round."""

import copy
import subprocess
import sys
import warnings

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from toolenvs.errors import ConfigError
from toolenvs.games import Sokoban
from toolenvs.games.sokoban_levels import MOVES, Level, draw_level, read_level, solve
from toolenvs.tasks.seeding import Draws

CORRIDOR = ["#######", "#@ $ .#", "#######"]
UP, DOWN, LEFT, RIGHT = range(4)


def shortest(level: Level, most: int) -> int | None:
    """Moves of the shortest solution, searched forward."""
    seen = {(level.player, level.boxes)}
    frontier = list(seen)
    for moves in range(most + 1):
        if any(boxes == level.targets for _, boxes in frontier):
            return moves
        frontier = list({level.move(state, step) for state in frontier for step in MOVES.values()} - seen)
        seen.update(frontier)
    return None


def test_it_is_a_gymnasium_environment() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for env in (Sokoban(), Sokoban(CORRIDOR), Sokoban(width=8, height=7, boxes=2, max_moves=12)):
            check_env(env, skip_render_check=True)
        check_env(Sokoban(render_mode="ansi"), skip_render_check=True)


def test_a_level_is_played() -> None:
    env = Sokoban(CORRIDOR, render_mode="ansi")
    observation, info = env.reset(seed=0)
    assert env.render() == "# # # # # # #\n# P _ X _ O #\n# # # # # # #"
    assert observation[1].tolist() == [0, 5, 1, 4, 1, 2, 0]
    assert info == {"success": False, "moved": False}
    told = [env.step(action)[1:] for action in (LEFT, UP, RIGHT, RIGHT)]
    assert told == [
        (-0.1, False, False, {"success": False, "moved": False}),
        (-0.1, False, False, {"success": False, "moved": False}),
        (-0.1, False, False, {"success": False, "moved": True}),
        (-0.1, False, False, {"success": False, "moved": True}),
    ]
    observation, reward, terminated, truncated, info = env.step(RIGHT)
    assert reward == pytest.approx(-0.1 + 1 + 10)
    assert (terminated, truncated, info["success"]) == (True, False, True)
    assert env.render() == "# # # # # # #\n# _ _ _ P √ #\n# # # # # # #"


def test_a_box_that_leaves_its_target_costs_what_it_brought() -> None:
    env = Sokoban(["########", "#@$.$ .#", "########"], render_mode="ansi")
    env.reset()
    paid = [env.step(RIGHT)[1] for _ in range(2)]  # onto the first target; then two boxes in a row do not move
    assert paid == [pytest.approx(0.9), pytest.approx(-0.1)]
    env = Sokoban(["#########", "#@$. $ .#", "#########"])
    env.reset()
    assert [round(env.step(RIGHT)[1], 9) for _ in range(3)] == [0.9, -1.1, -0.1]


def test_the_player_stands_on_a_target_too() -> None:
    env = Sokoban(["######", "#+$$.#", "######"], render_mode="ansi", symbols="W.GCBA@")
    env.reset()
    assert str(env.render()).splitlines()[1] == "W @ B B G W"


def test_an_episode_is_truncated_and_never_both() -> None:
    env = Sokoban(CORRIDOR, max_steps=3)
    env.reset()
    assert [env.step(action)[2:4] for action in (RIGHT, RIGHT, RIGHT)] == [
        (False, False),
        (False, False),
        (True, False),
    ]
    env.reset()
    assert [env.step(LEFT)[2:4] for _ in range(3)][-1] == (False, True)


def test_copies_go_their_own_ways() -> None:
    env = Sokoban(CORRIDOR)
    env.reset()
    env.step(RIGHT)
    other = copy.deepcopy(env)
    env.step(RIGHT)
    assert other.step(LEFT)[0][1].tolist() == [0, 5, 1, 4, 1, 2, 0]
    assert env.step(RIGHT)[2]


@given(seed=st.integers(0, 10**6), boxes=st.integers(1, 2), least=st.integers(1, 4), side=st.integers(5, 7))
@settings(max_examples=25, deadline=None)
def test_drawn_levels_take_the_moves_that_are_said(seed: int, boxes: int, least: int, side: int) -> None:
    drawn = {"width": side, "height": 6, "boxes": boxes, "min_moves": least, "max_moves": 8}
    level, moves = draw_level(Draws("test", seed), **drawn)
    assert (level, moves) == draw_level(Draws("test", seed), **drawn)
    assert least <= len(moves) <= 8
    assert not level.boxes & level.targets
    assert read_level(level.rows) == level
    assert {len(row) for row in level.rows} == {side}
    assert all(row[0] == row[-1] == "#" for row in level.rows)
    assert shortest(level, 8) == len(moves) == len(solve(level) or ())
    env = Sokoban(level.rows)
    env.reset()
    assert [env.step(list(MOVES).index(move))[2] for move in moves] == [False] * (len(moves) - 1) + [True]


def test_levels_are_of_all_lengths() -> None:
    lengths = {len(draw_level(Draws("lengths", seed), max_moves=10)[1]) for seed in range(60)}
    assert len(lengths) >= 8


def test_what_cannot_be_solved_has_no_solution() -> None:
    assert solve(read_level(["#####", "#$ .#", "# @ #", "#####"])) is None  # in a corner
    assert solve(read_level(CORRIDOR), most=2) is None
    assert solve(read_level(["####", "#@*#", "####"])) == []


def test_resets_draw_levels_from_their_seed() -> None:
    one, other = Sokoban(), Sokoban()
    assert np.array_equal(one.reset(seed=5)[0], other.reset(seed=5)[0])
    grids = {one.reset()[0].tobytes() for _ in range(5)}
    assert len(grids) >= 4
    assert {other.reset()[0].tobytes() for _ in range(5)} == grids


def test_levels_are_the_same_in_every_process() -> None:
    code = (
        "from toolenvs.games.sokoban_levels import draw_level; from toolenvs.tasks.seeding import Draws; "
        "print(draw_level(Draws('process'), width=7, height=7, boxes=2, max_moves=9)[0].rows)"
    )
    level, _ = draw_level(Draws("process"), width=7, height=7, boxes=2, max_moves=9)
    told = subprocess.run([sys.executable, "-c", code], env={"PYTHONHASHSEED": "4242"}, capture_output=True, text=True)
    assert told.stdout.strip() == str(level.rows), told.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"level": ["#@$?#"]}, "'\\?' is nothing in Sokoban"),
        ({"level": ["#@$ #"]}, "1 players, 1 boxes and 0 targets"),
        ({"level": ["#$. #"]}, "0 players"),
        ({"level": ["#@ #"]}, "0 boxes"),
        ({"level": []}, "0 players"),
        ({"symbols": "##OXPSA"}, "7 different"),
        ({"max_steps": 0}, "max_steps is 0"),
        ({"width": 3}, "width is 3; give 4 to 16"),
        ({"boxes": True}, "boxes is True"),
        ({"min_moves": 5, "max_moves": 4}, "max_moves is 4; give 5 to"),
        ({"width": 4, "height": 4, "boxes": 4}, "of 1000 rooms"),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Sokoban(**options)  # type: ignore[arg-type]
