"""Guide: tasks that every episode failed at are tried again with a hint, and learned from as if there had been none.

Nath et al. 2025, "Adaptive guidance accelerates reinforcement learning of reasoning models". The hint h is in the
prompt only while its episodes are sampled. What is trained on is the same tokens behind the prompt q without it, and
the ratio of the loss is pi(o | q) / pi_old(o | q, h): the numerator is scored without the hint, the denominator is what
the sampler said with it. Episodes with a hint join the group of those without, so that they are compared with one
another; this, and that a hint is the beginning of a solution, is of this file: the paper's hints are a model's words,
which a file of `solutions` may hold, with `shares = [1.0]`.

Needs the sampler's log-probabilities: they are the denominator. With `recompute_logprobs` the trainer's take their
place, and the rest of the ratio must come from the correction between trainer and sampler (`correction_cap`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from toolenvs.agents.prefilled import Prefill
from toolenvs.blueprint import Blueprint
from toolenvs.errors import ConfigError
from toolenvs.rollout import Trajectory
from toolenvs.tasks.task import Task
from toolenvs.train.guidance._base import Guided
from toolenvs.train.guidance._hints import HintOptions
from toolenvs.train.guidance.solutions import open_solutions
from toolenvs.train.rollouts.base import Host, Rollout
from toolenvs.train.streams import seed_of
from toolenvs.train.trajectories import REMOVED_HINT
from toolenvs.transcript import Author, Segment, Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(HintOptions):
    """See `HintOptions`."""

    shares: tuple[float, ...] = (0.5,)
    """How much of a solution's characters is shown, in one equal part of the run after the other."""


class Guidance(Guided):
    """Rolls out every task, and those that nobody solved once more with a hint.

    Args:
        run: whose tasks they are.
        rollout: makes the episodes.
        options: how hints are made.

    Raises:
        ConfigError: the run puts other log-probabilities in the sampler's place.
    """

    def __init__(self, run: Host, rollout: Rollout, options: Options) -> None:
        super().__init__(run, rollout)
        settings = run.settings
        if settings.recompute_logprobs and not settings.correction_cap:
            raise ConfigError(
                "guidance 'guide' weighs tokens by what the sampler said with the hint, and recompute_logprobs drops "
                "that: leave it out, or set correction_cap above 0"
            )
        if not getattr(settings, "mask_observations", True):
            raise ConfigError("guidance 'guide' and mask_observations = false do not go together: tokens are rescored")
        self._options = options
        self._solutions = open_solutions(options.solutions, run)

    def collect(
        self, tasks: Sequence[Task], *, n: int, seed: int, progress: float = 0.0, prefill: Prefill | None = None
    ) -> list[Trajectory]:
        """See `Rollout.collect`; of a task that was tried again there are twice as many episodes."""
        groups: list[list[Trajectory]] = [[] for _ in tasks]
        for one in self._rollout.collect(tasks, n=n, seed=seed, progress=progress, prefill=prefill):
            groups[int(one.group)].append(one)
        failing = [place for place, members in enumerate(groups) if _all_failed(members)]
        unsolved = [tasks[place] for place in failing]
        hints = self._options.hinted(unsolved, self._solutions.of(unsolved), self._options.share(progress))
        helped = {place: hint for place, hint in zip(failing, hints, strict=True) if hint is not None}
        self.count("unsolved", [float(place in failing) for place in range(len(tasks))])
        self.count("hinted", [float(place in helped) for place in range(len(tasks))])
        if helped:
            again = seed_of("hinted rollout", seed)
            places = list(helped)
            for one in self._rollout.collect(
                list(helped.values()), n=n, seed=again, progress=progress, prefill=prefill
            ):
                place = places[int(one.group)]
                groups[place].append(_joined(without_hint(one, self._run.env, tasks[place]), place))
                if not one.failed:
                    self.count("hinted_success", [float(one.success or 0.0)])
        return [one for members in groups for one in members]


def _all_failed(members: Sequence[Trajectory]) -> bool:
    """Whether nobody solved the task; what infrastructure ended says nothing about it."""
    whole = [member for member in members if not member.failed]
    return bool(whole) and not any(member.success for member in whole)


def _joined(episode: Trajectory, place: int) -> Trajectory:
    """The episode in the group of those without a hint, under keys of its own."""
    return replace(
        episode,
        key=f"{episode.key}h",
        group=str(place),
        guidance=REMOVED_HINT,
        sampled_by=tuple(f"{key}h" for key in episode.sampled_by),
    )


def without_hint(episode: Trajectory, env: Blueprint, task: Task) -> Trajectory:
    """The same episode behind the prompt of `task`; log-probabilities stay those that it was sampled with.

    Raises:
        ConfigError: the environment has no tokenizer.
    """
    if env.codec is None or episode.tokens is None:
        raise ConfigError("guidance needs an environment with a tokenizer")
    prompt = Segment(Author.PROMPT, env.render_prompt(task))
    ids = env.codec.encode(prompt.text, verbatim=prompt.verbatim)
    return replace(
        episode,
        question=task.question,
        transcript=Transcript((prompt,)).append(episode.transcript.segments[1:]),
        tokens=episode.tokens.with_prompt(ids),
        earlier=tuple(tokens.with_prompt(ids) for tokens in episode.earlier),
    )
