"""Figures and files that programs leave, honest ones and others."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.sandbox import outputs
from toolenvs.sandbox.local import LocalBox

PNG = b"\x89PNG\r\n\x1a\n"
PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\n"
LIMIT_S = 60.0


def _private(box: LocalBox) -> LocalBox:
    if box.tier == "fork":
        assert box.run("open('x', 'w')").error == "OSError: [Errno 30] Read-only file system: 'x'" or box.run(
            "open('x', 'w')"
        ).error.startswith("PermissionError")
        pytest.skip("nothing is writable in the fork tier")
    return box


@pytest.mark.parametrize(
    ("code", "count"),
    [
        (PLOT, 1),
        (PLOT + "plt.show()", 1),
        (PLOT + "plt.show()\nplt.figure()\nplt.title('b')", 2),
        (PLOT + "plt.gcf().show()\nplt.close('all')", 1),
        (PLOT + "plt.close()", 0),
        ("import matplotlib\nmatplotlib.use('Agg')\n" + PLOT + "plt.show()\nplt.close('all')", 1),
        (PLOT + "1 / 0", 1),
        ("import pandas as pd\npd.Series([1, 2]).plot()", 1),
    ],
)
def test_figures_come_back(box: LocalBox, code: str, count: int) -> None:
    result = box.run(code, timeout_s=LIMIT_S)
    assert result.status == ("error" if "1 / 0" in code else "ok"), result
    assert list(result.files) == [f"figure-{number}.png" for number in range(1, count + 1)]
    assert all(drawn.startswith(PNG) for drawn in result.files.values())
    assert "1 / 0" in code or result.stderr == ""


def test_a_session_gives_each_figure_once(box: LocalBox) -> None:
    with box.session() as session:
        first = session.run(PLOT, timeout_s=LIMIT_S)
        assert list(first.files) == ["figure-1.png"]
        assert session.run("x = 1").files == {}
        assert session.run("plt.plot([2, 1])", timeout_s=LIMIT_S).files.keys() == {"figure-1.png"}


def test_a_figure_that_cannot_be_drawn_is_told(box: LocalBox) -> None:
    result = box.run(PLOT + r"plt.title('$\\nothing$')", timeout_s=LIMIT_S)
    assert (result.status, dict(result.files)) == ("ok", {})
    assert "a figure could not be drawn: ValueError" in result.stderr


def test_a_figure_whose_drawing_is_interrupted_is_not_tried_in_the_next_run(box: LocalBox) -> None:
    interrupted = "def interrupt(*_, **__): raise KeyboardInterrupt\nplt.figure().savefig = interrupt"
    with box.session() as session:
        session.run(PLOT, timeout_s=LIMIT_S)
        assert session.run(interrupted, timeout_s=LIMIT_S).error == "KeyboardInterrupt"
        after = session.run("plt.plot([2, 1])\nprint(1)", timeout_s=LIMIT_S)
        assert (after.status, after.stdout, list(after.files)) == ("ok", "1\n", ["figure-1.png"])


def test_programs_without_figures_import_nothing_for_them(box: LocalBox) -> None:
    code = "import sys\nprint([name for name in sys.modules if name.startswith(('matplotlib', 'PIL'))])"
    assert box.run(code).stdout == "[]\n"
    assert box.run("import numpy, sys\nprint('matplotlib.pyplot' in sys.modules)").stdout == "False\n"


def test_the_list_of_fonts_is_made_before_and_holds_what_cells_can_read(box: LocalBox) -> None:
    ready = "import sys\nprint('matplotlib.font_manager' in sys.modules)\n"
    fonts = "import matplotlib.font_manager as fonts\nnames = {entry.fname for entry in fonts.fontManager.ttflist}\n"
    read = "print(len(names) > 10, all(open(name, 'rb').read(1) != b'x' for name in names))"
    assert box.run(ready + fonts + read).stdout == "True\nTrue True\n"


def test_files_come_back_new_or_changed(box: LocalBox) -> None:
    with _private(box).session() as session:
        assert session.run("open('a.csv', 'w').write('1,2'); None").files == {"a.csv": b"1,2"}
        assert session.run("x = 1").files == {}
        assert session.run("open('a.csv', 'a').write('3'); open('b', 'wb').close()").files == {
            "a.csv": b"1,23",
            "b": b"",
        }
        assert session.run("import os; os.remove('a.csv')").files == {}
    assert box.run("import os; print([*filter(os.path.isfile, os.listdir('.'))])").stdout == "[]\n"


def test_only_plain_files_with_plain_names_come_back(box: LocalBox) -> None:
    code = """
import os
os.symlink('/proc/self/environ', 'link.txt')
os.symlink('/dev/zero', 'zero.bin')
os.mkdir('folder')
open('folder/inner.txt', 'w').write('x')
try:
    os.mkfifo('pipe.txt')
