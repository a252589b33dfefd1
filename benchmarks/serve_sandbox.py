"""How fast the sandbox server is: requests a second, latency and CPU per request, with 1, 8 and 64 clients.

    python benchmarks/serve_sandbox.py [--seconds 4] [--fusion URL --pid PID]

Starts `toolenvs serve sandbox` in a process of its own, and drives it from another through plain keep-alive
connections, so that the client costs little. Stateless programs go to /run_code, stateful ones to /v1/sessions. CPU is
the server's with all its interpreters, from /proc. In turn with it, a server on the same HTTP stack is driven that
starts a process for each request (`peers/process_server.py`), and with `--fusion` a SandboxFusion server that runs
already (`--pid` is its process, for CPU); ratios are of neighbours, so that other load on the machine hits both alike.
"""

import argparse
import http.client
import json
import multiprocessing
import os
import secrets
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PRINT = "print(2+2)"
WORK = "import time\nend = time.perf_counter() + 0.001\nwhile time.perf_counter() < end: pass\nprint(1)"
CLIENTS = (1, 8, 64)
TICKS = os.sysconf("SC_CLK_TCK")


def request(connection: http.client.HTTPConnection, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    while True:
        connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        data = response.read()
        if response.status == 429:
            time.sleep(0.01)
            continue
        assert response.status == 200, data
        return dict(json.loads(data))


def client(url: str, code: str, expected: str, stateful: bool, seconds: float, start: Any, results: Any) -> None:
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=120)
    key, number = secrets.token_hex(16), 0
    if stateful:
        request(connection, "PUT", f"/v1/sessions/{key}", {})
    path = f"/v1/sessions/{key}/run" if stateful else "/run_code"
    times_s: list[float] = []
    end_s = float("inf")
    while time.perf_counter() < end_s:
        number += 1
        body = {"code": code, "language": "python", "number": number, "run_timeout": 10}
        began_s = time.perf_counter()
        answer = request(connection, "POST", path, body)
        if number > 2:
            times_s.append(time.perf_counter() - began_s)
        assert answer["run_result"]["stdout"] == expected, answer
        if number == 2:  # warm
            start.wait()
            end_s = time.perf_counter() + seconds
    if stateful:
        connection.request("DELETE", f"/v1/sessions/{key}")
        connection.getresponse().read()
    results.extend(times_s)


def drive(url: str, code: str, expected: str, stateful: bool, clients: int, seconds: float, sender: Any) -> None:
    """Clients are threads of one process; it waits most of the time."""
    results: list[float] = []
    start = threading.Barrier(clients + 1)
    arguments = (url, code, expected, stateful, seconds, start, results)
    threads = [threading.Thread(target=client, args=arguments) for _ in range(clients)]
    for thread in threads:
        thread.start()
    start.wait()
    sender.send("started")
    began_s, cpu_s = time.perf_counter(), time.process_time()
    for thread in threads:
        thread.join()
    sender.send((results, time.perf_counter() - began_s, time.process_time() - cpu_s))


def tree_cpu_s(pid: int) -> float:
    """CPU of a process and of everything below it, the reaped included."""
    total, waiting = 0.0, [pid]
    while waiting:
        one = waiting.pop()
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            for task in os.listdir(f"/proc/{one}/task"):
                waiting += map(int, Path(f"/proc/{one}/task/{task}/children").read_text().split())
        except OSError:
            continue
        total += sum(int(field) for field in fields[11:15]) / TICKS
    return total


def measure(
    url: str, pid: int | None, code: str, expected: str, stateful: bool, clients: int, seconds: float
) -> dict[str, float]:
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=drive, args=(url, code, expected, stateful, clients, seconds, sender))
    process.start()
    assert receiver.recv() == "started"
    before_s = tree_cpu_s(pid) if pid else 0.0
    times_s, took_s, client_cpu_s = receiver.recv()
    after_s = tree_cpu_s(pid) if pid else 0.0
    process.join()
    times_s.sort()
    return {
        "per_s": len(times_s) / took_s,
        "p50_ms": statistics.median(times_s) * 1000,
        "p95_ms": times_s[int(len(times_s) * 0.95)] * 1000,
        "cpu_ms": (after_s - before_s) * 1000 / len(times_s),
        "client_ms": client_cpu_s * 1000 / len(times_s),
    }


def show(name: str, clients: int, figures: dict[str, float]) -> None:
    print(
        f"{name:34s} {clients:3d} clients {figures['per_s']:8.0f}/s   p50 {figures['p50_ms']:8.2f}   p95 "
        f"{figures['p95_ms']:8.2f} ms   server {figures['cpu_ms']:6.2f} CPU-ms, client {figures['client_ms']:5.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--fusion", default="", metavar="URL", help="of a SandboxFusion server")
    parser.add_argument("--pid", type=int, default=0, help="process of that server")
    parser.add_argument("--port", type=int, default=18_181, help="of the server that starts a process for each request")
    options = parser.parse_args()
    multiprocessing.set_start_method("spawn")
    ours = [sys.executable, "-c", "from toolenvs.cli import main; main()", "serve", "sandbox", "--port", "0"]
    plain = [sys.executable, str(Path(__file__).parent / "peers" / "process_server.py"), str(options.port)]
    with subprocess.Popen(ours, stdout=subprocess.PIPE, text=True) as server, subprocess.Popen(plain) as peer:
        assert server.stdout is not None
        url = server.stdout.readline().split()[-1]
        peers = {"a process for each request": (f"http://127.0.0.1:{options.port}", peer.pid)}
        if options.fusion:
            peers["SandboxFusion"] = (options.fusion, options.pid)
        for address, _ in peers.values():
            wait_for(address)
        print(f"{os.cpu_count()} cores, load average {' '.join(f'{load:.1f}' for load in os.getloadavg())}")
        for name, code, expected in (("print(2+2)", PRINT, "4\n"), ("1 ms of work", WORK, "1\n")):
            for stateful in (False, True):
                for clients in CLIENTS:
                    label = f"{name}, {'stateful' if stateful else 'stateless'}"
                    figures = measure(url, server.pid, code, expected, stateful, clients, options.seconds)
                    show(label, clients, figures)
                    for peer_name, (address, pid) in () if stateful else peers.items():
                        theirs = measure(address, pid, code, expected, False, clients, options.seconds)
                        show(f"  {peer_name}", clients, theirs)
                        ratio, cpu = figures["per_s"] / theirs["per_s"], theirs["cpu_ms"] / figures["cpu_ms"]
                        print(f"  ours over that: {ratio:.1f}x the requests, 1/{cpu:.1f} of the CPU", flush=True)
        for process in (server, peer):
            process.send_signal(signal.SIGTERM)


def wait_for(url: str) -> None:
    address = urlsplit(url)
    for _ in range(600):
        try:
            socket.create_connection((address.hostname or "", address.port or 80), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"nothing answers at {url}")


if __name__ == "__main__":
    main()
