"""QuestA: questions are shown with the first part of their solution, of which less is shown as training goes on.

Li et al. 2025, "QuestA: expanding reasoning capacity in LLMs via question augmentation". Their script cuts characters
off the solution behind the reasoning, writes "## Hint." between question and hint, and leaves out a hint of less than
10 characters; 50 % of the solution is shown in the first stage of training and 25 % in the second. There a stage ends
when its curve is flat; here all are equally long. What is trained on is the episode as it was sampled, hint and all:
the hint is part of the prompt.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from toolenvs.agents.prefilled import Prefill
from toolenvs.rollout import Trajectory
from toolenvs.tasks.task import Task
from toolenvs.train.guidance._base import Guided, refuse_memory
from toolenvs.train.guidance._hints import HintOptions
from toolenvs.train.guidance.solutions import open_solutions
from toolenvs.train.rollouts.base import Host, Rollout


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(HintOptions):
    """See `HintOptions`."""


class Guidance(Guided):
    """Rolls out every task with its hint, where it has one.

    Args:
        run: whose tasks they are.
        rollout: makes the episodes.
        options: how hints are made.

    Raises:
        ConfigError: the run has a replay or ReLIFT.
    """

    def __init__(self, run: Host, rollout: Rollout, options: Options) -> None:
        super().__init__(run, rollout)
        refuse_memory(run, "questa")
        self._options = options
        self._solutions = open_solutions(options.solutions, run)

    def collect(
        self, tasks: Sequence[Task], *, n: int, seed: int, progress: float = 0.0, prefill: Prefill | None = None
    ) -> list[Trajectory]:
        """See `Rollout.collect`."""
        share = self._options.share(progress)
        hints = self._options.hinted(tasks, self._solutions.of(tasks), share)
        shown = [hint or task for hint, task in zip(hints, tasks, strict=True)]
        episodes = self._rollout.collect(shown, n=n, seed=seed, progress=progress, prefill=prefill)
        self.count("hinted", [float(hint is not None) for hint in hints])
        self.count("hint_share", [share])
        helped = [one for one in episodes if hints[int(one.group)] and not one.failed]
        self.count("hinted_success", [float(one.success or 0.0) for one in helped])
        return [replace(one, guidance="hint") if hints[int(one.group)] else one for one in episodes]
