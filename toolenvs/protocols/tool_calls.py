"""JSON calls in `<tool_call>` tags through a chat template: the Hermes form that Qwen's models and verl use.

Each turn of the policy is an assistant message of its own, and feedback comes back as a message of role `tool`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolenvs.protocols import _forgery
from toolenvs.protocols.base import Call, Message, Observation, Reply, answer_in
from toolenvs.protocols.templates import ChatTemplate
from toolenvs.transcript import Author

_MAX_CALL_CHARS = 1 << 20  # the JSON parser is fast, but nothing that a policy writes is unbounded
_CALL_TAGS = ("<tool_call>", "</tool_call>")
_RESPONSE = "tool_response"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[protocol]`, kind "tool_calls"."""

    names: Mapping[str, str]
    """Name of the function as the policy calls it, and the tool behind it."""
    remind: str = "The last call could not be read: {reason}."
    """Feedback to a malformed call where the page says `remind`."""
    answer: str = ""
    """A tag around the final answer, such as "answer": a turn with such an answer is final, whatever it calls. "" where
    a turn without a call is the answer as a whole."""
    call_first: bool = False
    """Whether a turn that holds a call and an answer makes the call instead."""
    first_answer: bool = False
    """Whether the first answer of a turn counts, instead of the last."""
    prefix: str = ""
    """What the environment begins each of the policy's messages with, such as "<think>"."""


class Protocol:
    """Reads JSON calls and writes tool messages."""

    def __init__(self, options: Options, template: ChatTemplate) -> None:
        self._options = options
        self._template = template
        self._opening, self._closing = template.tool_turn()
        self._closing += options.prefix
        self._answer = (f"<{options.answer}>", f"</{options.answer}>") if options.answer else ("", "")
        self._imitations = _forgery.Imitations(_RESPONSE, [_CALL_TAGS])
        self.targets: tuple[tuple[str, str | None], ...] = tuple((tool, None) for tool in options.names.values())
        self.turn_end = template.turn_end
        self.stop = (template.turn_end,) if template.turn_end else ()
        self.markers = tuple(
            dict.fromkeys(
                (*_CALL_TAGS, f"<{_RESPONSE}>", f"</{_RESPONSE}>", *filter(None, self._answer), *template.markers)
            )
        )

    def parse(self, turn: str) -> Reply:
        """The last answer, where the page has a tag for it, else the first call, or the other way round; later calls in
        the same turn are dropped, as verl does with `max_parallel_calls` 1."""
        forged = _forgery.merge(
            [
                *self._imitations.find(turn),
                *_forgery.other_turns(turn, self.turn_end, self._template.turn_start),
            ]
        )
        text = _forgery.blank(turn, forged)
        answer = self._final(text) if self._options.answer else None
        opening, closing = _CALL_TAGS
        called = self._options.call_first and closing in text.partition(opening)[2]
        if answer is not None and not called:
            return Reply(answer=answer, forged=forged)
        start = text.find(opening)
        end = text.find(closing, start + len(opening)) if start >= 0 else -1
        if end < 0:
            return Reply(malformed=f"{opening} is not closed" if start >= 0 else None, forged=forged)
        try:
            return Reply(calls=(self._read(text[start + len(opening) : end]),), forged=forged)
        except (ValueError, RecursionError) as error:
            return Reply(malformed=str(error).partition(":")[0] or "the JSON is too deep", forged=forged)

    def _final(self, text: str) -> str | None:
        """The answer that counts; None where there is none."""
        if not self._options.first_answer:
            return answer_in(text, *self._answer)
        opening, closing = self._answer
        answer, closed, _ = text.partition(opening)[2].partition(closing)
        return answer.strip() if closed else None

    def _read(self, text: str) -> Call:
        if len(text) > _MAX_CALL_CHARS:
            raise ValueError(f"the call is longer than {_MAX_CALL_CHARS} characters")
        call = json.loads(text)
        if not isinstance(call, dict) or not isinstance(call.get("name"), str):
            raise ValueError('a call is an object with "name" and "arguments"')
        arguments = call.get("arguments", call.get("parameters", {}))  # some prompts ask for the other name
        if isinstance(arguments, str):  # some models write the object as a string
            arguments = json.loads(arguments)
        if not isinstance(arguments, dict):
            raise ValueError('"arguments" is not an object')
        return Call(self._options.names.get(call["name"], call["name"]), arguments)

    def prose(self, text: str) -> str:
        """The text without its closed calls."""
        return _forgery.without(text, [_CALL_TAGS])

    def observation(self, call: Call | None, content: str) -> Observation:
        """Feedback as a tool message, with the header of the next assistant message behind it."""
        return Observation(self._opening, content, self._closing)

    def write_call(self, call: Call) -> str:
        """The call as JSON in its tags, and the end of the turn."""
        name = next((name for name, tool in self._options.names.items() if tool == call.tool), call.tool)
        body = json.dumps({"name": name, "arguments": dict(call.arguments)}, ensure_ascii=False)
        return f"<tool_call>\n{body}\n</tool_call>{self.turn_end}"

    def write_answer(self, answer: str) -> str:
        """The answer as it is, and the end of the turn."""
        return answer.join(self._answer) + self.turn_end

    def reminder(self, reason: str) -> str:
        """The page's reminder."""
        return self._options.remind.replace("{reason}", reason)

    def render_prompt(self, messages: Sequence[Message], tools: Mapping[str, Mapping[str, Any]]) -> str:
        """The messages through the template, with the functions' schemas under the names that the policy uses."""
        shown = {tool: name for name, tool in self._options.names.items()}
        functions = [{**schema, "name": shown.get(key, schema["name"])} for key, schema in tools.items()]
        described = [{"type": "function", "function": f} for f in functions]
        return self._template.render(messages, described) + self._options.prefix

    def messages(self, prompt: Sequence[Message], parts: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
        """An assistant message a turn, a tool message an observation."""
        messages = [dict(message) for message in prompt]
        begun = [{"role": "assistant", "content": self._options.prefix}] if self._options.prefix else []
        messages += map(dict, begun)
        inside = False  # an observation
        for author, text in parts:
            if author == Author.POLICY:
                content = text.removesuffix("\n").removesuffix(self.turn_end)
                if messages and messages[-1]["role"] == "assistant":
                    messages[-1]["content"] += content
                else:
                    messages.append({"role": "assistant", "content": content})
            elif text == (self._closing if inside else self._opening):
                inside = not inside
                if inside:
                    messages.append({"role": "tool", "content": ""})
                else:
                    messages += map(dict, begun)
            elif inside:
                messages[-1]["content"] += text
            elif text != self.turn_end:
                messages.append({"role": "tool", "content": text})
        return messages
