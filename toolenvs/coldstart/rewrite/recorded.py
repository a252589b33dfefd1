"""For recorded conversations: nothing is rewritten, only read."""

from toolenvs.coldstart.parse import read_messages
from toolenvs.coldstart.recording import Recording
from toolenvs.coldstart.rejection import Reason, Rejection
from toolenvs.coldstart.source import Source
from toolenvs.protocols.base import Protocol


class Recorded:
    """Reads the conversation that the source holds; see `toolenvs.coldstart.parse`."""

    name = "recorded"

    async def rewrite(self, source: Source, protocol: Protocol) -> Recording | Rejection:
        """The conversation in the page's protocol."""
        if not source.replies:
            return Rejection(Reason.NO_SOLUTION, "the source holds no reply; its row needs a column 'messages'")
        return read_messages(source.replies, protocol)
