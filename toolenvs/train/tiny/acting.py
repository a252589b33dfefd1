"""What the scripts that demonstrate have in common: they write text, and act as if they had sampled its tokens."""

from toolenvs.blueprint import Blueprint
from toolenvs.errors import ConfigError
from toolenvs.rollout.agent import Action, Request


class Script:
    """An agent that writes what `write` says; its log-probabilities are 0.

    Args:
        blueprint: the environment, whose protocol, tasks and tokenizer it writes with.
        seed: of what it does.

    Raises:
        ConfigError: the blueprint has no tokenizer, or one without an end-of-text token.
    """

    def __init__(self, blueprint: Blueprint, seed: int) -> None:
        if blueprint.codec is None or getattr(blueprint.codec.tokenizer, "eos_token_id", None) is None:
            raise ConfigError(
                "demonstrations need an environment that was built with a tokenizer that has an EOS token"
            )
        self._blueprint = blueprint
        self._protocol = blueprint.protocol
        self._codec = blueprint.codec
        self._end: int = blueprint.codec.tokenizer.eos_token_id
        self._seed = seed

    def write(self, request: Request) -> tuple[str, bool]:
        """The text of this turn, and whether it ends the episode."""
        raise NotImplementedError

    async def act(self, request: Request) -> Action:
        """One turn, in tokens; the last one ends the text."""
        text, last = self.write(request)
        ids = self._codec.encode(text)
        if last:
            ids = [*ids, self._end]
        return Action(ids=tuple(ids), logprobs=(0.0,) * len(ids))

    def release(self, key: str) -> None:
        """Nothing is kept."""
