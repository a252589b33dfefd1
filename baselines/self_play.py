"""Search self-play (SSP) in one loop: a proposer writes questions for answers, a solver tries them, both are paid.

    python baselines/self_play.py --steps 3

Scripts stand in for the policy, which in SSP (arXiv:2510.18821) plays both sides: the proposer knows a chain of facts
that leads to each answer, the solver searches and reads without a model. A trainer updates on `proposals` and on
`solved` where this loop prints.
"""

import argparse
import asyncio
import re
from collections.abc import Sequence

import toolenvs
from toolenvs.agents.scripted import Oracle
from toolenvs.rewards.chains import Chains
from toolenvs.rollout import Action, Agent, Request, collect
from toolenvs.self_play import Pool, paid, solver_tasks
from toolenvs.tasks.seeding import Draws

_PASSAGE = re.compile(r"Doc \d+\(Title: .*")


class Reading:
    """A solver that searches for the question, then for what it read, as long as its patience lasts.

    Args:
        searches: of the most patient episode.
    """

    def __init__(self, searches: int = 4) -> None:
        self._searches = searches

    async def act(self, request: Request) -> Action:
        """Search for what was read last; answer with it when that is nothing new, or patience is spent."""
        found = "\n".join(_PASSAGE.findall(request.text))
        said = await Chains().read(request.task.question, found) if request.turn > 1 else request.task.question
        patience = Draws("patience", request.task.id, request.key).between(1, self._searches)
        again = f"<search>{said}</search>" in request.text
        return Action(
            text=f"<answer>{said}</answer>" if request.turn > patience or again else f"<search>{said}</search>"
        )

    def release(self, key: str) -> None:
        """Nothing is kept."""


async def self_play(*, steps: int, batch: int, tries: int) -> list[dict[str, float]]:
    """The loop; what came of each step."""
    proposing = toolenvs.load("SSPProposer-v0", **{"judge.solver": {"name": ""}})  # questions are tried in a batch
    solving = toolenvs.load("SSPSolver-v0")
    proposer: Agent = Oracle(proposing)
    solver: Agent = Reading()
    pool, told = Pool(steps=10), []
    for step in range(steps):
        seeds = [proposing.tasks[step * batch + index] for index in range(batch)]
        proposals = await collect(proposing, proposer, seeds, seed=step)
        questions = pool.fill(solver_tasks(proposals), size=batch)
        solved = await collect(solving, solver, questions, n=tries, seed=step)
        proposals = paid(proposals, solved)
        # here a trainer updates the policy: on `proposals`, then on `solved`, the tries of a question being a group
        figures = {
            "valid": sum(proposal.success == 1 for proposal in proposals) / batch,
            "questions": len(questions),
            "solver_success": sum(trajectory.success or 0.0 for trajectory in solved) / max(len(solved), 1),
            "proposer_reward": sum(proposal.reward for proposal in proposals) / batch,
        }
        print(f"step {step + 1}: " + ", ".join(f"{name} {value:.2f}" for name, value in figures.items()))
        told.append(figures)
    return told


def main(arguments: Sequence[str] | None = None) -> list[dict[str, float]]:
    """Run the loop."""
    parser = argparse.ArgumentParser(description="Search self-play with scripts on both sides.")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32, help="answers that a step writes questions for")
    parser.add_argument("--tries", type=int, default=5, help="of each question")
    options = parser.parse_args(arguments)
    return asyncio.run(self_play(steps=options.steps, batch=options.batch, tries=options.tries))


if __name__ == "__main__":
    main()
