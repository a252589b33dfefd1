"""Episodes x agent, asynchronously, to trajectories."""

from toolenvs.rollout.agent import Action, Agent, Request
from toolenvs.rollout.collect import collect, run_episode
from toolenvs.rollout.files import TrajectoryWriter, read_trajectories
from toolenvs.rollout.trajectory import Trajectory
from toolenvs.rollout.tries import Try, number_of, run_tries

__all__ = [
    "Action",
    "Agent",
    "Request",
    "Trajectory",
    "TrajectoryWriter",
    "Try",
    "collect",
    "number_of",
    "read_trajectories",
    "run_episode",
    "run_tries",
]
