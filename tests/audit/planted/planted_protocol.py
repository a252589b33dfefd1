"""The tags of `toolenvs.protocols.tags`, sound or with one fault."""

import re
from dataclasses import dataclass, fields, replace

from toolenvs.protocols import tags


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(tags.Options):
    fault: str = ""


class Protocol(tags.Protocol):
    def __init__(self, options: Options, template) -> None:
        own = {field.name: getattr(options, field.name) for field in fields(tags.Options)}
        super().__init__(tags.Options(**own), template)
        self.fault = options.fault
        if self.fault in ("names no markers", "believes a tool's tags"):
            self.markers = ("<nothing>",)
        elif self.fault == "forgets the chat tokens":
            self.markers = tuple(mark for mark in self.markers if "|" not in mark)

    def parse(self, turn: str):
        if self.fault == "masks nothing":
            return replace(super().parse(turn), forged=())
        if self.fault == "masks one spelling":
            found = re.finditer(r"<information>.*?(?:</information>|\Z)", turn, re.DOTALL)
            return replace(super().parse(turn), forged=tuple(match.span() for match in found))
        if self.fault == "reads slowly":
            for position in range(0, len(turn), 4) if turn.count("<ask>") > 1_000 else ():
                turn[position:].swapcase()
        if self.fault == "falls over what is not closed" and turn.count("<ask>") > turn.count("</ask>"):
            raise IndexError("no closing tag")
        return super().parse(turn)

    def messages(self, prompt, parts):
        if self.fault not in ("tells turns by tags", "believes a tool's tags"):
            return super().messages(prompt, parts)
        pieces = re.split(r"<information>(.*?)</information>", "".join(text for _, text in parts), flags=re.DOTALL)
        roles = ("assistant", "tool")
        said = [{"role": roles[number % 2], "content": piece} for number, piece in enumerate(pieces)]
        return [*map(dict, prompt), *said]
