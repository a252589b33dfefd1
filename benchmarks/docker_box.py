"""How fast the docker sandbox is: calls to the worker in a container, and a container per call for comparison.

    python benchmarks/docker_box.py [--image toolenvs-sandbox:latest] [--calls 300] [--containers 30]

DOCKER_HOST names the engine. Wall times are this machine's; the ratio at the end travels.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Callable

import docker

from toolenvs.sandbox.docker.box import DockerBox
from toolenvs.sandbox.docker.options import defaults

PRINT = "print(2+2)"
LIMITS = {
    "network_mode": "none",
    "read_only": True,
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges"],
    "pids_limit": 64,
    "mem_limit": "512m",
    "user": "64000:64000",
}


def times_ms(call: Callable[[], object], count: int, warm_up: int = 10) -> list[float]:
    for _ in range(warm_up):
        call()
    taken = []
    for _ in range(count):
        started = time.perf_counter()
        call()
        taken.append((time.perf_counter() - started) * 1000)
    return taken


def show(name: str, taken: list[float]) -> float:
    ordered = sorted(taken)
    p50, p95 = statistics.median(ordered), ordered[int(len(ordered) * 0.95)]
    print(f"{name:48s} p50 {p50:8.2f} ms   p95 {p95:8.2f} ms   min {ordered[0]:8.2f} ms")
    return p50


async def asynchronous(box: DockerBox, count: int) -> None:
    async with await box.asession() as session:
        taken = []
        for _ in range(count + 10):
            started = time.perf_counter()
            await session.arun(PRINT)
            taken.append((time.perf_counter() - started) * 1000)
        show("stateful print, asynchronous", taken[10:])
    started = time.perf_counter()
    results = await asyncio.gather(*[box.arun(PRINT) for _ in range(256)])
    assert all(result.stdout == "4\n" for result in results)
    print(f"{'256 stateless prints at once':48s} {time.perf_counter() - started:8.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the docker sandbox.")
    parser.add_argument("--image", default=defaults().image)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--containers", type=int, default=30)
    chosen = parser.parse_args()

    started = time.perf_counter()
    with DockerBox(image=chosen.image) as box:
        print(f"{'a box comes up':48s} {time.perf_counter() - started:8.2f} s")
        with box.session() as session:
            stateful = show("stateful print", times_ms(lambda: session.run(PRINT), chosen.calls))
        show("stateless print, back to back", times_ms(lambda: box.run(PRINT), chosen.calls))

        def after_a_pause() -> float:
            time.sleep(0.02)
            began = time.perf_counter()
            box.run(PRINT)
            return (time.perf_counter() - began) * 1000

        show("stateless print, 20 ms between requests", [after_a_pause() for _ in range(chosen.calls // 2)])
        asyncio.run(asynchronous(box, chosen.calls))

    client = docker.from_env()
    command = ["python3", "-I", "-S", "-c", PRINT]

    def container_per_call() -> None:
        client.containers.run(chosen.image, command, remove=True, **LIMITS)

    per_call = show("docker run per call (SDK)", times_ms(container_per_call, chosen.containers, 2))
    idle = client.containers.run(
        chosen.image, ["python3", "-c", "import time; time.sleep(3600)"], detach=True, **LIMITS
    )
    try:
        show("docker exec per call (SDK)", times_ms(lambda: idle.exec_run(command), chosen.containers, 2))
    finally:
        idle.remove(force=True)
        client.close()
    print(f"{'docker run per call / stateful call':48s} {per_call / stateful:8.0f} x")


if __name__ == "__main__":
    main()
