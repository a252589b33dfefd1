"""Trajectories made by hand, for tests of what reads them."""

from typing import Any

from toolenvs.rollout.trajectory import Trajectory
from toolenvs.transcript import Transcript


def trajectory(**changes: Any) -> Trajectory:
    """An episode of one turn that was right, with no text and no tokens, but for what is given; of its own group."""
    task = changes.get("task", "t")
    plain = {
        "key": "0",
        "group": task,
        "env": "E-v0",
        "task": task,
        "question": "",
        "golds": (),
        "seed": 0,
        "transcript": Transcript(),
        "tokens": None,
        "turn_rewards": (1.0,),
        "reward_terms": {},
        "ending": "answer",
        "success": 1.0,
    }
    return Trajectory(**{**plain, **changes})
