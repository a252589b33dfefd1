"""SPEC-RL: the last rollout of a prompt is a draft of the next one; what the policy still agrees with is kept.

Liu et al. 2025, "SPEC-RL: accelerating on-policy reinforcement learning with speculative rollouts". Each token x of the
draft is accepted where log u <= min(0, log pi(x) - log pi_draft(x) + b), u uniform in (0, 1]; e^b is the lenience, of
which their script has b = 0.5. The first token that is not accepted ends the draft, and the policy samples from there.
Accepted tokens are trained on as if they had been sampled now, with the log-probabilities that the policy gives them
now. It is no exact sampling: also with b = 0 a rejected token is drawn anew from pi and not from what is left of it.

An episode with tools is verified as a whole, in one pass of the trainer over its tokens, and then played again turn by
turn: its calls are run again, so the environment is live wherever the policy takes over. A draft holds as long as the
policy reads, token for token, what it read when the draft was made; where a tool says something else, what was drafted
behind it is dropped. Drafts are kept by prompt and number within the group, the newest of each, and are part of a
checkpoint. One that was made in the same step is no draft: it would be accepted whole, and an episode count twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from toolenvs.agents.prefilled import Beginning, Prefill, Prefilled
from toolenvs.errors import ConfigError
from toolenvs.rollout import Trajectory, collect
from toolenvs.rollout.agent import Request
from toolenvs.tasks.task import Task
from toolenvs.tokens import Mask, Span, TokenTranscript
from toolenvs.train import ranks
from toolenvs.train.batching import TokenSequence, pad
from toolenvs.train.rollouts import base
from toolenvs.train.streams import generator
from toolenvs.transcript import Author

_ARRAYS = ("ids", "mask", "logprobs", "versions")
_Key = tuple[str, str, int]
"""A task's id, its question as it was shown, and the number of the episode in its group."""
_Kept = dict[int, tuple[tuple[int, ...], Beginning]]
"""By turn: what must have been read before, and what is kept of the turn itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How much is reused."""

    lenience: float = 0.5
    """b, the logarithm of the lenience; below 0 less is accepted."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An earlier episode of a prompt."""

    sequences: tuple[TokenTranscript, ...]
    unfinished: bool
    """Whether a limit on length ended it, so that its last token may not be the last of its turn."""
    progress: float
    """When it was made."""

    @property
    def turns(self) -> list[tuple[int, Span]]:
        """Where the policy's turns stand, each where it was sampled: the sequence's place and the span there."""
        found: list[tuple[int, Span]] = []
        for place, tokens in enumerate(self.sequences):
            last = found[-1][1].turn if found else 0
            found += [(place, span) for span in tokens.spans if span.author is Author.POLICY and span.turn > last]
        return found


def accepted(
    old: NDArray[np.floating[Any]], new: NDArray[np.floating[Any]], draws: NDArray[np.floating[Any]], lenience: float
) -> int:
    """How many of the first tokens of a draft are kept.

    Args:
        old: log-probability of each token under the policy that drafted it, [T].
        new: the same under the policy as it is, [T].
        draws: of each token, uniform in (0, 1], [T].
        lenience: b.
    """
    refused = np.log(draws) > np.minimum(0.0, new - old + lenience)
    return int(np.argmax(refused)) if refused.any() else len(refused)


