"""Rewritten queries in tags of their own: `<rewrite>...</rewrite>`, and `<rewrite_2>...</rewrite_2>` in a second turn.

The protocol of environment-aware information retrieval (arXiv:2606.16817). In one turn the rewrites are the answer. In
two, all first rewrites of a turn are one call; what they find comes back as a message, and the second ones are the
answer.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolenvs.protocols import _forgery, tool_calls
from toolenvs.protocols.base import Call, Message, Observation, Reply
from toolenvs.protocols.templates import ChatTemplate
from toolenvs.transcript import Author

_ARGUMENT = "query_list"
_RESPONSE = "tool_response"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[protocol]`, kind "rewrites"."""

    first: str = "rewrite"
    """The tag of a query."""
    second: str = ""
    """The tag of a query of the second turn; "" for one turn."""
    tool: str = "rewrites"
    """Which tool a first rewrite of two turns calls, with a list of queries."""
    before: str = ""
    """Text of the environment in front of what the rewrites found."""
    after: str = ""
    """Text behind it, such as what is to be written next."""
    remind: str = "The last turn could not be read: {reason}."
    """Feedback to a malformed turn where the page says `remind`."""

    def __post_init__(self) -> None:
        if not self.first or self.first == self.second:
            raise ValueError("first and second must be different tags, and first not empty")


class Protocol(tool_calls.Protocol):
    """Reads and writes rewrites; each turn of the policy is an assistant message of its own."""

    def __init__(self, options: Options, template: ChatTemplate) -> None:
        names = {options.tool: options.tool} if options.second else {}
        super().__init__(tool_calls.Options(names=names, remind=options.remind), template)
        self._tags = (options.first, *([options.second] if options.second else []))
        self._tool = options.tool
        marks = [mark for tag in self._tags for mark in _marks(tag)]
        self._imitations = _forgery.Imitations(_RESPONSE)
        self._shown = (self._opening + options.before, options.after + self._closing)
        self.targets = ((options.tool, _ARGUMENT),) if options.second else ()
        observation = (f"<{_RESPONSE}>", f"</{_RESPONSE}>")
        self.markers = tuple(dict.fromkeys((*marks, *observation, *template.markers)))

    def parse(self, turn: str) -> Reply:
        """The last kind of rewrite that the turn closes."""
        forged = _forgery.merge(
            [
                *self._imitations.find(turn),
                *_forgery.other_turns(turn, self.turn_end, self._template.turn_start),
            ]
        )
        text = _forgery.blank(turn, forged)
        *calls, answers = (_queries(text, tag) for tag in self._tags)
        if answers:
            return Reply(answer="\n".join(answers), forged=forged)
        if calls and calls[0]:
            return Reply(calls=(Call(self._tool, {_ARGUMENT: calls[0]}),), forged=forged)
        return Reply(forged=forged)

    def prose(self, text: str) -> str:
        """The text without its calls and its end."""
        text = _forgery.without(text, [_marks(tag) for tag in self._tags[:-1]])
        return text.rstrip().removesuffix(self.turn_end) if self.turn_end else text

    def observation(self, call: Call | None, content: str) -> Observation:
        """Feedback as a message, with the page's text around what a call found."""
        opening, closing = (self._opening, self._closing) if call is None else self._shown
        return Observation(opening, content, closing)

    def write_call(self, call: Call) -> str:
        """Each query in its tag, and the end of the turn."""
        value = call.arguments[_ARGUMENT]
        queries = [value] if isinstance(value, str) else value
        return "".join(str(query).join(_marks(self._tags[0])) for query in queries) + self.turn_end

    def write_answer(self, answer: str) -> str:
        """The query in the tag of the last turn, and the end of the turn."""
        return answer.join(_marks(self._tags[-1])) + self.turn_end

    def messages(self, prompt: Sequence[Message], parts: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
        """An assistant message a turn, a tool message an observation."""
        (opening, closing), plain = self._shown, []
        for author, text in parts:  # the page's text is part of the message, and not of its wrapper
            if author != Author.POLICY and text == opening:
                plain += [(author, self._opening), (author, text.removeprefix(self._opening))]
            elif author != Author.POLICY and text == closing:
                plain += [(author, text.removesuffix(self._closing)), (author, self._closing)]
            else:
                plain.append((author, text))
        return super().messages(prompt, [part for part in plain if part[1]])

    def render_prompt(self, messages: Sequence[Message], tools: Mapping[str, Mapping[str, Any]]) -> str:
        """The messages through the chat template; the tool is described by the page's own words."""
        return self._template.render(messages)


def _marks(tag: str) -> tuple[str, str]:
    return f"<{tag}>", f"</{tag}>"


def _queries(text: str, tag: str) -> list[str]:
    """What stands between the tags and holds no "<", in order, without what is blank."""
    found = re.findall("([^<]*)".join(map(re.escape, _marks(tag))), text)
    return [query for query in (query.replace("\0", "").strip() for query in found) if query]
