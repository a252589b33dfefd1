"""Actions in brackets behind a thought, as ReAct has them: `Action: execute[SELECT 1]`, and `Action: submit` to end.

The protocol of InterCode (arXiv:2306.14898). Each turn of the policy is an assistant message of its own, and what an
action gave comes back as a message that begins with "Observation:". The words before the colons may be numbered.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolenvs.protocols import _forgery, tool_calls
from toolenvs.protocols.base import Call, Message, Observation, Reply
from toolenvs.protocols.templates import ChatTemplate
from toolenvs.transcript import Author

_WORD = re.compile(r"\w+")
_SHOWN_WORD = 40
"""Characters of an unknown word that a reminder repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What an action's word calls."""

    tool: str
    """Name of the tool."""
    argument: str
    """The argument that the text in brackets becomes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[protocol]`, kind "brackets"."""

    calls: Mapping[str, Action]
    """What each action calls, by its word."""
    answer: str = "submit"
    """The word of the action that ends the episode."""
    answer_text: bool = False
    """Whether it has a text in brackets, as `finish[Paris]`; otherwise it stands alone."""
    thought: str = "Thought"
    action: str = "Action"
    observation: str = "Observation"
    """What stands before the colon of each kind of line."""
    remind: str = "The last turn could not be read: {reason}."
    """Feedback to a malformed turn where the page says `remind`."""

    def __post_init__(self) -> None:
        for kind, words in (
            ("actions", (*self.calls, self.answer)),
            ("kinds of lines", (self.thought, self.action, self.observation)),
        ):
            if len({word.lower() for word in words}) < len(words) or not all(map(_WORD.fullmatch, words)):
                raise ValueError(f"the {kind} {', '.join(map(repr, words))} must all be different, and single words")


class Protocol(tool_calls.Protocol):
    """Reads and writes actions in brackets."""

    def __init__(self, options: Options, template: ChatTemplate) -> None:
        names = {word: action.tool for word, action in options.calls.items()}
        super().__init__(tool_calls.Options(names=names, remind=options.remind), template)
        self._read_options = options
        kinds = (options.thought, options.action, options.observation)
        self._action = re.compile(_line(options.action), re.IGNORECASE | re.MULTILINE)
        self._any = re.compile("|".join(map(_line, kinds)), re.IGNORECASE | re.MULTILINE)
        self._feedback = re.compile(_line(options.observation), re.IGNORECASE | re.MULTILINE)
        self._shown = f"{self._opening}{options.observation}: "
        self.stop = (*self.stop, f"\n{options.observation}:")
        self.targets = tuple((action.tool, action.argument) for action in options.calls.values())
        self.markers = tuple(dict.fromkeys((*(f"\n{kind}:" for kind in kinds), *template.markers)))

    def parse(self, turn: str) -> Reply:
        """The first action of the turn."""
        forged = _forgery.merge(
            [*self._imitations_in(turn), *_forgery.other_turns(turn, self.turn_end, self._template.turn_start)]
        )
        text = _forgery.blank(turn, forged)
        found = self._action.search(text)
        if found is None:
            return Reply(forged=forged)
        said = text[found.end() : self._next(text, found.end())].replace("\0", "").strip()
        if self.turn_end:
            said = said.removesuffix(self.turn_end).rstrip()
        options, word = self._read_options, _WORD.match(said)
        name = word[0] if word else ""
        if name == options.answer:
            return self._submitted(said[len(name) :].strip(), forged)
        if name not in options.calls:
            known = ", ".join([*(f"{known}[...]" for known in options.calls), self._spelled_answer("...")])
            return Reply(malformed=f"{name[:_SHOWN_WORD]!r} is no action; there are {known}", forged=forged)
        content, wrong = _in_brackets(name, said[len(name) :].strip())
        if wrong:
            return Reply(malformed=wrong, forged=forged)
        action = options.calls[name]
        return Reply(calls=(Call(action.tool, {action.argument: content}),), forged=forged)

    def _submitted(self, rest: str, forged: tuple[tuple[int, int], ...]) -> Reply:
        name = self._read_options.answer
        if not self._read_options.answer_text:
            wrong = f"{name} stands alone, with nothing behind it"
            return Reply(malformed=wrong, forged=forged) if rest else Reply(answer="", forged=forged)
        content, wrong = _in_brackets(name, rest)
        return Reply(malformed=wrong, forged=forged) if wrong else Reply(answer=content, forged=forged)

    def _next(self, text: str, position: int) -> int:
        """Where the next line with a colon of ours begins, or the end."""
        found = self._any.search(text, position)
        return found.start() if found else len(text)

    def _imitations_in(self, turn: str) -> list[tuple[int, int]]:
        """Observations that the policy wrote itself, each up to its next thought or action."""
        found, position = [], 0
        while match := self._feedback.search(turn, position):
            position = self._next(turn, match.end())
            end = position - 1 if position < len(turn) else position  # the line that follows keeps its beginning
            found.append((match.start(), end))
        return found

    def prose(self, text: str) -> str:
        """The text without its actions and its end."""
        kept, position = [], 0
        while match := self._action.search(text, position):
            kept.append(text[position : match.start()])
            position = self._next(text, match.end())
        text = "".join([*kept, text[position:]])
        return text.rstrip().removesuffix(self.turn_end) if self.turn_end else text

    def observation(self, call: Call | None, content: str) -> Observation:
        """Feedback as a message, and the header of the next turn."""
        return Observation(self._shown, content, self._closing)

    def write_call(self, call: Call) -> str:
        """The action with its text in brackets, and the end of the turn."""
        calls = self._read_options.calls.items()
        word, action = next((word, action) for word, action in calls if action.tool == call.tool)
        return f"{self._read_options.action}: {word}[{call.arguments[action.argument]}]{self.turn_end}"

    def write_answer(self, answer: str) -> str:
        """The action that ends the episode, and the end of the turn; the answer stands in it where the page says so."""
        return f"{self._read_options.action}: {self._spelled_answer(answer)}{self.turn_end}"

    def _spelled_answer(self, answer: str) -> str:
        options = self._read_options
        return f"{options.answer}[{answer}]" if options.answer_text else options.answer

    def messages(self, prompt: Sequence[Message], parts: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
        """An assistant message a turn, a tool message an observation."""
        plain: list[tuple[str, str]] = []
        for author, text in parts:  # the line's own word is part of the message, and not of its wrapper
            if author != Author.POLICY and text == self._shown:
                plain += [(author, self._opening), (author, text.removeprefix(self._opening))]
            else:
                plain.append((author, text))
        return super().messages(prompt, plain)

    def render_prompt(self, messages: Sequence[Message], tools: Mapping[str, object]) -> str:
        """The messages through the chat template; tools are described by the page's own words."""
        return self._template.render(messages)


def _line(kind: str) -> str:
    return rf"^[ \t]*{re.escape(kind)}[ \t]*(?:\d+[ \t]*)?:"


def _in_brackets(name: str, rest: str) -> tuple[str, str]:
    """The text between the first bracket and the last, and what is wrong with it; one of the two is empty."""
    if not rest.startswith("["):
        return "", f"{name} needs its text in brackets, {name}[...]"
    end = rest.rfind("]")
    if end < 0:
        return "", f"{name}[ is not closed"
    content = rest[1:end].strip()
    return (content, "") if content else ("", f"{name}[] is empty")
