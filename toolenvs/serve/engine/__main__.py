"""Start an engine and serve it; see `--help`."""

import argparse
import contextlib
import importlib.util
import json
import os
import signal
import sys
import threading
from pathlib import Path

from toolenvs import bearer
from toolenvs.errors import ConfigError, ToolenvsError
from toolenvs.serve import run
from toolenvs.serve.engine.app import build
from toolenvs.train.engines.opening import ENGINES, open_here
from toolenvs.train.engines.process import TOKEN

_HEAD_S = 60.0
_GRACE_S = 1.0


def main() -> int:
    """Parse, start, serve; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m toolenvs.serve.engine", description=__doc__)
    parser.add_argument("--model", required=True, help="a model folder, or a name on the hub")
    parser.add_argument("--engine", default="vllm", choices=ENGINES)
    parser.add_argument("--options", default="{}", help="arguments of the engine, as JSON")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8200, help="port to listen on; 0 takes a free one")
    parser.add_argument("--ready", help="a file to write the address to, when requests can come")
    parser.add_argument("--owned", action="store_true", help="end when standard input ends")
    arguments = parser.parse_args()
    try:
        token = bearer.token(None, TOKEN)
        with contextlib.closing(run.bind(arguments.host, arguments.port)) as listener:
            if not run.is_loopback(listener) and not token:
                raise ConfigError(f"whoever reaches {run.url(listener)} could replace the weights: set {TOKEN}")
            if arguments.owned:
                threading.Thread(target=_end_with_owner, daemon=True).start()
            engine = open_here(arguments.engine, arguments.model, **json.loads(arguments.options))
            application = build(engine, name=arguments.model, token=token)
            if arguments.ready:
                unfinished = Path(f"{arguments.ready}.new")
                unfinished.write_text(run.url(listener), "utf-8")
                unfinished.rename(arguments.ready)
            print(f"serving {arguments.model} by {arguments.engine} on {run.url(listener)}", flush=True)
            quick = all(importlib.util.find_spec(name) for name in ("httptools", "uvloop"))
            run.serve(application, listener, head_s=_HEAD_S, grace_s=_GRACE_S, quick=quick)
    except ToolenvsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _end_with_owner() -> None:
    """An owner that was killed closes the pipe too; nobody else would ever end this process."""
    while sys.stdin.buffer.read(1 << 16):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
