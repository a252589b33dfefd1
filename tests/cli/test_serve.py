"""`toolenvs serve`."""

import socket
import sys

import pytest

from toolenvs.serve import run as runner


def test_a_taken_port_is_told_in_one_line(run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("serve", "sandbox", "--port", port)
    assert result.exit_code == 2
    assert result.output.startswith(f"toolenvs: cannot listen on 127.0.0.1 port {port}: ")
    assert result.output.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--backend", "locl"], "did you mean 'local'?"),
        (["--min-isolation", "strong"], "no isolation 'strong'"),
        (["--timeout-s", "600"], "timeout_s = 600 is above max_timeout_s = 120"),
        (["--max-queued", "-1"], "max_queued must be a positive number"),
        (["--host", "no.such.host.invalid"], "cannot listen on no.such.host.invalid"),
    ],
)
def test_wrong_settings_are_told_in_one_line(run, options: list[str], message: str) -> None:
    result = run("serve", "sandbox", "--port", "0", *options)
    assert result.exit_code == 2
    assert message in result.output


@pytest.mark.usefixtures("not_served")
def test_other_machines_are_warned_of(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOOLENVS_SANDBOX_TOKEN", raising=False)
    assert "WARNING" not in run("serve", "sandbox", "--port", "0").output
    assert "Whoever reaches it may run programs" in run("serve", "sandbox", "--port", "0", "--host", "0.0.0.0").output
    monkeypatch.setenv("TOOLENVS_SANDBOX_TOKEN", "s3cret")
    output = run("serve", "sandbox", "--port", "0", "--host", "0.0.0.0").output
    assert "travel unencrypted" in output
    assert "s3cret" not in output


@pytest.mark.usefixtures("not_served")
def test_other_machines_may_act_where_no_token_is_asked_for(run) -> None:
    """OpenEnv's clients send none: it had been said that the token travels unencrypted."""
    output = run("serve", "openenv", "Countdown-v0", "--port", "0", "--host", "0.0.0.0").output
    assert "Whoever reaches it may act here, with the page's tools: bar the port." in output
    assert "token" not in output


def test_a_missing_extra_is_named(run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("toolenvs.serve")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    result = run("serve", "sandbox", "--port", "0")
    assert result.exit_code == 2
    assert "pip install 'toolenvs[serve]'" in result.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["no/such/folder"], "there is no index folder no/such/folder"),
        (["world:many"], "say 'world:PASSAGES'"),
        (["world:100", "--backend", "bm26"], "did you mean 'bm25'?"),
        (["world:100", "--topk", "5", "--max-topk", "4"], "topk = 5 is above max_topk = 4"),
        (["world:100", "--max-queued", "100"], "max_per_client = 8192 is above max_queued = 100"),
        (["world:100", "--max-batch", "0"], "max_batch must be a positive number"),
        (["world:100", "--set", "kernel"], "write KEY=VALUE"),
        (["world:100", "--set", "kernels=numpy"], "kernels"),
        (["factbok"], "factbok"),
    ],
)
def test_wrong_settings_of_a_search_server(run, options: list[str], message: str) -> None:
    result = run("serve", "search", "--port", "0", *options)
    assert result.exit_code == 2, result.output
    assert message in result.output


def test_a_search_server_warns_of_other_machines(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "serve", lambda application, listener, **_: None)
    monkeypatch.delenv("TOOLENVS_SEARCH_TOKEN", raising=False)
    output = run("serve", "search", "world:100", "--port", "0").output
    assert "serving 100 passages by bm25 on http://127.0.0.1:" in output
    assert "WARNING" not in output
    assert "set TOOLENVS_SEARCH_TOKEN" in run("serve", "search", "world:100", "--port", "0", "--host", "0.0.0.0").output


def test_a_search_server_names_its_missing_extra(run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("toolenvs.serve")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvloop", None)
    result = run("serve", "search", "world:100", "--port", "0")
    assert result.exit_code == 2
    assert "pip install 'toolenvs[serve]'" in result.output
