"""XML-like tags: `<code>...</code>`, `<search>...</search>`, `<answer>...</answer>`.

The protocol of ReTool, Search-R1, ZeroSearch and their kin: the policy writes a call in a tag of its own, generation
stops at the closing tag, and the feedback follows inside the same assistant message.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolenvs.protocols import _forgery
from toolenvs.protocols.base import Call, Message, Observation, Reply, answer_in, merge_assistant
from toolenvs.protocols.templates import ChatTemplate

_FENCE = "```"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTag:
    """What a tag calls."""

    tool: str
    """Name of the tool."""
    argument: str
    """The argument that the tag's content becomes."""
    fence: str = ""
    """Language of a fenced block that the content stands in, such as "python"; "" where it stands bare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[protocol]`, kind "tags"."""

    calls: Mapping[str, CallTag]
    """What each call tag calls, by the tag's name."""
    observation: str
    """The tag around feedback."""
    answer: str = "answer"
    """The tag around the final answer; another one than those of calls and feedback."""
    open_mark: str = "<{tag}>"
    """How a call or an observation is opened; `{tag}` is its tag. The answer's own tag is always `<answer>`."""
    close_mark: str = "</{tag}>"
    """How it is closed: R1-Searcher has `<|end_of_{tag}|>`."""
    opening: str = "\n<{tag}>\n"
    """Text before feedback; `{tag}` is the observation tag."""
    closing: str = "\n</{tag}>\n\n"
    """Text behind feedback."""
    answer_stops: bool = False
    """Whether generation stops at the closing tag of the answer as well."""
    remind: str = "\nThe last turn could not be read: {reason}. Write it again.\n"
    """Feedback to a malformed call where the page says `remind`."""

    def __post_init__(self) -> None:
        tags = [*self.calls, self.observation, self.answer]
        if not all(tags) or len(set(tags)) < len(tags):
            raise ValueError(f"the tags {', '.join(map(repr, tags))} must all be different, and none empty")


class Protocol:
    """Reads and writes tags."""

    def __init__(self, options: Options, template: ChatTemplate) -> None:
        self._options = options
        self._template = template
        tag = options.observation
        self._opening, self._closing = (text.replace("{tag}", tag) for text in (options.opening, options.closing))
        self._marks = {name: self._spell(name) for name in (*options.calls, tag)}
        self._marks[options.answer] = (f"<{options.answer}>", f"</{options.answer}>")
        self._stops = (*options.calls, options.answer) if options.answer_stops else tuple(options.calls)
        self.stop = tuple(self._marks[name][1] for name in self._stops)
        own = [mark for name in (*options.calls, tag, options.answer) for mark in self._marks[name]]
        self.markers = (*own, *template.markers)
        self.targets = tuple((call.tool, call.argument) for call in options.calls.values())
        self.turn_end = ""
        spelled = None if self._marks[tag] == (f"<{tag}>", f"</{tag}>") else self._marks[tag]
        self._imitations = _forgery.Imitations(tag, [self._marks[name] for name in options.calls], spelled)

    def _spell(self, name: str) -> tuple[str, str]:
        return self._options.open_mark.replace("{tag}", name), self._options.close_mark.replace("{tag}", name)

    def parse(self, turn: str) -> Reply:
        """The first call that the turn closes, else the last answer."""
        others = _forgery.other_turns(turn, self._template.turn_end, self._template.turn_start)
        forged = _forgery.merge([*self._imitations.find(turn), *others])
        text = _forgery.blank(turn, forged) if forged else turn
        marks = self._marks
        found = [(text.find(marks[name][1]), name) for name in self._options.calls]
        closed = [(end, name) for end, name in found if end >= 0]
        if closed:
            end, name = min(closed)
            return self._call(name, text[:end], forged)
        own = self._options.answer
        answer = answer_in(text, *marks[own])
        if answer is None:
            opened = [(text.rfind(marks[name][0]), name) for name in self._stops if marks[name][0] in text]
            if opened:
                start, name = max(opened)
                if name != own:
                    return self._call(name, text, forged, dropped_stop=marks[name][1])
                answer = text[start + len(own) + 2 :].strip()
                return Reply(answer=answer, forged=forged, dropped_stop=f"</{own}>")
        return Reply(answer=answer, forged=forged)

    def _call(self, name: str, text: str, forged: tuple[tuple[int, int], ...], dropped_stop: str = "") -> Reply:
        opening, closing = self._marks[name]
        start = text.rfind(opening)
        if start < 0:
            return Reply(malformed=f"{closing} closes no {opening}", forged=forged)
        tag = self._options.calls[name]
        content = text[start + len(opening) :].replace("\0", "")
        if tag.fence:
            content = content.rpartition(f"{_FENCE}{tag.fence}")[2].replace(_FENCE, "")
        content = content.strip("\n") if tag.fence else content.strip()
        if not content.strip():
            return Reply(malformed=f"{opening} is empty", forged=forged, dropped_stop=dropped_stop)
        return Reply(calls=(Call(tag.tool, {tag.argument: content}),), forged=forged, dropped_stop=dropped_stop)

    def prose(self, text: str) -> str:
        """The text without its closed calls."""
        return _forgery.without(text, [self._marks[name] for name in self._options.calls])

    def observation(self, call: Call | None, content: str) -> Observation:
        """Feedback between the observation tags."""
        return Observation(self._opening, content, self._closing)

    def write_call(self, call: Call) -> str:
        """The call in its tag, fenced where the page says so."""
        name, tag = next((name, tag) for name, tag in self._options.calls.items() if tag.tool == call.tool)
        content = str(call.arguments[tag.argument])
        if tag.fence:
            content = f"\n{_FENCE}{tag.fence}\n{content}\n{_FENCE}\n"
        return content.join(self._marks[name])

    def write_answer(self, answer: str) -> str:
        """The answer in its tag."""
        return f"<{self._options.answer}>\n{answer}\n</{self._options.answer}>"

    def reminder(self, reason: str) -> str:
        """The page's reminder."""
        return self._options.remind.replace("{reason}", reason)

    def render_prompt(self, messages: Sequence[Message], tools: Mapping[str, Mapping[str, Any]]) -> str:
        """The messages through the chat template; tools are described by the page's own words."""
        return self._template.render(messages)

    def messages(self, prompt: Sequence[Message], parts: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
        """Everything behind the prompt is one assistant message."""
        return merge_assistant(prompt, parts)
