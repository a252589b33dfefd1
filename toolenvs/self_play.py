"""Search self-play: episodes of a proposer become tasks of a solver, and the solver's episodes pay the proposer.

    proposed = await collect(proposer_env, policy, seeds)            # judge.solver.name = "": nobody tries them yet
    tasks = solver_tasks(proposed)
    solved = await collect(solver_env, policy, tasks, n=5)
    proposed = paid(proposed, solved)                                # 1 - success rate, on the question's last turn

`SSPProposer-v0` and `SSPSolver-v0` are the two environments; `baselines/self_play.py` is the loop.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from toolenvs import blueprint
from toolenvs.errors import ConfigError, JudgeError
from toolenvs.rewards.blocks import blocks
from toolenvs.rewards.proposals import Form, payment, queries, written
from toolenvs.rollout import Agent, Trajectory, collect
from toolenvs.tasks.seeding import Draws
from toolenvs.tasks.task import Task

TERM = "ssp_proposer"
"""The part of a proposer's reward that `paid` sets."""
_SOURCE = "ssp"
_SEEDS = 1 << 20


class AgentSolver:
    """An agent that tries proposed questions, as a `Solver` of the judge "proposal".

        proposer.judge.solver = AgentSolver(agent)

    An `EngineAgent` must not be the proposer's own object: its batches wait for every running episode, and the
    proposer's waits for the solver. Give another one over another engine, or solve in a batch, as the module says.

    Args:
        agent: who acts.
        env: the solver's environment; SSPSolver-v0 by default, with `overrides`.
        overrides: keys of the page.
    """

    def __init__(self, agent: Agent, env: blueprint.Blueprint | None = None, **overrides: Any) -> None:
        self._agent = agent
        self._env = env or blueprint.load("SSPSolver-v0", **overrides)

    async def solve(self, task: Task, *, n: int, seed: int) -> list[float]:
        """Correctness of each try.

        Raises:
            JudgeError: infrastructure ended a try, twice.
        """
        tries = await collect(self._env, self._agent, [task], n=n, seed=seed % _SEEDS)
        failed = next((trajectory for trajectory in tries if trajectory.failed), None)
        if failed is not None:
            raise JudgeError(f"the solver of {task.id!r} failed: {failed.fault}")
        return [trajectory.success or 0.0 for trajectory in tries]


def is_valid(trajectory: Trajectory) -> bool:
    """Whether a proposer's episode ended with a valid question."""
    return not trajectory.failed and trajectory.success == 1


def solver_tasks(
    trajectories: Iterable[Trajectory], *, question: str = "question", search: str = "search"
) -> list[Task]:
    """A task for each valid proposal, in order: its question, and the proposer's answer as gold.

    Args:
        trajectories: of a proposer, judged by "proposal"; others than valid ones are passed over.
        question: the tag that the proposal stands in.
        search: the tag of the proposer's queries, which `extra["queries"]` holds.

    Raises:
        ConfigError: a valid episode holds no proposal: it is no proposer's, or has other tags.
    """
    tasks = []
    for trajectory in trajectories:
        if not is_valid(trajectory):
            continue
        asked = [text.strip() for name, text in blocks(written(trajectory.transcript), (question,)) if text.strip()]
        if not asked:
            raise ConfigError(
                f"the episode {trajectory.key!r} of {trajectory.env} proposes nothing in <{question}> tags; give the "
                "trajectories of a proposer, and its tags"
            )
        found = queries(trajectory.transcript, search)
        extra = {"queries": found, "searches": len(found)}
        tasks.append(
            Task(
                id=proposal_id(trajectory),
                question=asked[-1],
                golds=trajectory.golds,
                source=_SOURCE,
                extra=extra,
            )
        )
    return tasks


def proposal_id(trajectory: Trajectory) -> str:
    """Identity of a proposal: the seed answer's task, and the episode."""
    return f"{trajectory.task}/{trajectory.key}"


def paid(
    proposed: Sequence[Trajectory],
    solved: Iterable[Trajectory],
    form: Form = "failure",
    *,
    left: float = 0.0,
    right: float = 1.0,
) -> list[Trajectory]:
    """The proposer's trajectories with what the solver's tell: `payment` of the success rate, paid at the end.

    Whatever else an episode earned stays. Invalid proposals keep the reward that they have. A valid one that
    infrastructure kept the solver from trying is an infrastructure failure itself: what it earns is not known.

    Args:
        proposed: the proposer's episodes.
        solved: the solver's, on `solver_tasks(proposed)` and whatever else.
        form: see `toolenvs.rewards.proposals.payment`.
        left: as there.
        right: as there.
    """
    tries: dict[str, list[float]] = {}
    for trajectory in solved:
        if not trajectory.failed:
            tries.setdefault(trajectory.task, []).append(trajectory.success or 0.0)
    return [
        _paid(trajectory, tries.get(proposal_id(trajectory), []), form, left, right)
        if is_valid(trajectory)
        else trajectory
        for trajectory in proposed
    ]


def _paid(trajectory: Trajectory, tries: list[float], form: Form, left: float, right: float) -> Trajectory:
    if not tries:
        return replace(
            trajectory,
            ending="infrastructure",
            success=None,
            turn_rewards=tuple(0.0 for _ in trajectory.turn_rewards),
            reward_terms={},
            fault="nobody tried the proposed question to its end",
        )
    earned = payment(tries, form, left=left, right=right)
    *before, last = trajectory.turn_rewards
    last += earned - trajectory.reward_terms.get(TERM, 0.0)
    return replace(trajectory, turn_rewards=(*before, last), reward_terms={**trajectory.reward_terms, TERM: earned})


class Pool:
    """Valid questions of earlier steps; they stand in for proposals that failed, so that the solver's batch is full.

    Args:
        steps: after so many calls the pool is emptied; 10 in SSP's scripts.
        seed: of what is drawn.
    """

    def __init__(self, *, steps: int = 10, seed: int = 0) -> None:
        if steps < 1:
            raise ConfigError(f"steps = {steps}: a pool lives for at least 1 step")
        self._steps, self._seed = steps, seed
        self._tasks: dict[str, Task] = {}
        self._calls = 0

    def __len__(self) -> int:
        return len(self._tasks)

    def fill(self, tasks: Sequence[Task], size: int) -> list[Task]:
        """`tasks`, and behind them as many earlier ones as `size` leaves room for and the pool holds.

        Args:
            tasks: of this step; they join the pool afterwards.
            size: of the solver's batch; `tasks` are never cut.
        """
        draws, own = Draws("pool", self._seed, self._calls), {task.id for task in tasks}
        earlier = [task for task in self._tasks.values() if task.id not in own]
        missing = min(max(size - len(tasks), 0), len(earlier))
        filled = [*tasks, *draws.sample(earlier, missing)]
        self._calls += 1
        if self._calls % self._steps == 0:
            self._tasks.clear()
        else:
            self._tasks.update({task.id: task for task in tasks})
        return filled
