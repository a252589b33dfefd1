"""Tags as in `tags`, where each turn of the policy is an assistant message of its own and feedback a user's message.

The protocol of RAGEN (arXiv:2504.20073): `<think>...</think><answer>Up || Left</answer>`, where what stands in the
answer is what is done, and the state that it led to comes back from the user. RAGEN writes the policy's message anew
from what it read of it before it trains on it; here what was sampled stays as it was.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolenvs.protocols import _forgery, tool_calls
from toolenvs.protocols.base import Call, Message, Observation, Reply
from toolenvs.protocols.tags import CallTag
from toolenvs.protocols.templates import ChatTemplate


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[protocol]`, kind "chat_tags"."""

    calls: Mapping[str, CallTag]
    """What each call tag calls, by the tag's name."""
    answer: str = ""
    """A tag around a final answer, which ends the episode; "" where only what is done ends it."""
    thought: str = ""
    """A tag that must stand right before a call or an answer, such as "think"; "" where nothing must."""
    prefix: str = ""
    """What the environment begins each of the policy's messages with, such as "<think>"."""
    remind: str = "The last turn could not be read: {reason}."
    """Feedback to a malformed turn where the page says `remind` or `penalize`."""

    def __post_init__(self) -> None:
        tags = [*self.calls, *filter(None, (self.answer, self.thought))]
        if not self.calls or not all(self.calls) or len(set(tags)) < len(tags):
            raise ValueError(f"the tags {', '.join(map(repr, tags))} must all be different, and one must call")
        fenced = [name for name, call in self.calls.items() if call.fence]
        if fenced:
            raise ValueError(f"calls.{fenced[0]}.fence: fenced blocks are read by the kind 'tags' only")


class Protocol(tool_calls.Protocol):
    """Reads and writes tags, a message a turn."""

    def __init__(self, options: Options, template: ChatTemplate) -> None:
        names = {name: call.tool for name, call in options.calls.items()}
        super().__init__(tool_calls.Options(names=names, remind=options.remind, prefix=options.prefix), template)
        self._own = options
        self._opening, self._closing = template.user_turn()
        self._closing += options.prefix
        names_read = [*options.calls, *([options.answer] if options.answer else [])]
        self._marks = {name: (f"<{name}>", f"</{name}>") for name in names_read}
        lead = rf"</{re.escape(options.thought)}>\s*" if options.thought else ""
        self._begin = re.compile(f"{lead}<({'|'.join(map(re.escape, self._marks))})>")
        self._thought = (f"<{options.thought}>", f"</{options.thought}>") if options.thought else ("", "")
        self.targets = tuple((call.tool, call.argument) for call in options.calls.values())
        own = [mark for marks in (*self._marks.values(), self._thought) for mark in marks if mark]
        self.markers = tuple(dict.fromkeys((*own, *template.markers)))

    def parse(self, turn: str) -> Reply:
        """The first call or answer of the turn, behind its thought where the page wants one."""
        forged = _forgery.merge(_forgery.other_turns(turn, self.turn_end, self._template.turn_start))
        text = self._own.prefix + _forgery.blank(turn, forged)
        start = text.find(self._thought[0])
        ends = {name: text.rfind(closing) for name, (_, closing) in self._marks.items()}
        opened = ""
        for begun in self._begin.finditer(text, start + len(self._thought[0])) if start >= 0 else ():
            name, opened = begun[1], begun[1]
            if ends[name] >= begun.end():
                content = text[begun.end() : text.find(self._marks[name][1], begun.end())].replace("\0", "").strip()
                return self._read_tag(name, content, forged)
        return Reply(malformed=f"<{opened}> is not closed" if opened else None, forged=forged)

    def _read_tag(self, name: str, content: str, forged: tuple[tuple[int, int], ...]) -> Reply:
        call = self._own.calls.get(name)
        if call is None:
            return Reply(answer=content, forged=forged)
        if not content:
            return Reply(malformed=f"<{name}> is empty", forged=forged)
        return Reply(calls=(Call(call.tool, {call.argument: content}),), forged=forged)

    def prose(self, text: str) -> str:
        """The text without its calls and its end."""
        text = _forgery.without(text, [self._marks[name] for name in self._own.calls])
        return text.rstrip().removesuffix(self.turn_end) if self.turn_end else text

    def observation(self, call: Call | None, content: str) -> Observation:
        """Feedback as a user's message, with the header of the next assistant message behind it."""
        return Observation(self._opening, content, self._closing)

    def write_call(self, call: Call) -> str:
        """The call in its tag behind an empty thought, and the end of the turn."""
        name, tag = next((name, tag) for name, tag in self._own.calls.items() if tag.tool == call.tool)
        return self._written(name, str(call.arguments[tag.argument]))

    def write_answer(self, answer: str) -> str:
        """The answer in its tag, and the end of the turn; only the end where the page has no such tag."""
        return self._written(self._own.answer, answer) if self._own.answer else self.turn_end

    def _written(self, name: str, content: str) -> str:
        text = "".join(self._thought) + content.join(self._marks[name]) + self.turn_end
        return text.removeprefix(self._own.prefix.strip())  # which the environment has written

    def render_prompt(self, messages: Sequence[Message], tools: Mapping[str, Mapping[str, Any]]) -> str:
        """The messages through the chat template; tools are described by the page's own words."""
        return self._template.render(messages) + self._own.prefix

    def messages(self, prompt: Sequence[Message], parts: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
        """An assistant message a turn, a user message an observation."""
        told = super().messages(prompt, parts)
        return [{**message, "role": "user"} if message["role"] == "tool" else message for message in told]
