import pytest

from toolenvs.errors import EngineError
from toolenvs.train.engines.absent import AbsentEngine
from toolenvs.train.engines.sync import push


def test_an_absent_engine_takes_weights_and_samples_nothing(trainer, asked):
    engine = AbsentEngine()
    assert push(engine, trainer, 3) == {}
    assert engine.version == 3
    with pytest.raises(EngineError, match="only the first process of this run samples"):
        engine.generate(asked(1))
