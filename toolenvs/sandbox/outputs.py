"""Files that a program is given, figures and files that it leaves: collected in the cell, read strictly by the host.

In the cell nothing is imported for it: a hook waits until matplotlib is imported, by the fork server or by the program
itself. Figures are those that `show` is called for, and those left open at the end of a run; files are the regular
ones, new or changed, of the working directory (not of folders in it). On the way they are names and bytes, nothing
else; the host checks every bound again.
"""

import io
import os
import re
import stat
import struct
import sys
import time
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MAX_FILES = 16
"""Files and figures of one run that come back; `Result.truncated` says that there were more."""
MAX_BYTES = 8 << 20
"""Their size together."""
_ENTRY = struct.Struct("<HI")  # bytes of the name, of the content
MAX_PACKED_BYTES = MAX_BYTES + MAX_FILES * (_ENTRY.size + 512)
_PIECE_BYTES = 1 << 16
_PAST_NS = 10**9
_EMPTY_BYTES = 40  # what a folder of tmpfs, as the cells' own are, has as its size: 20 for each entry, "." and ".." too
_NAME = re.compile(r"\w(?:[\w .()+,=@~-]{0,126}\w)?")
_HOOKED = ("matplotlib", "matplotlib.backend_bases", "matplotlib.font_manager", "numpy.random")
_ENVIRONMENT = {"MPLBACKEND": "Agg", "MATPLOTLIBRC": "/dev/null", "MPL_IGNORE_SYSTEM_FONTS": "1"}


def is_plain(name: str) -> bool:
    """Whether a file of that name may come or go: no folder before it, nothing hidden, nothing that a shell reads."""
    return _NAME.fullmatch(name) is not None


def pack(files: dict[str, bytes]) -> bytes:
    """Files as one block."""
    parts = []
    for name, content in files.items():
        parts += [_ENTRY.pack(len(name.encode()), len(content)), name.encode(), content]
    return b"".join(parts)


def unpack(block: bytes) -> dict[str, bytes]:
    """The inverse of `pack`, total on hostile blocks.

    Raises:
        ValueError: it is no such block, holds too much, or a name that is not plain.
    """
    files: dict[str, bytes] = {}
    position = 0
    while position < len(block):
        if len(block) - position < _ENTRY.size:
            raise ValueError("a block of files ends in a header")
        name_bytes, size = _ENTRY.unpack_from(block, position)
        start = position + _ENTRY.size + name_bytes
        position = start + size
        if position > len(block):
            raise ValueError("a block of files ends in a file")
        name = block[start - name_bytes : start].decode("utf-8")
        if not is_plain(name) or name in files:
            raise ValueError("a file's name is not plain, or comes twice")
        files[name] = block[start:position]
    if len(files) > MAX_FILES or sum(map(len, files.values())) > MAX_BYTES:
        raise ValueError("too many files, or too large ones")
    return files


