"""The system call policy of a container, in the engine's format: what the fork servers and their cells may call.

It is the cells' own list, with what it takes to make cells. There is no `socket`, so neither AF_VSOCK nor AF_ALG nor
netlink; no io_uring, keyctl, userfaultfd, bpf, perf, ptrace, mount or unshare. `sandboxes/docker/seccomp.json` is
written from here:

    python -m toolenvs.sandbox.docker.policy
"""

import json
from pathlib import Path
from typing import Any

from toolenvs import assets
from toolenvs.sandbox import seccomp

_TO_MAKE_CELLS = """
execve fork vfork timer_create kill tkill tgkill prctl prlimit64 setrlimit seccomp setsid setpgid capget capset
arch_prctl sendmsg sendto setsockopt pidfd_open pidfd_send_signal
landlock_create_ruleset landlock_add_rule landlock_restrict_self
""".split()  # noqa: SIM905
_AF_UNIX = 1
_NEW_NAMESPACES = 0x7E020000  # every CLONE_NEW* flag of clone
_ENOSYS = 38


def profile() -> dict[str, Any]:
    """The policy; what it does not name fails with EPERM."""
    # One rule for each value: a runtime takes any of them, and cannot ask two things of one argument at once.
    conditions = [("socketpair", 0, "SCMP_CMP_EQ", _AF_UNIX), ("clone", 0, "SCMP_CMP_MASKED_EQ", _NEW_NAMESPACES)]
    conditions += [
        ("ioctl", 1, "SCMP_CMP_EQ", value)
        for value in (*seccomp.IOCTL, seccomp.Listener.RECEIVE, seccomp.Listener.SEND, seccomp.Listener.SET_FLAGS)
    ]
    conditions += [("fcntl", 1, "SCMP_CMP_EQ", value) for value in seccomp.FCNTL]
    always = sorted({*seccomp.ALWAYS, *seccomp.PRIVATE_FILES, *_TO_MAKE_CELLS})
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "archMap": [
            {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": []},
            {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": []},
        ],
        "syscalls": [
            {"names": always, "action": "SCMP_ACT_ALLOW"},
            *(
                {
                    "names": [name],
                    "action": "SCMP_ACT_ALLOW",
                    "args": [{"index": index, "op": comparison, "value": value, "valueTwo": 0}],
                }
                for name, index, comparison, value in conditions
            ),
            # its flags lie behind a pointer; glibc then falls back to clone
            {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOSYS},
        ],
    }


def stored() -> Path:
    """Where the policy lies."""
    return assets.folder("sandboxes") / "docker" / "seccomp.json"


def text() -> str:
    """The policy as it is stored."""
    return json.dumps(profile(), indent=1) + "\n"


if __name__ == "__main__":
    stored().write_text(text(), encoding="utf-8")
