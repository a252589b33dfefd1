"""Serves an environment by OpenEnv's own server, in an environment that has the package; prints its port.

It counts to a number that its seed decides, and pays for each step that is no number too far.
"""

import contextlib
import socket

import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_app


class Add(Action):
    by: str


class Sum(Observation):
    line: str
    reached: bool = False


class Adding(Environment[Add, Sum, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self.goal, self.sum, self.steps = 5, 0, 0

    def reset(self, seed: int | None = None, episode_id: str | None = None, goal: int = 0, **kwargs: object) -> Sum:
        self.goal, self.sum, self.steps = goal or 3 + (seed or 0) % 5, 0, 0
        return Sum(line=f"{self.sum} of {self.goal}")

    def step(self, action: Add, timeout_s: float | None = None, **kwargs: object) -> Sum:
        self.steps += 1
        self.sum += int(action.by)  # what is no number is the server's failure
        reached = self.sum == self.goal
        done = self.sum >= self.goal
        return Sum(line=f"{self.sum} of {self.goal}", reached=reached, done=done, reward=float(reached))

    @property
    def state(self) -> State:
        return State(step_count=self.steps)


if __name__ == "__main__":
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:
        app = create_app(Adding, Add, Sum, env_name="adding", max_concurrent_envs=4)
        print(listener.getsockname()[1], flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
