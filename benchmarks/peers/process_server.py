"""What a server costs that starts an interpreter for every request: `bash -c "python FILE"` in a folder of its own.

That is how SandboxFusion runs Python with isolation "none"; it validates more and logs besides, so this is its floor.
The HTTP stack is the one of `toolenvs serve sandbox`. No isolation: for benchmarks only.
"""

import asyncio
import json
import os
import sys
import tempfile
import time

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


async def run_code(request: Request) -> JSONResponse:
    body = json.loads(await request.body())
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(body["code"])
        began_s = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            "/bin/bash",
            "-c",
            f"{sys.executable} {path}",
            cwd=folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), body["run_timeout"])
    run_result = {
        "status": "Finished",
        "execution_time": time.monotonic() - began_s,
        "return_code": process.returncode,
        "stdout": out.decode(),
        "stderr": err.decode(),
    }
    return JSONResponse({"status": "Success", "message": "", "run_result": run_result, "files": {}})


if __name__ == "__main__":
    application = Starlette(routes=[Route("/run_code", run_code, methods=["POST"])])
    uvicorn.run(application, port=int(sys.argv[1]), http="h11", access_log=False, log_level="warning")
