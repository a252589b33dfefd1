"""Options and the policy, for which no engine is needed."""

import importlib.util
import sys

import pytest

from toolenvs import sandbox
from toolenvs.errors import ConfigError, IsolationError, MissingExtraError, SandboxError
from toolenvs.sandbox.docker import policy
from toolenvs.sandbox.docker.options import split


def test_options_of_the_container_and_of_a_program_are_told_apart() -> None:
    options, limits = split({"container_memory_mb": 1000, "memory_mb": 100})
    assert (options.container_memory_mb, limits.memory_mb) == (1000, 100)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"imag": "x"}, "did you mean 'image'"),
        ({"image": ""}, "image must be a name, not ''"),
        ({"runtime": 3}, "runtime must be a name, not 3"),
        ({"containers": 0}, "containers must be a positive whole number, not 0"),
        ({"containers": 1.5}, "containers must be a positive whole number, not 1.5"),
        ({"tmp_mb": True}, "tmp_mb must be a positive whole number, not True"),
        ({"container_cpus": float("nan")}, "container_cpus must be a positive number, not nan"),
        ({"memory_mb": 4096}, "must be less than container_memory_mb"),
        ({"timeout_s": -1}, "timeout_s must be a positive number, not -1"),
    ],
)
def test_wrong_options_are_named_before_any_engine_is_asked(given: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        sandbox.open("docker", **given)


def test_no_stronger_isolation_is_promised_than_there_is() -> None:
    with pytest.raises(IsolationError, match="less than 'namespace'"):
        sandbox.open("docker", min_isolation="namespace")
    with pytest.raises(ConfigError, match="did you mean 'hardened'"):
        sandbox.open("docker", min_isolation="hardend")


def test_an_engine_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing")
    with pytest.raises(SandboxError, match="no Docker engine answers .*DOCKER_HOST"):
        sandbox.open("docker")


def test_the_sdk_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    assert importlib.util.find_spec("docker")
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(MissingExtraError, match=r"toolenvs\[docker\]"):
        sandbox.open("docker")


def test_the_stored_policy_is_the_one_that_is_written_in_python() -> None:
    assert policy.stored().read_text("utf-8") == policy.text(), "run python -m toolenvs.sandbox.docker.policy"


_DANGEROUS = """
socket io_uring_setup keyctl add_key request_key userfaultfd bpf perf_event_open ptrace mount umount2 unshare setns
pivot_root chroot mknod mknodat init_module kexec_load process_vm_readv process_vm_writev open_by_handle_at
memfd_create personality setuid setreuid
""".split()  # noqa: SIM905


def test_the_policy_has_no_way_out() -> None:
    named = {name for rule in policy.profile()["syscalls"] for name in rule["names"]}
    assert named.isdisjoint(_DANGEROUS)
