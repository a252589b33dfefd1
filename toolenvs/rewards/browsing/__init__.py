"""What an episode of browsing did: which pages it opened, and whether one of them had its way with the agent."""

from toolenvs.rewards.browsing.citing import CITED, cited
from toolenvs.rewards.browsing.obeying import injected

__all__ = ["CITED", "cited", "injected"]
