"""Gymnasium environments for language-model agents that act through tools.

Importing this package registers every page under "toolenvs/":

    env = gymnasium.make("toolenvs/ReTool-v0")
"""

from toolenvs.blueprint import Blueprint, load
from toolenvs.registration import register, register_pages

__all__ = ["Blueprint", "load", "register"]
__version__ = "0.1.0"

register_pages()