except OSError:
    pass
for name in ('.hidden', 'new\\nline', 'semi;colon', '<b>.png', ' lead', 'good name.txt', 'x' * 200):
    open(name, 'w').write('x')
"""
    result = _private(box).run(code)
    assert result.files == {"good name.txt": b"x"}
    assert result.truncated


def test_how_much_comes_back_is_bounded(box: LocalBox) -> None:
    many = _private(box).run("for n in range(1000): open(f'f{n:04}', 'w').write('x')", timeout_s=LIMIT_S)
    assert list(many.files) == [f"f{n:04}" for n in range(outputs.MAX_FILES)]
    assert many.truncated
    large = box.run(f"open('a', 'wb').write(bytes({outputs.MAX_BYTES + 1})); open('b', 'w').write('x')")
    assert (dict(large.files), large.truncated) == ({"b": b"x"}, True)
    sparse = box.run("open('a', 'wb').truncate(60 << 20)")
    assert (dict(sparse.files), sparse.truncated) == ({}, True)
    full = box.run(f"open('a', 'wb').write(bytes({outputs.MAX_BYTES}))", timeout_s=LIMIT_S)
    assert (len(full.files["a"]), full.truncated) == (outputs.MAX_BYTES, False)


def test_a_folder_that_is_gone_is_no_error(box: LocalBox) -> None:
    assert box.run("import os\nos.listdir = os.scandir = os.lstat = None\nprint(1)").stdout == "1\n"


_ENTRY = struct.Struct("<HI")


@pytest.mark.parametrize(
    "block",
    [
        b"x",
        _ENTRY.pack(1, 2**32 - 1) + b"a",
        _ENTRY.pack(2**16 - 1, 0) + b"a",
        _ENTRY.pack(9, 0) + b"../secret",
        _ENTRY.pack(1, 0) + b".",
        _ENTRY.pack(2, 0) + b"..",
        _ENTRY.pack(7, 0) + b".bashrc",
        _ENTRY.pack(3, 0) + b"a/b",
        _ENTRY.pack(3, 0) + b"a\\b",
        _ENTRY.pack(3, 0) + b"a\0b",
        _ENTRY.pack(0, 0),
        _ENTRY.pack(2, 0) + b"\xff\xfe",
        2 * (_ENTRY.pack(1, 0) + b"a"),
        b"".join(_ENTRY.pack(2, 0) + f"{n:02}".encode() for n in range(outputs.MAX_FILES + 1)),
    ],
)
def test_hostile_blocks_are_refused(block: bytes) -> None:
    with pytest.raises(ValueError, match=r"block|plain|too many|decode"):
        outputs.unpack(block)


@given(st.binary(max_size=200))
def test_any_block_is_read_or_refused(block: bytes) -> None:
    try:
        files = outputs.unpack(block)
    except ValueError:
        return
    assert outputs.unpack(outputs.pack(files)) == files


_names = st.from_regex(r"\w(?:[\w .()+,=@~-]{0,20}\w)?", fullmatch=True).filter(lambda name: name.isprintable())


@given(st.dictionaries(_names, st.binary(max_size=50), max_size=outputs.MAX_FILES))
def test_blocks_keep_files_as_they_are(files: dict[str, bytes]) -> None:
    assert outputs.unpack(outputs.pack(files)) == files


FORGE = """
import gc, os, struct, sys
frame = sys._getframe()
while frame is not None:
    nonce = frame.f_locals.get('nonce', frame.f_locals.get('self') and None)
    if isinstance(nonce, int):
        break
    frame = frame.f_back
block = BLOCK
os.write(3, struct.pack('<IQBBIIIII', 0x54454E41, nonce, 0, 0, 0, 0, 0, 0, SIZE) + block)
while True: pass
"""


@pytest.mark.parametrize(
    ("block", "size"),
    [
        (repr(_ENTRY.pack(9, 1) + b"../escapex"), None),
        (repr(_ENTRY.pack(1, 2**31) + b"a"), None),
        ("b''", 2**32 - 1),
        (repr(b"\0" * 64), None),
    ],
)
def test_forged_files_end_as_crashed(box: LocalBox, block: str, size: Any) -> None:
    code = FORGE.replace("BLOCK", block).replace("SIZE", "len(block)" if size is None else str(size))
    result = box.run(code, timeout_s=5.0)
    assert (result.status, dict(result.files)) == ("crashed", {})


def test_files_with_plain_names_can_be_forged(box: LocalBox) -> None:
    """So that the test above tells something: nothing but the block is wrong there."""
    result = box.run(FORGE.replace("BLOCK", repr(_ENTRY.pack(1, 1) + b"ax")).replace("SIZE", "len(block)"))
    assert (result.status, dict(result.files)) == ("ok", {"a": b"x"})
