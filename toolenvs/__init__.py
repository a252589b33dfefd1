"""Gymnasium environments for language-model agents that act through tools.

Importing this package registers every page under "toolenvs/":

    env = gymnasium.make("toolenvs/ReTool-v0")

In a process that does not import it, such as a spawned worker, Gymnasium does so on "toolenvs:toolenvs/ReTool-v0".
`load` gives the same environment without Gymnasium, for rollouts and training; `connect` one that runs at a server.
"""

from typing import TYPE_CHECKING, Any

from toolenvs.registration import register, register_pages

if TYPE_CHECKING:
    from toolenvs.blueprint import Blueprint, load
    from toolenvs.remote import connect

__all__ = ["Blueprint", "connect", "load", "register"]
__version__ = "0.1.0"

register_pages()


def __getattr__(name: str) -> Any:  # loaded when first asked for, to keep the import light
    if name in ("Blueprint", "load"):
        from toolenvs import blueprint

        return getattr(blueprint, name)
    if name == "connect":
        from toolenvs.remote import connect

        return connect
    raise AttributeError(f"module 'toolenvs' has no attribute {name!r}")
