"""A helper model that cannot be asked is told, and asked again only where that may help."""

import socket
from typing import Any

import pytest

from toolenvs import endpoint, loop, schema
from toolenvs.endpoint import Endpoint
from toolenvs.errors import EngineError, MissingExtraError, PageError


def test_a_server_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "_FIRST_WAIT_S", 0.0)
    with socket.socket() as taken:  # bound and not listening, so nobody answers
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(EngineError, match=rf"tiny at {address} gave no answer: ConnectError"):
            loop.run(Endpoint(base_url=address, model="tiny").ask("q", seed=0))


def test_busy_servers_are_asked_again_and_others_are_not(chat_model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "_FIRST_WAIT_S", 0.0)
    handler, options = chat_model
    handler.answers += [(429, {}), (500, {}), (503, {}), (200, {"choices": [{"message": {"content": "a"}}]}), (404, {})]
    model = Endpoint(**options)
    assert loop.run(model.ask("q", seed=7)) == "a"
    assert len(handler.asked) == 4
    assert {body["seed"] for _, body in handler.asked} == {7}
    assert {token for token, _ in handler.asked} == {""}  # the variable is not set
    with pytest.raises(EngineError, match="status 404"):
        loop.run(model.ask("q", seed=7))
    assert len(handler.asked) == 5


@pytest.mark.parametrize("answer", [{"error": "x"}, {"choices": []}, {"choices": [{"message": {"content": None}}]}, 7])
def test_a_reply_without_a_message(chat_model: Any, answer: Any) -> None:
    handler, options = chat_model
    handler.answers += [(200, answer)]
    with pytest.raises(EngineError, match="answered without a message"):
        loop.run(Endpoint(**options).ask("q", seed=7))
    assert len(handler.asked) == 1


def test_half_a_surrogate_pair_is_replaced(chat_model: Any) -> None:
    handler, options = chat_model
    handler.answers += [(200, {"choices": [{"message": {"content": "a\ud800"}}]})]
    assert loop.run(Endpoint(**options).ask("q", seed=7)) == "a\ufffd"


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_module(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(endpoint.importlib, "import_module", no_module)
    with pytest.raises(MissingExtraError, match=r"toolenvs\[openai\]"):
        loop.run(Endpoint(base_url="http://127.0.0.1:1/v1", model="tiny").ask("q", seed=0))


def test_ranges() -> None:
    with pytest.raises(PageError, match="max_tokens = 0 is out of range"):
        schema.read(Endpoint, {"base_url": "x", "model": "y", "max_tokens": 0}, "test")
