"""The penalty for doing what a page says."""

import pytest

from toolenvs import schema
from toolenvs.errors import PageError
from toolenvs.rewards.terms.injected import Options


def test_a_penalty_does_not_pay() -> None:
    assert schema.read(Options, {"penalty": 0.0}, "page").penalty == 0.0
    for penalty in (1.0, float("nan")):
        with pytest.raises(PageError, match=r"page: penalty = .* pays for doing as a page says: give 0 or less"):
            schema.read(Options, {"penalty": penalty}, "page")
