"""What the tests of the demos share."""

import pytest

from toolenvs.train.policy import save_policy
from toolenvs.train.tiny.reader import build_reader, build_reader_tokenizer


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    """A folder with an untrained policy that could read."""
    tokenizer = build_reader_tokenizer()
    return str(save_policy(tmp_path_factory.mktemp("policy"), build_reader(tokenizer, 0), tokenizer))
