"""Stage 3, parsing: recorded text or chat messages into the policy's turns and the interpreter's recorded texts.

What is read stays as it was written wherever it is in the page's own protocol. ReTool's text form (`<code>` and
`<interpreter>` in one text) and chat messages with `tool_calls` are written anew in the protocol of a page that writes
calls otherwise. Nothing is repaired: what does not fit stays in the turn, where the check of the form finds it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from toolenvs.coldstart.recording import Recording, Step, join
from toolenvs.coldstart.rejection import Reason, Rejection
from toolenvs.coldstart.rewrite.base import write_code
from toolenvs.protocols.base import Protocol

_RETOOL_CALL = re.compile(
    r"<code>\s*```python[ \t]*\n(?P<code>(?:(?!</code>).)*?)\n?```\s*</code>"
    r"(?:\s*<interpreter>(?P<output>(?:(?!</interpreter>).)*)</interpreter>)?",
    re.DOTALL,
)


def read_messages(messages: Sequence[Mapping[str, Any]], protocol: Protocol) -> Recording | Rejection:
    """Read the messages of a conversation from its first reply on.

    Args:
        messages: one assistant message that holds everything, or assistant messages with `tool_calls` (the arguments
            an object or its JSON), each followed by a message of role `tool`.
        protocol: the page's.
    """
    if len(messages) == 1 and not messages[0].get("tool_calls"):
        return read_text(str(messages[0].get("content") or ""), protocol)
    steps: list[Step] = []
    for message in messages:
        content = str(message.get("content") or "")
        if message.get("role") == "tool":
            if not steps or steps[-1].output is not None:
                return Rejection(Reason.UNFINISHED, "a tool message follows no assistant message that calls")
            steps[-1] = Step(steps[-1].turn, content.strip())
        elif message.get("role") != "assistant":
            return Rejection(Reason.UNFINISHED, f"a message of role {message.get('role')!r} stands among the replies")
        elif message.get("tool_calls"):
            code = _code_of(message["tool_calls"])
            if isinstance(code, Rejection):
                return code
            steps.append(Step(join(content, write_code(protocol, code))))
        else:
            steps.append(Step(protocol.write_answer(content.strip()) if protocol.turn_end else content.strip()))
    return Recording(tuple(steps))


def read_text(text: str, protocol: Protocol) -> Recording | Rejection:
    """Read a response that is one text, in the page's protocol or in ReTool's.

    A turn ends at the protocol's stop string. What follows it in the wrapper of an observation is the recorded output;
    white space around turns and outputs is dropped, since the page has its own.
    """
    around = protocol.observation(None, "")
    opening, closing = around.opening.strip(), around.closing.strip()
    if opening != "<interpreter>" and _RETOOL_CALL.search(text):
        return read_messages(_unfold(text), protocol)
    steps: list[Step] = []
    while True:
        ends = [text.find(stop) + len(stop) for stop in protocol.stop if stop in text]
        end = min(ends, default=len(text))
        turn, text = text[:end].strip(), text[end:].strip()
        if not text:
            return Recording((*steps, Step(turn)))
        output = None
        content_end = text.find(closing, len(opening)) if text.startswith(opening) else -1
        if content_end >= 0:
            output = text[len(opening) : content_end].strip()
            text = text[content_end + len(closing) :]
        steps.append(Step(turn, output))


def _unfold(text: str) -> list[dict[str, Any]]:
    """ReTool's text form as chat messages with `tool_calls`, as verl's recipe converts it."""
    messages: list[dict[str, Any]] = []
    position = 0
    for match in _RETOOL_CALL.finditer(text):
        function = {"name": "code_interpreter", "arguments": {"code": match["code"]}}
        words = text[position : match.start()].strip()
        messages.append({"role": "assistant", "content": words, "tool_calls": [{"function": function}]})
        if match["output"] is not None:
            messages.append({"role": "tool", "content": match["output"]})
        position = match.end()
    return [*messages, {"role": "assistant", "content": text[position:].strip()}]


def _code_of(tool_calls: Any) -> str | Rejection:
    """The program of a message's one call."""
    if not isinstance(tool_calls, Sequence) or len(tool_calls) != 1:
        return Rejection(Reason.LEFTOVER, "a message makes more than one call; a turn makes one")
    function = tool_calls[0].get("function") if isinstance(tool_calls[0], Mapping) else None
    if not isinstance(function, Mapping):
        return Rejection(Reason.MALFORMED, "a tool call has no 'function'")
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError) as error:
            return Rejection(Reason.MALFORMED, f"the arguments of a tool call are not JSON: {error}")
    code = arguments.get("code") if isinstance(arguments, Mapping) else None
    if not isinstance(code, str):
        return Rejection(Reason.UNKNOWN_TOOL, f"the function {function.get('name')!r} is called without 'code'")
    return code
