"""Tokens as people keep them: in a variable that was read from a file, or that a template forgot to fill in."""

import pytest

from toolenvs import bearer, retrieval, sandbox
from toolenvs.errors import ConfigError

VARIABLE = "TOOLENVS_TEST_TOKEN"


@pytest.mark.parametrize(
    ("given", "kept", "told"),
    [(None, "", ""), (None, "s3cret", "s3cret"), (None, " s3cret\r\n", "s3cret"), ("", "s3cret", ""), ("a\n", "", "a")],
)
def test_a_token_is_what_stands_between_white_space(
    monkeypatch: pytest.MonkeyPatch, given: str | None, kept: str, told: str
) -> None:
    monkeypatch.setenv(VARIABLE, kept)
    assert bearer.token(given, VARIABLE) == told


@pytest.mark.parametrize("wrong", ["sécret", "se cret", "se\ncret", "s\0", "\ud800"])
def test_what_no_header_can_carry_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    with pytest.raises(ConfigError, match=rf"the token, as of {VARIABLE}, .* visible ASCII") as told:
        bearer.token(wrong, VARIABLE)
    assert wrong not in str(told.value)


def test_headers() -> None:
    assert bearer.headers("") == {}
    assert bearer.headers("s3cret") == {"Authorization": "Bearer s3cret"}


def test_clients_take_it_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that could not be sent was tried again and again, and then shown in the message."""
    monkeypatch.setenv("TOOLENVS_SEARCH_TOKEN", "one\ntwo")
    with pytest.raises(ConfigError, match="TOOLENVS_SEARCH_TOKEN"):
        retrieval.open("http://127.0.0.1:9")
    with pytest.raises(ConfigError, match="TOOLENVS_SANDBOX_TOKEN"):
        sandbox.open("remote", url="http://127.0.0.1:9", token="sécret")
