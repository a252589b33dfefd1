"""How a policy writes a call and an answer, and how the environment writes back."""

from toolenvs.protocols.base import Call, Observation, Protocol, Reply
from toolenvs.protocols.markers import neutralize
from toolenvs.protocols.templates import ChatTemplate

__all__ = ["Call", "ChatTemplate", "Observation", "Protocol", "Reply", "neutralize"]
