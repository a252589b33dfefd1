"""`toolenvs serve env`."""

from pathlib import Path
from typing import Any

import pytest


@pytest.mark.usefixtures("not_served")
def test_other_machines_need_a_token(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOOLENVS_ENV_TOKEN", raising=False)
    assert "serving every bundled page on http://127.0.0.1:" in run("serve", "env", "--port", "0").output
    refused = run("serve", "env", "--port", "0", "--host", "0.0.0.0")
    assert refused.exit_code == 2
    assert "set TOOLENVS_ENV_TOKEN to a secret" in refused.output
    monkeypatch.setenv("TOOLENVS_ENV_TOKEN", "s3cret")
    served = run("serve", "env", "--port", "0", "--host", "0.0.0.0", "--page", "ReTool-v0")
    assert served.exit_code == 0
    assert "travel unencrypted" in served.output
    assert "s3cret" not in served.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--page", "RTool-v0"], "did you mean 'ReTool-v0'?"),
        (["--max-sessions", "-1"], "max_sessions must be a positive number"),
        (["--tokenizer", "nowhere"], "there is no tokenizer at nowhere"),
        (["--host", "no.such.host.invalid"], "cannot listen on no.such.host.invalid"),
    ],
)
def test_wrong_settings_are_told_in_one_line(run: Any, options: list[str], message: str) -> None:
    result = run("serve", "env", "--port", "0", *options)
    assert result.exit_code == 2
    assert message in result.output


@pytest.mark.usefixtures("not_served")
def test_a_tokenizer_of_a_file(run: Any, byte_codec: Any, tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_text(byte_codec._special.to_str(), "utf-8")
    assert run("serve", "env", "--port", "0", "--tokenizer", str(file)).exit_code == 0


def test_a_missing_package_names_its_extra(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "websockets", None)
    result = run("serve", "env", "--port", "0")
    assert result.exit_code == 2
    assert "toolenvs[serve]" in result.output
