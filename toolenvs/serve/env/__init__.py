"""Environments over HTTP and WebSocket, for trainers on other machines; `toolenvs.remote` is the client.

`settings` holds the limits, `allowed` what a client may override, `envs` the environments that were asked for,
`episode` an episode as a session, `operations` what may be asked, `app` the two ways to ask it.
"""

from toolenvs.serve.env.app import build
from toolenvs.serve.env.settings import Settings

__all__ = ["Settings", "build"]
