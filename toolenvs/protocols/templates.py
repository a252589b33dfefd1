"""Chat templates: how messages become the text of a prompt, and how a turn ends in it."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from toolenvs.errors import PageError, did_you_mean

Message = Mapping[str, str]


class ChatTemplate(Protocol):
    """Renders messages as text."""

    @property
    def markers(self) -> tuple[str, ...]:
        """Strings that only the template may write."""
        ...

    @property
    def turn_end(self) -> str:
        """What ends an assistant's turn; "" where only the end of the text does."""
        ...

    @property
    def turn_start(self) -> str:
        """What opens a turn of any role; "" where nothing marks it."""
        ...

    def render(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> str:
        """The prompt, up to where the assistant begins to write."""
        ...

    def tool_turn(self) -> tuple[str, str]:
        """What stands before and after a tool's message that follows an ended assistant turn."""
        ...

    def user_turn(self) -> tuple[str, str]:
        """The same for a user's message."""
        ...


@dataclass(frozen=True, slots=True)
class Plain:
    """No template: the contents of the messages, one after another. For base models, whose page writes the roles."""

    markers: tuple[str, ...] = ()
    turn_end: str = ""
    turn_start: str = ""

    def render(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> str:
        """The contents, with no separator."""
        return "".join(message["content"] for message in messages)

    def tool_turn(self) -> tuple[str, str]:
        """A blank line on both sides."""
        return "\n\n", "\n\n"

    def user_turn(self) -> tuple[str, str]:
        """The same."""
        return self.tool_turn()


@dataclass(frozen=True, slots=True)
class ChatML:
    """`<|im_start|>role ... <|im_end|>`, with tools and their results written as Qwen's models read them."""

    markers: tuple[str, ...] = ("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<tool_response>", "</tool_response>")
    turn_end: str = "<|im_end|>"
    turn_start: str = "<|im_start|>"

    def render(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> str:
        """Each message in its markers; tools as JSON lines in the system message, calls asked for in `<tool_call>`."""
        turns = [dict(message) for message in messages]
        if tools:
            if not turns or turns[0]["role"] != "system":
                turns.insert(0, {"role": "system", "content": "You are a helpful assistant."})
            turns[0]["content"] += _describe(tools)
        rendered = [f"<|im_start|>{turn['role']}\n{turn['content']}<|im_end|>\n" for turn in turns]
        return "".join(rendered) + "<|im_start|>assistant\n"

    def tool_turn(self) -> tuple[str, str]:
        """A user turn that holds a `<tool_response>`, and the next assistant header."""
        return (
            "\n<|im_start|>user\n<tool_response>\n",
            "\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
        )

    def user_turn(self) -> tuple[str, str]:
        """A user turn, and the next assistant header."""
        return "\n<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"


_CHATML_TURN = re.compile(r"<\|im_start\|>(\w+)\n(.*?)(?:<\|im_end\|>|\Z)", re.DOTALL)


def parse_chatml(text: str) -> tuple[Message, ...]:
    """The messages of a rendered ChatML prompt, an empty last one left out; other text is one user message."""
    turns = tuple({"role": match[1], "content": match[2]} for match in _CHATML_TURN.finditer(text))
    if turns and not turns[-1]["content"].strip():
        turns = turns[:-1]
    return turns or ({"role": "user", "content": text},)


def _describe(tools: Sequence[Mapping[str, Any]]) -> str:
    schemas = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)
    return (
        "\n\n# Tools\n\nThese functions can be called; each line is the JSON schema of one:\n"
        f"<tools>\n{schemas}\n</tools>\n\n"
        "To call one, write a JSON object with its name and its arguments between tags:\n"
        '<tool_call>\n{"name": <name>, "arguments": <object>}\n</tool_call>'
    )


class TokenizerTemplate:
    """The chat template of a transformers tokenizer, taken apart by rendering small conversations.

    Args:
        tokenizer: a tokenizer with a `chat_template`.

    Raises:
        PageError: it has none, or one that does not render what an assistant says.
    """

    _PROBE = "~probe~"

    def __init__(self, tokenizer: Any) -> None:
        if not getattr(tokenizer, "chat_template", None):
            raise PageError(
                f"{type(tokenizer).__name__} has no chat template: give it one, or set prompt.template to 'chatml'"
            )
        self._tokenizer = tokenizer
        user = {"role": "user", "content": "q"}
        said = self._apply([user, {"role": "assistant", "content": self._PROBE}], add_generation_prompt=False)
        if self._PROBE not in said:
            raise PageError("the tokenizer's chat template leaves out what the assistant says; use another one")
        # behind the last probe: what stands before it need not be the prompt, as some write an empty thought there
        self.turn_end = said.rpartition(self._PROBE)[2].rstrip("\n")
        header = self._apply([user]).removeprefix(self._apply([user], add_generation_prompt=False))
        self.turn_start = header.partition("assistant")[0].strip() if "assistant" in header else ""
        added = tokenizer.added_tokens_decoder.values()
        self.markers = tuple(sorted({str(token.content) for token in added}))

    def _apply(self, messages: Sequence[Message], *, add_generation_prompt: bool = True, tools: Any = None) -> str:
        try:
            return str(
                self._tokenizer.apply_chat_template(
                    [dict(message) for message in messages],
                    tools=tools,
                    tokenize=False,
                    add_generation_prompt=add_generation_prompt,
                )
            )
        except Exception as error:  # a template is a program of somebody's, and raises what it likes
            roles = ", ".join(message["role"] for message in messages)
            raise PageError(
                f"the tokenizer's chat template refuses messages of the roles {roles}: {error}; use another one, or "
                "tokenizer.chat_template = None for the page's own prompt.template"
            ) from error

    def render(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> str:
        """As the tokenizer renders it, with a generation prompt.

        Raises:
            PageError: the template refuses these messages.
        """
        return self._apply(messages, tools=list(tools) or None)

    def tool_turn(self) -> tuple[str, str]:
        """What the template puts around a message of role `tool`.

        Raises:
            PageError: it has no such role, or rewrites earlier turns, so that nothing can be appended to them.
        """
        return self._turn("tool")

    def user_turn(self) -> tuple[str, str]:
        """What the template puts around a user's message that is not the first one.

        Raises:
            PageError: it rewrites earlier turns, so that nothing can be appended to them.
        """
        return self._turn("user")

    def _turn(self, role: str) -> tuple[str, str]:
        probe, result = self._PROBE, self._PROBE * 2
        user = {"role": "user", "content": "q"}
        remedy = "use another template, or a page whose protocol.kind is 'tags' or 'fences'"
        try:
            after = self._apply([user, {"role": "assistant", "content": probe}, {"role": role, "content": result}])
        except PageError as error:
            raise PageError(f"{error}; or a page whose protocol.kind is 'tags' or 'fences'") from error
        before = self._apply([user]) + probe
        if not after.startswith(before):
            raise PageError(f"the tokenizer's chat template rewrites earlier turns, and episodes only append: {remedy}")
        opening, found, closing = after[len(before) :].partition(result)
        if not found:
            raise PageError(f"the tokenizer's chat template leaves out messages of role {role!r}: {remedy}")
        if not opening.startswith(self.turn_end):
            raise PageError(f"the tokenizer's chat template ends an assistant's turn in two ways: {remedy}")
        return opening[len(self.turn_end) :], closing


_NAMED: dict[str, type[Plain] | type[ChatML]] = {"plain": Plain, "chatml": ChatML}


def template(name: str, where: str) -> ChatTemplate:
    """The template of that name.

    Raises:
        PageError: there is none.
    """
    if name not in _NAMED:
        raise PageError(f"{where}: there is no chat template {name!r}; {did_you_mean(name, _NAMED)}")
    return _NAMED[name]()
