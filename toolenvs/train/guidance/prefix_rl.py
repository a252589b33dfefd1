"""PrefixRL: the policy goes on from the first part of a solution that it is given, and is trained on what it adds.

Setlur et al. 2026, "Reuse your FLOPs: scaling RL on hard problems by conditioning on very off-policy prefixes": tasks
with the first h tokens of a right trace are trained on beside the tasks without, on-policy behind the prefix, whose
tokens carry no gradient; traces come from rejection sampling. h is to be such that the policy has a fair chance behind
it. How often a task gets a prefix and how long it is, are not published: the defaults here are ours.

A trace may act through tools. Its whole turns are replayed, their calls run again, so that the environment stands where
the trace led; the turn that h falls into is begun, and the policy goes on within it. All that was given has the mask's
third value and is judged no more than a replayed turn is. What a judge needs, such as the answer's tag, should
therefore lie behind the prefix.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from toolenvs.agents.prefilled import Beginning, Prefill
from toolenvs.codec import TokenCodec
from toolenvs.errors import ConfigError
from toolenvs.rollout import Trajectory
from toolenvs.rollout.agent import Request
from toolenvs.tasks.task import Task
from toolenvs.train.guidance._base import Guided, refuse_memory
from toolenvs.train.guidance.solutions import Solution, open_solutions
from toolenvs.train.rollouts.base import Host, Rollout
from toolenvs.train.streams import generator


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How prefixes are made."""

    solutions: str = "oracle"
    """Where solutions come from, see `solutions`."""
    shares: tuple[float, ...] = (0.25, 0.5, 0.75)
    """How much of a solution's tokens is given; one of them is drawn for each prompt."""
    prefixed: float = 0.5
    """How many of the prompts get a prefix, where they have a solution."""
    whole_turns: bool = False
    """Whether a prefix ends with a turn, and no turn is begun for the policy."""

    def __post_init__(self) -> None:
        if not self.shares or not all(0 < share < 1 for share in self.shares):
            raise ValueError(f"shares {list(self.shares)}: at least one is needed, each above 0 and below 1")
        if not 0 <= self.prefixed <= 1:
            raise ValueError(f"prefixed = {self.prefixed} is out of range: 0 to 1 is allowed")


class Guidance(Guided):
    """Gives some of the prompts the beginning of a solution.

    Args:
        run: whose tasks they are.
        rollout: makes the episodes.
        options: how prefixes are made.

    Raises:
        ConfigError: the rollout has beginnings of its own, the environment has no tokenizer, or every prompt gets a
            prefix in a run with a replay or ReLIFT.
    """

    def __init__(self, run: Host, rollout: Rollout, options: Options) -> None:
        super().__init__(run, rollout)
        if not rollout.takes_prefill:
            raise ConfigError("guidance 'prefix_rl' needs a rollout that takes prefixes: independent or tree")
        if run.env.codec is None:
            raise ConfigError("guidance needs an environment with a tokenizer")
        if options.prefixed == 1:
            refuse_memory(run, "prefix_rl")
        self._codec = run.env.codec
        self._options = options
        self._solutions = open_solutions(options.solutions, run)

    def collect(
        self, tasks: Sequence[Task], *, n: int, seed: int, progress: float = 0.0, prefill: Prefill | None = None
    ) -> list[Trajectory]:
        """See `Rollout.collect`."""
        options = self._options
        draws = generator("prefixes", seed)
        lot, which = draws.random(len(tasks)), draws.integers(len(options.shares), size=len(tasks))
        solutions = self._solutions.of(tasks)
        given = {
            place: turns
            for place, solution in enumerate(solutions)
            if solution is not None
            and lot[place] < options.prefixed
            and (turns := prefix(solution, options.shares[which[place]], self._codec, whole_turns=options.whole_turns))
        }

        def begin(request: Request) -> Beginning | None:
            turns = given.get(int(request.key.partition(".")[0]) // n, [])
            if request.turn <= len(turns):
                return turns[request.turn - 1]
            return prefill(request) if prefill is not None else None

        episodes = self._rollout.collect(tasks, n=n, seed=seed, progress=progress, prefill=begin)
        self.count("prefixed", [float(place in given) for place in range(len(tasks))])
        self.count("prefix_tokens", [float(sum(len(turn.ids) for turn in turns)) for turns in given.values()])
        for one in episodes:
            if not one.failed:
                name = "prefixed_success" if int(one.group) in given else "unprefixed_success"
                self.count(name, [float(one.success or 0.0)])
        return [replace(one, guidance="prefix") if int(one.group) in given else one for one in episodes]


def prefix(solution: Solution, share: float, codec: TokenCodec, *, whole_turns: bool = False) -> list[Beginning]:
    """The first part of a solution's tokens, turn by turn; at least one token is left to the policy."""
    turns = [tuple(codec.encode(codec.fit(turn))) for turn in solution.turns]
    left = min(int(share * sum(map(len, turns))), sum(map(len, turns)) - 1)
    given: list[Beginning] = []
    for ids in turns:
        if len(ids) <= left and ids:
            given.append(Beginning(ids=ids, whole=True))
        else:
            if left > 0 and not whole_turns:
                given.append(Beginning(ids=ids[:left]))
            break
        left -= len(ids)
    return given
