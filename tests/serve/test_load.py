"""More work than a server takes is sent away with a time to come back; clients that go away or dawdle cost nothing."""

import asyncio
import contextlib
import os
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.serve.serving import check_patience
from toolenvs.serve import run
from toolenvs.serve.admission import Admission
from toolenvs.serve.http import Refused

ENDLESS = {"code": "while True: pass", "language": "python", "run_timeout": 600}


def _gauge(served, name: str) -> float:
    return float(served.metrics()[f"toolenvs_sandbox_{name}"])


def _until(served, name: str, value: float) -> None:
    deadline = time.monotonic() + 60
    while _gauge(served, name) != value:
        assert time.monotonic() < deadline, f"{name} is {_gauge(served, name)}"
        time.sleep(0.02)


def _refused(served) -> None:
    response = served.post("/run_code", {"code": "1", "language": "python"})
    assert response.status_code == 429
    assert int(response.headers["retry-after"]) >= 1
    assert response.json()["detail"].endswith("try again later")


def test_past_the_queue_comes_429(start) -> None:
    with (
        start("--max-running", "1", "--max-queued", "2", "--max-timeout-s", "600", "--grace-s", "1") as served,
        ThreadPoolExecutor(3) as threads,
    ):
        for running, queued in ((1, 0), (1, 1), (1, 2)):
            threads.submit(_quietly, served, "/run_code", ENDLESS)
            _until(served, "queued", queued)
            _until(served, "running", running)
        _refused(served)
        served.end()


def test_past_a_clients_share_comes_429(start) -> None:
    with (
        start("--max-running", "4", "--max-per-client", "2", "--max-timeout-s", "600", "--grace-s", "1") as served,
        ThreadPoolExecutor(2) as threads,
    ):
        for _ in range(2):
            threads.submit(_quietly, served, "/run_code", ENDLESS)
        _until(served, "running", 2)
        _refused(served)
        other = {"X-Forwarded-For": "203.0.113.7"}  # which is what anyone may say
        assert httpx.post(served.url + "/run_code", json=ENDLESS, headers=other, trust_env=False).status_code == 429
        served.end()


def test_a_client_that_goes_away_stops_its_program(start) -> None:
    with start("--max-running", "1", "--max-timeout-s", "600") as served:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(
                served.url + "/run_code",
                json=ENDLESS,
                timeout=1,
                trust_env=False,
            )
        _until(served, "running", 0)
        assert served.run("print(1)")["status"] == "Success"


def test_a_client_that_goes_away_leaves_the_queue(start) -> None:
    options = ("--max-running", "1", "--max-timeout-s", "600", "--grace-s", "1")
    with start(*options) as served, ThreadPoolExecutor(1) as threads:
        threads.submit(_quietly, served, "/run_code", ENDLESS)
        _until(served, "running", 1)
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(served.url + "/run_code", json=ENDLESS, timeout=1, trust_env=False)
        _until(served, "queued", 0)
        assert _gauge(served, "running") == 1
        served.end()


def test_connections_without_a_request_are_closed() -> None:
    """On the protocol itself, with short limits."""
    check_patience(run._protocol(0.3), (b"", b"GET / HTTP/1.1\r\nX: "))


def test_a_token_is_asked_for(start) -> None:
    with start(token="s3cret") as served:
        body = {"code": "print(1)", "language": "python"}
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": "Basic s3cret"},
            {"Authorization": "Bearer ü"},
        ):
            raw = {name: value.encode() for name, value in headers.items()}
            assert served.post("/run_code", body, headers=raw).status_code == 401
        assert served.get("/metrics").status_code == 401
        assert served.get("/health").status_code == 200
        assert served.post("/run_code", body, headers={"Authorization": "Bearer s3cret"}).status_code == 200


def test_sigterm_ends_what_runs(start) -> None:
    with start("--grace-s", "1", "--max-timeout-s", "600") as served, ThreadPoolExecutor(2) as threads:
        key = "0" * 32
        assert httpx.put(f"{served.url}/v1/sessions/{key}", json={}, trust_env=False, timeout=30).status_code == 200
        children = _descendants(served.process.pid)
        endless = ENDLESS | {"number": 1}
        runs = [
            threads.submit(_quietly, served, "/run_code", endless),
            threads.submit(_quietly, served, f"/v1/sessions/{key}/run", endless),
        ]
        _until(served, "running", 2)
        children |= _descendants(served.process.pid)
        assert served.end() == 0
        for one in runs:
            one.result()
        assert children
        assert not [pid for pid in children if _lives(pid)]
        with pytest.raises(httpx.ConnectError):
            served.get("/health")


def _quietly(served, path: str, body: object) -> None:
    with contextlib.suppress(httpx.TransportError):
        served.post(path, body)


def _descendants(pid: int) -> set[int]:
    found: set[int] = set()
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                for child in map(int, file.read().split()):
                    found |= {child} | _descendants(child)
    return found


def _lives(pid: int) -> bool:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return False
        except OSError:
            return False
        time.sleep(0.02)
    return True


async def test_places_are_given_in_order_and_given_back() -> None:
    admission = Admission(max_running=1, max_queued=2, per_client=2, queue_s=0.2)
    order: list[int] = []

    async def work(number: int, client: str, for_s: float) -> None:
        async with admission.place(client):
            order.append(number)
            await asyncio.sleep(for_s)

    tasks = [asyncio.create_task(work(number, "ab"[number % 2], 0.05)) for number in range(3)]
    await asyncio.sleep(0)
    assert (admission.running, admission.queued) == (1, 2)
    with pytest.raises(Refused) as full:
        await work(3, "c", 0)
    assert (full.value.status, full.value.headers) == (429, {"Retry-After": "1"})
    await asyncio.gather(*tasks)
    assert order == [0, 1, 2]
    holder = asyncio.create_task(work(4, "a", 60))
    await asyncio.sleep(0)
    with pytest.raises(Refused, match=r"no place was free for 0\.2 s") as late:
        await work(5, "b", 0)
    assert late.value.status == 503
    waiting = asyncio.create_task(work(6, "a", 0))
    await asyncio.sleep(0)
    with pytest.raises(Refused, match="2 requests of a are here already"):
        await work(7, "a", 0)
    for task in (waiting, holder):
        task.cancel()
    await asyncio.gather(waiting, holder, return_exceptions=True)
    assert (admission.running, admission.queued) == (0, 0)
    await work(8, "a", 0)
