"""The one interface of every protocol."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from typing import Protocol as Interface

Message = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as the policy wrote it."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What one turn of the policy says. At most one of `calls`, `answer` and `malformed` is filled."""

    calls: tuple[Call, ...] = ()
    answer: str | None = None
    malformed: str | None = None
    """What is wrong with an attempted call, in words for the policy; None where nothing is."""
    forged: tuple[tuple[int, int], ...] = ()
    """Character ranges of the turn that imitate the environment: never believed, never scored."""
    dropped_stop: str = ""
    """The stop string that the engine must have dropped, since a call or an answer is open at the end of the turn."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A tool's feedback in its wrapper. Only `content` may be cut."""

    opening: str
    content: str
    closing: str


class Protocol(Interface):
    """Parses the policy's turns and wraps what the environment answers.

    A protocol is built from the `[protocol]` table of a page, whose keys are the fields of the `Options` beside it.
    """

    stop: tuple[str, ...]
    """Strings that end a generation; the string itself stays in the turn."""
    markers: tuple[str, ...]
    """Strings that only the policy or the environment may write; neutralised in whatever a tool returns."""
    targets: tuple[tuple[str, str | None], ...]
    """Each tool that can be called, by its key in the page, and the argument that the protocol fills itself, if any."""
    turn_end: str
    """What the environment writes behind a turn that does not end with it; "" where feedback follows directly."""

    def parse(self, turn: str) -> Reply:
        """Read one turn. Total: any string gives a `Reply`."""
        ...

    def prose(self, text: str) -> str:
        """What of the policy's own text stands outside its calls; an answer is looked for nowhere else."""
        ...

    def observation(self, call: Call | None, content: str) -> Observation:
        """Wrap a tool's feedback, or, for a malformed call, the environment's (`call` is None)."""
        ...

    def write_call(self, call: Call) -> str:
        """A turn that makes `call`: what scripts write, and cold starts are made of."""
        ...

    def write_answer(self, answer: str) -> str:
        """A turn that ends with `answer`."""
        ...

    def reminder(self, reason: str) -> str:
        """What to tell a policy whose call was malformed, where the page says `remind`."""
        ...

    def render_prompt(self, messages: Sequence[Message], tools: Mapping[str, Mapping[str, Any]]) -> str:
        """The text that an episode begins with, given the page's messages and the tools' JSON schemas by page key."""
        ...

    def messages(self, prompt: Sequence[Message], parts: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
        """The conversation in chat form.

        Args:
            prompt: the messages that the episode began with.
            parts: (author, text) of every later segment, in order.
        """
        ...


def answer_in(text: str, opening: str, closing: str) -> str | None:
    """What stands between the last `opening` and the `closing` behind it, stripped; None where there is no pair."""
    start = text.rfind(opening)
    if start < 0:
        return None
    end = text.find(closing, start + len(opening))
    return None if end < 0 else text[start + len(opening) : end].strip()


def merge_assistant(prompt: Sequence[Message], parts: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """Chat form of a protocol whose feedback stands inside the assistant's own message."""
    messages = [dict(message) for message in prompt]
    if parts:
        messages.append({"role": "assistant", "content": "".join([text for _, text in parts])})
    return messages


__all__ = ["Call", "Message", "Observation", "Protocol", "Reply", "answer_in", "merge_assistant"]