class Rollout(base.Rollout):
    """See `base.Rollout`."""

    takes_prefill = False

    def __init__(self, run: base.Host, options: Options) -> None:
        if run.env.codec is None:
            raise ConfigError("rollout 'spec_rl' needs an environment with a tokenizer")
        self._run = run
        self._lenience = options.lenience
        self._drafts: dict[_Key, Draft] = {}
        self._counts = dict.fromkeys(("episodes", "drafts", "whole", "written", "reused"), 0)

    def collect(
        self, tasks: Sequence[Task], *, n: int, seed: int, progress: float = 0.0, prefill: Prefill | None = None
    ) -> list[Trajectory]:
        """See `base.Rollout.collect`; `prefill` must be None."""
        if prefill is not None:
            raise ConfigError("rollout 'spec_rl' begins turns with drafts: nothing else can")
        run, counts = self._run, self._counts
        drafts: dict[int, Draft] = {}
        for index in range(len(tasks) * n):
            draft = self._drafts.get((tasks[index // n].id, tasks[index // n].question, index % n))
            if draft is not None and draft.progress != progress:
                drafts[index] = draft
        verified = self._verify(drafts, seed)
        used: dict[str, int] = {}

        def begin(request: Request) -> Beginning | None:
            context, beginning = verified.get(_index(request.key), {}).get(request.turn, ((), None))
            if beginning is None or tuple(request.ids or ()) != context:
                return None
            used[request.key] = used.get(request.key, 0) + len(beginning.ids)
            return beginning

        agent = Prefilled(run.agent, begin)
        episodes = run.play(
            len(tasks), lambda part: collect(run.env, agent, tasks, n=n, seed=seed, progress=progress, part=part)
        )
        for theirs in ranks.gather(dict(used)):  # each process has played its part
            used |= theirs
        for one in episodes:
            if one.failed or one.tokens is None:
                continue
            draft = Draft(one.sequences, one.ending == "length", progress)
            self._drafts[one.task, one.question, _index(one.key) % n] = draft
            written = sum(span.end - span.start for _, span in draft.turns)
            counts["episodes"] += 1
            counts["written"] += written
            counts["reused"] += used.get(one.key, 0)
            counts["drafts"] += _index(one.key) in drafts
            counts["whole"] += 0 < written == used.get(one.key, 0)
        return episodes

    def _verify(
        self, drafts: Mapping[int, Draft], seed: int
    ) -> dict[int, dict[int, tuple[tuple[int, ...], Beginning]]]:
        """What is kept of each draft, by turn: what must have been read before, and what is kept of the turn itself."""
        sequences: list[TokenSequence] = []
        places: dict[tuple[int, int], int] = {}
        for index, draft in drafts.items():
            for place, tokens in enumerate(draft.sequences):
                mask = np.zeros(len(tokens), dtype=np.int8)
                for _, span in (turn for turn in draft.turns if turn[0] == place):
                    mask[span.start : span.end] = Mask.POLICY
                places[index, place] = len(sequences)
                sequences.append(TokenSequence.of(tokens.ids, mask))
        if not sequences:
            return {}
        scores = self._run.updater.rescore(pad(sequences, self._run.device)).float().cpu().numpy()  # [B, T]
        kept: dict[int, _Kept] = {}
        for index, draft in drafts.items():
            spans = [(draft.sequences[place], scores[places[index, place]], span) for place, span in draft.turns]
            if not spans:
                continue
            old = np.concatenate([tokens.logprobs[span.start : span.end] for tokens, _, span in spans])
            new = np.concatenate([scored[span.start : span.end] for _, scored, span in spans])
            draws = 1 - generator("drafts", seed, index).random(len(old))  # in (0, 1]
            left = min(accepted(old, new, draws, self._lenience), len(old) - draft.unfinished)
            for tokens, scored, span in spans:
                size = min(span.end - span.start, left)
                left -= size
                if size:
                    ids = tokens.ids.tolist()
                    beginning = Beginning(
                        ids=tuple(ids[span.start : span.start + size]),
                        logprobs=tuple(np.minimum(scored[span.start : span.start + size], 0.0).tolist()),
                        whole=size == span.end - span.start,
                    )
                    kept.setdefault(index, {})[span.turn] = tuple(ids[: span.start]), beginning
                if size < span.end - span.start:
                    break
        return kept

    def metrics(self) -> dict[str, float]:
        """What drafts saved.

        `drafted`, the share of episodes with a draft; `draft_whole`, of these those that were kept whole;
        `reused_tokens`, tokens an episode that were not sampled; `reused_share`, their share of the policy's tokens.
        """
        counts, self._counts = self._counts, dict.fromkeys(self._counts, 0)
        episodes = max(counts["episodes"], 1)
        return {
            "drafted": counts["drafts"] / episodes,
            "draft_whole": counts["whole"] / max(counts["drafts"], 1),
            "reused_tokens": counts["reused"] / episodes,
            "reused_share": counts["reused"] / max(counts["written"], 1),
        }

    def parts(self) -> Mapping[str, Any]:
        """See `base.Rollout.parts`."""
        return {"drafts": self}

    def state_dict(self) -> dict[str, Any]:
        """The drafts."""
        drafts = []
        for key, draft in self._drafts.items():
            sequences = []
            for tokens in draft.sequences:
                data = tokens.to_json()
                kinds = (torch.int64, torch.int8, torch.float64, torch.int64)
                arrays = {name: torch.tensor(data[name], dtype=kind) for name, kind in zip(_ARRAYS, kinds, strict=True)}
                sequences.append(arrays | {"spans": data["spans"]})
            drafts.append(
                {"key": list(key), "sequences": sequences, "unfinished": draft.unfinished, "progress": draft.progress}
            )
        return {"drafts": drafts}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self._drafts = {}
        for saved in state["drafts"]:
            task, question, number = saved["key"]
            sequences = tuple(
                TokenTranscript.from_json(
                    {name: value if name == "spans" else value.tolist() for name, value in data.items()}
                )
                for data in saved["sequences"]
            )
            self._drafts[task, question, number] = Draft(sequences, saved["unfinished"], saved["progress"])


def _index(key: str) -> int:
    """The place of an episode in its rollout, which `collect` writes before the first dot of its key."""
    return int(key.partition(".")[0])
