"""What a hostile server or page costs a browser of the live web: seconds past the deadline, and memory.

    python benchmarks/web_hostile.py [--timeout-s 2] [--rounds 3]

The server and its answers are those of `tests/web/hostile.py`, on this machine: bombs, endless and slow bodies, and
pages that are made to keep a parser busy. Each answer is opened by a browser of its own in this process, which the
processes that read its pages do not belong to. The bounds are half a second past the deadline and 50 MB.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from toolenvs import web
from toolenvs.web.guard import Policy
from toolenvs.web.render.child import peak_kb

HOSTILE = Path(__file__).resolve().parents[1] / "tests" / "web" / "hostile.py"
PATHS = [
    "/gzip-bomb", "/gzip-bomb-twice", "/brotli", "/deflate", "/gzip-endless", "/gzip-members-endless", "/endless",
    "/endless-chunks", "/drip", "/drip-chunks", "/drip-headers", "/drip-status", "/silent", "/continues",
    "/early-hints", "/headers-endless", "/header-long", "/chunk-extension", "/trailers", "/loop-bodies", "/page-quoted",
    "/page-attributes", "/page-nested", "/page-tables", "/page-cells", "/page-links", "/page-fields", "/page-brackets",
]  # fmt: skip


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--timeout-s", type=float, default=2.0)
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    with subprocess.Popen([sys.executable, str(HOSTILE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        port = int(server.stdout.readline())
        policy = Policy(allow=("*",), endpoints=frozenset({("127.0.0.1", port)}))

        def opened(path: str) -> web.Page:
            with web.open("live", policy=policy, pace_s=0, timeout_s=given.timeout_s) as browser:
                return browser.open(f"http://127.0.0.1:{port}{path}")

        assert opened("/good").status == "ok"
        before, worst = peak_kb(), {}
        for _ in range(given.rounds):
            for path in PATHS:
                page = opened(path)
                past = round(page.seconds - given.timeout_s, 2)
                worst[path] = max(worst.get(path, (past, page.status)), (past, page.status))
        server.stdin.close()
    print("| answer | status | seconds past the deadline, the worst |\n|---|---|---|")
    for path, (past, status) in worst.items():
        print(f"| {path} | {status} | {past} |")
    most = max(past for past, _ in worst.values())
    print(
        json.dumps(
            {"most_seconds_past": most, "grown_mb": round((peak_kb() - before) / 1024, 1), "answers": len(PATHS)}
        )
    )


if __name__ == "__main__":
    main()
