"""Episodes x agent, asynchronously, to trajectories."""

from toolenvs.rollout.agent import Action, Agent, Request
from toolenvs.rollout.collect import collect, run_episode
from toolenvs.rollout.files import TrajectoryWriter, read_trajectories
from toolenvs.rollout.trajectory import Trajectory

__all__ = [
    "Action",
    "Agent",
    "Request",
    "Trajectory",
    "TrajectoryWriter",
    "collect",
    "read_trajectories",
    "run_episode",
]
