"""A root file system made of this machine's Python: the interpreter, its standard library, the packages that programs
may import, and the shared libraries that these need. Nothing is downloaded.
"""

import contextlib
import importlib.metadata
import importlib.util
import io
import os
import py_compile
import struct
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

from toolenvs.errors import ConfigError

_LEFT_OUT = frozenset(
    "site-packages dist-packages test tests idlelib ensurepip tkinter turtledemo lib2to3 __pycache__".split()  # noqa: SIM905
)
_TEXT = {
    "etc/passwd": "root:x:0:0:root:/:/bin/false\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
}
_LINKED_AT_ONCE = 200
_LOADED_BY_NAME = "libgcc_s.so.1"  # when a thread ends
SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"


def write(target: Path, packages: Iterable[str]) -> list[str]:
    """Write the file system as a tar file; the packages that are in it.

    Args:
        target: the file.
        packages: distributions; those that are not installed here are left out.

    Raises:
        ConfigError: this Python cannot be copied.
    """
    if sys.platform != "linux":
        raise ConfigError(f"an image of this machine's Python needs Linux, not {sys.platform}: build the Dockerfile")
    found = []
    with tarfile.open(target, "w") as archive:
        tree = _Tree(archive)
        tree.folder("tmp", 0o1777)
        for name, text in _TEXT.items():
            tree.text(name, text)
        interpreter = os.path.realpath(sys.executable)
        tree.copy(interpreter)
        tree.link("usr/local/bin/python3", interpreter)
        libraries = [interpreter]
        of_base = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
        for key in ("stdlib", "platstdlib"):
            libraries += tree.copy_below(os.path.realpath(sysconfig.get_path(key, vars=of_base)))
        site, homes = sysconfig.get_path("purelib", vars=of_base), set()
        for name in packages:
            try:
                distribution = importlib.metadata.distribution(name)
            except importlib.metadata.PackageNotFoundError:
                continue
            found.append(name)
            home = os.path.realpath(str(distribution.locate_file("")))
            homes.add(home)
            for top in sorted({file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}):
                libraries += tree.copy_below(f"{home}/{top}", f"{site}/{top}")
        for path in sorted(_linked(libraries)):
            if not any(path.startswith(f"{home}/") for home in homes):  # those found their place with their package
                tree.copy(path)
        for path in ("/etc/ld.so.cache", "/usr/share/zoneinfo"):
            if os.path.exists(path):
                tree.copy_below(path)
    return found


class _Tree:
    """A tar file that is filled with copies of this machine's files."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        self._archive = archive
        self._there: set[str] = {""}

    def folder(self, name: str, mode: int = 0o755) -> None:
        """A folder, with those above it; whatever its mode here, anyone may read it there."""
        name = name.strip("/")
        if name not in self._there:
            self.folder(os.path.dirname(name))
            entry = self._entry(name, mode)
            entry.type = tarfile.DIRTYPE
            self._archive.addfile(entry)

    def text(self, name: str, text: str) -> None:
        """A small file."""
        self.folder(os.path.dirname(name))
        entry = self._entry(name, 0o644)
        entry.size = len(text.encode())
        self._archive.addfile(entry, io.BytesIO(text.encode()))

    def link(self, name: str, target: str) -> None:
        """A symbolic link."""
        self.folder(os.path.dirname(name))
        entry = self._entry(name, 0o777)
        entry.type, entry.linkname = tarfile.SYMTYPE, target
        self._archive.addfile(entry)

    def copy(self, source: str, name: str | None = None) -> None:
        """A file at its own path, and every link on the way to it; or under another `name`."""
        if name is None:
            source = self._follow(source)
        name = (name or source).strip("/")
        if name in self._there:
            return
        self.folder(os.path.dirname(name))
        status = os.stat(source)
        entry = self._entry(name, 0o755 if status.st_mode & 0o100 else 0o644)
        entry.size, entry.mtime = status.st_size, int(status.st_mtime)
        with open(source, "rb") as file:
            self._archive.addfile(entry, file)

    def copy_below(self, source: str, name: str | None = None) -> list[str]:
        """A file or folder, compiled modules included and tests left out; the shared objects in it."""
        name = name or source
        if not os.path.isdir(source):
            if not os.path.exists(source):
                return []
            self.copy(source, name)
            self._compiled(source, name)
            return [source] if ".so" in os.path.basename(source) else []
        shared = []
        for item in sorted(os.listdir(source)):
            if item not in _LEFT_OUT and not item.startswith("config-"):
                shared += self.copy_below(f"{source}/{item}", f"{name}/{item}")
        return shared

    def _compiled(self, source: str, name: str) -> None:
        """What the interpreter would compile `source` to: the container cannot write it."""
        if not source.endswith(".py"):
            return
        name = f"{os.path.dirname(name)}/__pycache__/{Path(name).stem}.{sys.implementation.cache_tag}.pyc"
        cached = importlib.util.cache_from_source(source)
        if _is_current(cached, source):
            self.copy(cached, name)
            return
        with tempfile.NamedTemporaryFile(suffix=".pyc") as file:
            mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
            with contextlib.suppress(py_compile.PyCompileError):  # a template, or for another version
                py_compile.compile(source, file.name, source, doraise=True, invalidation_mode=mode)
                self.copy(file.name, name)

    def _follow(self, path: str) -> str:
        """The real path; the links that lead there are copied."""
        at = ""
        for part in path.strip("/").split("/"):
            at = f"{at}/{part}"
            if os.path.islink(at):
                if at.strip("/") not in self._there:
                    self.link(at.strip("/"), os.readlink(at))
                rest = path[len(at) :]
                return self._follow(os.path.normpath(os.path.join(os.path.dirname(at), os.readlink(at))) + rest)
        return path

    def _entry(self, name: str, mode: int) -> tarfile.TarInfo:
        self._there.add(name)
        entry = tarfile.TarInfo(name)
        entry.mode = mode
        return entry


def _is_current(cached: str, source: str) -> bool:
    """Whether a compiled module is what the interpreter would take for `source`."""
    status = os.stat(source)
    expected = importlib.util.MAGIC_NUMBER + struct.pack("<III", 0, int(status.st_mtime), status.st_size)
    try:
        with open(cached, "rb") as file:
            return file.read(len(expected)) == expected
    except OSError:
        return False


def _linked(files: list[str]) -> set[str]:
    """The libraries that the loader finds for `files`, and the loader."""
    found = set()
    for first in range(0, len(files), _LINKED_AT_ONCE):
        answer = subprocess.run(["ldd", *files[first : first + _LINKED_AT_ONCE]], capture_output=True, text=True)
        words = answer.stdout.split()
        found |= {os.path.normpath(word) for word in words if word.startswith("/") and not word.endswith(":")}
    for folder in ("/lib", "/usr/lib", f"/lib/{sysconfig.get_config_var('MULTIARCH')}"):
        if os.path.exists(f"{folder}/{_LOADED_BY_NAME}"):
            found.add(f"{folder}/{_LOADED_BY_NAME}")
    return found
