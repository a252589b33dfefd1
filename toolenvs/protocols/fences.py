"""Fenced code: a closed ```` ```python ```` block followed by ```` ```output ````, as ToRL's base models write.

The stop string is the opening of the output block, which the policy itself writes; the environment fills the block.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolenvs.protocols import _forgery
from toolenvs.protocols.base import Call, Message, Observation, Reply, merge_assistant
from toolenvs.protocols.templates import ChatTemplate

_FENCE = "```"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[protocol]`, kind "fences"."""

    language: str = "python"
    """Language of the block that is run."""
    output: str = "output"
    """Language of the block that the environment fills; its opening fence is the stop string."""
    tool: str = "python"
    """Name of the tool that runs the block."""
    argument: str = "code"
    """The argument that the block's content becomes."""
    remind: str = "\nThe last block could not be run: {reason}.\n"
    """Feedback to a malformed call where the page says `remind`."""


class Protocol:
    """Reads and writes fenced blocks."""

    def __init__(self, options: Options, template: ChatTemplate) -> None:
        self._options = options
        self._template = template
        self._output = _FENCE + options.output
        self._block = re.compile(rf"```{re.escape(options.language)}[ \t]*\n(.*?)\n?```", re.DOTALL)
        opened = rf"{_FENCE}[ \t]*{re.escape(options.output)}\b"
        self._filled = re.compile(rf"{opened}.*?(?:{_FENCE}|\Z)", re.DOTALL | re.IGNORECASE)
        self.stop = (self._output,)
        self.markers = (_FENCE, *template.markers)
        self.targets = ((options.tool, options.argument),)
        self.turn_end = ""

    def parse(self, turn: str) -> Reply:
        """The last closed block before the stop string; no call where the turn does not stop at it."""
        others = _forgery.other_turns(turn, self._template.turn_end, self._template.turn_start)
        start = turn.find(self._output)
        if start >= 0 and turn[start + len(self._output) :].strip():  # the policy went on and filled the block itself
            return Reply(forged=_forgery.merge([*others, *self._imitations(turn)]))
        before = turn if start < 0 else turn[:start]
        forged = _forgery.merge([*others, *self._imitations(before)])
        text = _forgery.blank(turn, forged)[: len(before)].rstrip()
        blocks = list(self._block.finditer(text))
        if start < 0 and not (blocks and blocks[-1].end() == len(text)):
            return Reply(forged=forged)
        if not blocks:
            return Reply(malformed=f"no closed {_FENCE}{self._options.language} block", forged=forged)
        call = Call(self._options.tool, {self._options.argument: blocks[-1][1]})
        separator = "" if turn.endswith("\n") else "\n"
        return Reply(calls=(call,), forged=forged, dropped_stop="" if start >= 0 else separator + self._output)

    def _imitations(self, text: str) -> list[tuple[int, int]]:
        """Output blocks that the policy opened, in any case, and went on behind."""
        return [match.span() for match in self._filled.finditer(text)]

    def prose(self, text: str) -> str:
        """The text without its blocks of programs."""
        return self._block.sub("", text)

    def observation(self, call: Call | None, content: str) -> Observation:
        """The rest of the output block that the policy opened."""
        return Observation("\n", content, f"\n{_FENCE}\n")

    def write_call(self, call: Call) -> str:
        """The block, and the opening of its output."""
        code = call.arguments[self._options.argument]
        return f"{_FENCE}{self._options.language}\n{code}\n{_FENCE}\n{self._output}"

    def write_answer(self, answer: str) -> str:
        """The answer as it is."""
        return answer

    def reminder(self, reason: str) -> str:
        """The page's reminder."""
        return self._options.remind.replace("{reason}", reason)

    def render_prompt(self, messages: Sequence[Message], tools: Mapping[str, Mapping[str, Any]]) -> str:
        """The messages through the template; tools are described by the page's own words."""
        return self._template.render(messages)

    def messages(self, prompt: Sequence[Message], parts: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
        """Everything behind the prompt is one assistant message."""
        return merge_assistant(prompt, parts)