class Outputs:
    """What the runs of one cell leave.

    Args:
        folder: the working directory; None where nothing can be written.
    """

    def __init__(self, folder: str | None) -> None:
        self.folder = folder
        self.seed = 0
        """Of NumPy's global stream, when a program is the first to load that."""
        self._seen: dict[str, tuple[int, int, int]] = {}
        self._figures: list[bytes] = []
        self._lost = False
        sys.meta_path.insert(0, _Hook(self))

    def put(self, read: Callable[[int], bytes], size: int) -> str | None:
        """Write files to the working directory; what was in the way, if anything.

        Args:
            read: gives the next so many bytes of a block from the host.
            size: of the block, all of which is read.
        """
        obstacle: str | None = None
        while size:
            name_bytes, left = _ENTRY.unpack(read(_ENTRY.size))
            size -= _ENTRY.size + name_bytes + left
            name = read(name_bytes).decode()
            path = f"{self.folder}/{name}"
            descriptor = -1
            try:
                if os.path.lexists(path):
                    os.unlink(path)
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                while left:
                    piece = read(min(left, _PIECE_BYTES))
                    left -= len(piece)
                    while piece:
                        piece = piece[os.write(descriptor, piece) :]
                # older than the program's own writing, however coarse the clock of the file system is
                past_ns = time.time_ns() - _PAST_NS
                os.utime(path, ns=(past_ns, past_ns))
                self._seen[name] = _mark(os.fstat(descriptor))
            except OSError as error:
                obstacle = obstacle or f"OSError: the file {name!r} cannot be put there: {error.strerror}"
            finally:
                if descriptor >= 0:
                    os.close(descriptor)
            while left:
                left -= len(read(min(left, _PIECE_BYTES)))
        return obstacle

    def show(self, manager: Any) -> None:
        """Draw the figure of a matplotlib manager, keep it and close it."""
        try:
            if len(self._figures) >= MAX_FILES:
                self._lost = True
            else:
                drawn = io.BytesIO()
                manager.canvas.figure.savefig(drawn, format="png")
                self._figures.append(drawn.getvalue())
        finally:  # or one that takes longer than there is time would take the next run's as well
            sys.modules["matplotlib._pylab_helpers"].Gcf.destroy(manager)

    def draw(self, stderr: Any) -> None:
        """Show every figure that is still open."""
        helpers = sys.modules.get("matplotlib._pylab_helpers")
        if helpers is not None:
            for manager in helpers.Gcf.get_all_fig_managers():
                try:
                    self.show(manager)
                except Exception as error:
                    stderr.write(f"a figure could not be drawn: {type(error).__name__}: {error}\n")

    def collect(self) -> tuple[bytes, bool]:
        """What the run that ends left, packed, and whether some was left out."""
        if not self._figures and not self._lost and self._is_empty():
            return b"", False
        files: dict[str, bytes] = {}
        figures, lost, self._figures, self._lost = self._figures, self._lost, [], False
        for number, drawn in enumerate(figures, start=1):
            files[f"figure-{number}.png"] = drawn
        if self.folder is not None:
            lost |= self._take_files(files)
        kept: dict[str, bytes] = {}
        room = MAX_BYTES
        for name, content in files.items():
            if len(content) > room or len(kept) >= MAX_FILES:
                lost = True
                continue
            kept[name] = content
            room -= len(content)
        return pack(kept), lost

    def _is_empty(self) -> bool:
        """Whether the working directory holds nothing, as far as one look at it tells."""
        try:
            return self.folder is None or os.stat(self.folder).st_size == _EMPTY_BYTES
        except OSError:
            return True  # the program removed it

    def _take_files(self, files: dict[str, bytes]) -> bool:
        """Read what is new or changed; whether some of it cannot be taken."""
        lost = False
        try:
            entries = [entry.name for entry in os.scandir(self.folder) if not entry.name.startswith(".")]
        except OSError:
            return False  # the program removed it
        for name in sorted(entries):
            path = f"{self.folder}/{name}"
            try:
                about = os.lstat(path)
                mark = _mark(about)
                if not stat.S_ISREG(about.st_mode) or self._seen.get(name) == mark:
                    continue
                self._seen[name] = mark
                if not is_plain(name) or about.st_size > MAX_BYTES or len(files) >= 2 * MAX_FILES:
                    lost = True
                    continue
                descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                with open(descriptor, "rb") as file:
                    files[name] = file.read(MAX_BYTES + 1)
            except OSError:
                lost = True
        return lost


def _mark(about: os.stat_result) -> tuple[int, int, int]:
    """What changes when a file does."""
    return about.st_ino, about.st_size, about.st_mtime_ns


class _Hook:
    """Waits for matplotlib, and makes it draw here: no window, no folder of its own needed, `show` keeps figures.

    Also for NumPy, and seeds it: a program may load it where nobody saw that coming, in a cell that does not hold it.
    """

    def __init__(self, outputs: Outputs) -> None:
        self._outputs = outputs

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The module's own spec, with something to do once it is loaded."""
        if name not in _HOOKED:
            return None
        if name == "matplotlib":
            for variable, value in _ENVIRONMENT.items():
                os.environ.setdefault(variable, value)
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                load = spec.loader.exec_module

                def run(module: ModuleType, load: Any = load) -> None:
                    load(module)
                    self._prepare(module)

                spec.loader.exec_module = run  # type: ignore[method-assign]
                return spec
        return None

    def _prepare(self, module: Any) -> None:
        if module.__name__ == "matplotlib":  # it would look for a folder to write to, and find none
            import logging

            module.get_configdir = module.get_cachedir = lambda: "/nowhere"
            logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
        elif module.__name__ == "numpy.random":
            module.seed(self._outputs.seed % 2**32)
        elif module.__name__ == "matplotlib.font_manager":  # a fork server may see fonts of the host, its cells do not
            own, fonts = os.path.dirname(module.__file__), module.fontManager
            for name in ("ttflist", "afmlist"):
                setattr(fonts, name, [font for font in getattr(fonts, name) if str(font.fname).startswith(own)])
        else:
            module.FigureManagerBase.show = lambda manager: self._outputs.show(manager)
