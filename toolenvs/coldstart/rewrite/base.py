"""The one interface of every rewriter."""

from typing import Protocol

from toolenvs.coldstart.recording import Recording
from toolenvs.coldstart.rejection import Rejection
from toolenvs.coldstart.source import Source
from toolenvs.protocols.base import Call
from toolenvs.protocols.base import Protocol as PageProtocol

TOOL = "python"
"""Name of the tool that rewritten responses call."""


class Rewriter(Protocol):
    """Turns a source into a code-integrated response."""

    name: str
    """Stands in the provenance of the rows."""

    async def rewrite(self, source: Source, protocol: PageProtocol) -> Recording | Rejection:
        """The response, written in the page's protocol, or why there can be none.

        Raises:
            InfrastructureError: what the rewriter stands on failed; the source is tried once more.
        """
        ...


def write_code(protocol: PageProtocol, code: str) -> str:
    """A call that runs `code`."""
    return protocol.write_call(Call(TOOL, {"code": code}))


def write_box(protocol: PageProtocol, answer: str) -> str:
    r"""A final answer in a `\boxed{}`."""
    return protocol.write_answer(f"\\boxed{{{answer}}}")
