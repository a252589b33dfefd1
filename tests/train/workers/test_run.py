"""Settings of workers, as a training run takes them; runs with real workers are in test_ray.py."""

import pytest

from toolenvs.errors import ConfigError


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"workers": 2, "engine_url": "http://127.0.0.1:1"}, "engine_url = .* are both set"),
        ({"workers": -1}, "workers is -1"),
        ({"workers": 1, "worker_episodes": 0}, "worker_episodes 0"),
        ({"workers": 1, "engine": "vlm"}, "did you mean 'vllm'"),
    ],
)
def test_settings_that_do_not_go_together_are_told_before_anything_starts(run, changes, told):
    with pytest.raises(ConfigError, match=told):
        run("wrong", **changes)


def test_a_missing_ray_is_named_with_its_extra(run, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"toolenvs\[ray\]"):
        run("without", workers=1)
