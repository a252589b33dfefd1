"""`TokenTranscript`: a transcript as token ids, grown by appending and never re-encoded.

What the policy sampled is kept id by id; what the environment wrote is encoded once, when it is appended. `TokenCodec`
makes both directions exact for any tokenizer: byte-level, one whose tokens straddle tag boundaries, or one that hides
a leading space.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolenvs.codec import TokenCodec
from toolenvs.errors import TranscriptError
from toolenvs.transcript import Author

_MAX_LOGPROB = 1e-4  # log-probabilities are at most 0; engines round


class Mask(IntEnum):
    """What a token is to the trainer."""

    ENVIRONMENT = 0
    """Prompt, tool or harness: never in a loss, a KL, an entropy, a statistic or a denominator."""
    POLICY = 1
    """Sampled by the policy, call markers and end-of-turn token included."""
    UNSCORED = 2
    """Written by the policy but not scored: a forged observation, a replayed prefix."""


_ENVIRONMENT, _POLICY, _UNSCORED = map(int, Mask)  # plain numbers, which numpy reads twenty times as fast


@dataclass(frozen=True, slots=True)
class Span:
    """Tokens `start` to `end` (exclusive) are one append, by one author, in one turn."""

    author: Author
    start: int
    end: int
    turn: int


class TokenTranscript:
    """Ids, mask, log-probabilities and policy versions of one episode, all of one length `T`.

    Invariants, checked at every append: the four lengths are equal; mask 1 stands exactly on what the policy sampled
    and is scored on; every log-probability is finite, at most 0, and 0 on tokens that were not sampled.
    """

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._mask: list[int] = []
        self._logprobs: list[float] = []
        self._versions: list[int] = []
        self._spans: list[Span] = []

    def __len__(self) -> int:
        return len(self._ids)

    def append_environment(self, ids: Sequence[int], author: Author, turn: int) -> None:
        """Append tokens that the policy did not write.

        Raises:
            TranscriptError: the author is the policy, or an id is negative.
        """
        if author is Author.POLICY:
            raise TranscriptError("tokens of the policy are appended with append_policy, with their log-probabilities")
        self._extend(ids, [_ENVIRONMENT] * len(ids), [0.0] * len(ids), -1, author, turn)

    def append_policy(
        self,
        ids: Sequence[int],
        logprobs: Sequence[float],
        turn: int,
        *,
        unscored: Sequence[tuple[int, int]] = (),
        version: int = 0,
    ) -> None:
        """Append tokens that the policy sampled.

        Args:
            ids: sampled ids, end-of-turn token included.
            logprobs: natural-log probability of each under the policy that sampled it.
            turn: the policy's turn, from 1.
            unscored: `[start, end)` ranges of `ids` that were written by the policy but are not scored.
            version: number of weight updates that the sampling policy had seen.

        Raises:
            TranscriptError: lengths differ, a log-probability is not finite or above 0, or a range lies outside.
        """
        if len(ids) != len(logprobs):
            raise TranscriptError(f"turn {turn}: {len(ids)} sampled ids came with {len(logprobs)} log-probabilities")
        for position, logprob in enumerate(logprobs):
            if not -math.inf < logprob <= _MAX_LOGPROB:  # nan is refused too
                raise TranscriptError(f"turn {turn}: log-probability {logprob} at token {position} is not in (-inf, 0]")
        mask = [_POLICY] * len(ids)
        for start, end in unscored:
            if not 0 <= start <= end <= len(ids):
                raise TranscriptError(f"turn {turn}: unscored range {start}:{end} lies outside {len(ids)} tokens")
            mask[start:end] = [_UNSCORED] * (end - start)
        self._extend(ids, mask, logprobs, version, Author.POLICY, turn)

    def _extend(
        self, ids: Sequence[int], mask: list[int], logprobs: Sequence[float], version: int, author: Author, turn: int
    ) -> None:
        if self._spans and turn < self._spans[-1].turn:
            raise TranscriptError(f"tokens of turn {turn} cannot follow turn {self._spans[-1].turn}")
        if ids and min(ids) < 0:
            raise TranscriptError(f"turn {turn}: a token id is negative")
        if not ids:
            return
        start = len(self._ids)
        self._ids.extend(map(int, ids))
        self._mask.extend(mask)
        self._logprobs.extend(map(float, logprobs))
        self._versions.extend([version] * len(ids))
        self._spans.append(Span(author, start, len(self._ids), turn))
        if not len(self._ids) == len(self._mask) == len(self._logprobs) == len(self._versions):
            raise TranscriptError(f"turn {turn}: ids, mask, log-probabilities and versions fell out of step")

    def truncate(self, length: int) -> None:
        """Keep the first `length` tokens of every array."""
        for array in (self._ids, self._mask, self._logprobs, self._versions):
            del array[length:]
        kept = [span for span in self._spans if span.start < length]
        self._spans = [Span(span.author, span.start, min(span.end, length), span.turn) for span in kept]

    def copy(self) -> "TokenTranscript":
        """An independent copy."""
        other = TokenTranscript()
        other._ids, other._mask, other._logprobs = self._ids[:], self._mask[:], self._logprobs[:]
        other._versions, other._spans = self._versions[:], self._spans[:]
        return other

    def as_context(self) -> "TokenTranscript":
        """A copy in which nothing is trained on: what was sampled is what later tokens are sampled behind."""
        other = self.copy()
        other._mask = [_UNSCORED if value == _POLICY else value for value in self._mask]
        return other

    def with_prompt(self, ids: Sequence[int]) -> "TokenTranscript":
        """A copy that begins with another prompt.

        Raises:
            TranscriptError: it begins with no prompt.
        """
        if not self._spans or self._spans[0].author is not Author.PROMPT:
            raise TranscriptError("what begins with no prompt cannot begin with another")
        other = TokenTranscript()
        other.append_environment(ids, Author.PROMPT, 0)
        old = self._spans[0].end
        other._ids += self._ids[old:]
        other._mask += self._mask[old:]
        other._logprobs += self._logprobs[old:]
        other._versions += self._versions[old:]
        shift = len(ids) - old
        other._spans += [Span(span.author, span.start + shift, span.end + shift, span.turn) for span in self._spans[1:]]
        return other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TokenTranscript) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]  # it grows

    @property
    def ids(self) -> NDArray[np.int64]:
        """Token ids. # [T]"""
        return np.array(self._ids, dtype=np.int64)

    @property
    def mask(self) -> NDArray[np.int8]:
        """`Mask` of each token. # [T]"""
        return np.array(self._mask, dtype=np.int8)

    @property
    def logprobs(self) -> NDArray[np.float32]:
        """Log-probability of each sampled token; 0 elsewhere. # [T]"""
        return np.array(self._logprobs, dtype=np.float32)

    @property
    def versions(self) -> NDArray[np.int64]:
        """Policy version that sampled each token; -1 elsewhere. # [T]"""
        return np.array(self._versions, dtype=np.int64)

    @property
    def spans(self) -> tuple[Span, ...]:
        """One span an append, in order."""
        return tuple(self._spans)

    @property
    def policy_tokens(self) -> int:
        """Tokens whose mask is 1."""
        return self._mask.count(_POLICY)

    @property
    def prompt_length(self) -> int:
        """Tokens before the policy's first turn."""
        return next((span.start for span in self._spans if span.turn > 0), len(self._ids))

    def context(self) -> list[int]:
        """All ids so far, as the next generation's prompt."""
        return self._ids[:]

    def token_rewards(self, turn_rewards: Sequence[float]) -> NDArray[np.float32]:
        """Place each turn's reward on the last mask-1 token of that turn.

        A turn with no such token (all of it replayed or forged) gives its reward to the nearest mask-1 token before
        it, else after it, so that the sum never changes.

        Args:
            turn_rewards: reward of turn 1, 2, ... as the environment paid them.

        Returns:
            Reward of each token. # [T]

        Raises:
            TranscriptError: there is a reward, and no mask-1 token to carry it.
        """
        rewards = np.zeros(len(self._ids), dtype=np.float32)
        if not any(turn_rewards):
            return rewards
        if _POLICY not in self._mask:
            raise TranscriptError("no token was sampled by the policy, so none can carry the reward")
        ends = {span.turn: span.end for span in self._spans}
        end = 0
        last = self._mask.index(_POLICY)
        for turn, reward in enumerate(turn_rewards, start=1):
            end = ends.get(turn, end)
            last = next((place for place in range(end - 1, last, -1) if self._mask[place] == _POLICY), last)
            rewards[last] += reward
        return rewards

    def to_json(self) -> dict[str, Any]:
        """Plain lists, for a trajectory file."""
        return {
            "ids": self._ids,
            "mask": self._mask,
            "logprobs": self._logprobs,
            "versions": self._versions,
            "spans": [[span.author.value, span.start, span.end, span.turn] for span in self._spans],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "TokenTranscript":
        """The inverse of `to_json`, with every invariant checked again."""
        tokens = cls()
        for author, start, end, turn in data["spans"]:
            ids, mask = data["ids"][start:end], data["mask"][start:end]
            if author != Author.POLICY:
                tokens.append_environment(ids, Author(author), turn)
                continue
            unscored = [(i, i + 1) for i, value in enumerate(mask) if value == _UNSCORED]
            version = data["versions"][start] if end > start else 0
            tokens.append_policy(ids, data["logprobs"][start:end], turn, unscored=unscored, version=version)
        if len(tokens) != len(data["ids"]):
            raise TranscriptError(f"spans cover {len(tokens)} of {len(data['ids'])} tokens")
        return tokens


def cut_at_stop(ids: Sequence[int], stop: Sequence[str], codec: TokenCodec) -> int:
    """Length of the shortest prefix of sampled `ids` whose text holds one of `stop`; all of them where none does.

    The last token is kept whole: what spills over behind the marker was sampled by the policy and belongs to it.
    """
    if not stop or not any(marker in codec.decode(ids) for marker in stop):
        return len(ids)
    low, high = 1, len(ids)
    while low < high:
        middle = (low + high) // 2
        text = codec.decode(ids[:middle])
        low, high = (low, middle) if any(marker in text for marker in stop) else (middle + 1, high)
    return low
