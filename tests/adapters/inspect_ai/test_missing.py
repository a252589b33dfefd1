"""Without the package the adapter says what to install."""

import importlib
import sys

import pytest

from toolenvs.errors import MissingExtraError


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    monkeypatch.delitem(sys.modules, "toolenvs.adapters.inspect", raising=False)
    with pytest.raises(MissingExtraError, match=r"toolenvs\[inspect\]"):
        importlib.import_module("toolenvs.adapters.inspect")
