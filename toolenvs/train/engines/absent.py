"""The engine of a process that samples nothing, as another one does it for all."""

from collections.abc import Mapping, Sequence
from typing import Any

from toolenvs.agents.engine import Engine, GenerateRequest, Generation
from toolenvs.errors import EngineError


class AbsentEngine(Engine):
    """Where the first of several processes asks a server, or workers, for every episode: what the others have."""

    def generate(self, requests: Sequence[GenerateRequest]) -> list[Generation]:
        """Refuse.

        Raises:
            EngineError: always.
        """
        raise EngineError("only the first process of this run samples: ask it for episodes with ranks.by_first")

    def push_weights(self, state_dict: Mapping[str, Any], version: int) -> None:
        """Keep the version alone."""
        self.version = version

    def holds(self, model: object) -> bool:
        """True: there is nothing that could disagree with the trainer."""
        return True
