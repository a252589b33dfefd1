"""A code sandbox behind HTTP, a drop-in for SandboxFusion's Python side.

`/run_code` and `/run_jupyter` as SandboxFusion has them; `/v1/sessions` besides, for interpreters that keep their state
(`toolenvs.sandbox.remote` is the client of both); `/health`, `/v1/ping`, `/metrics`.

The shapes of requests and answers follow the models of the package `sandbox-fusion` 0.3.7 (Apache-2.0) and the server
at github.com/bytedance/SandboxFusion.
"""

from toolenvs.serve.sandbox.app import build
from toolenvs.serve.sandbox.settings import Settings

__all__ = ["Settings", "build"]
