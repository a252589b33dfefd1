"""What a program reads: from `sys.stdin`, from descriptor 0, from /dev/stdin."""

import pytest

from toolenvs.sandbox.local import LocalBox

READERS = (
    "import sys; sys.stdin.read()",
    "import sys; sys.stdin.buffer.read().decode()",
    "open(0).read()",
    "import os; os.read(0, 99).decode()",
    "open('/dev/stdin').read()",
    "input() + chr(10) + input() + chr(10)",
    "import fileinput; ''.join(fileinput.input())",
    "import sys, os; os.fdopen(sys.stdin.fileno()).read()",
)


@pytest.mark.parametrize("code", READERS)
def test_every_way_of_reading_finds_what_there_is(code: str, box: LocalBox) -> None:
    assert box.run(code, stdin="1 2\né\n").value == repr("1 2\né\n")
    with box.session() as session:
        assert session.run(code, stdin="1 2\né\n").value == repr("1 2\né\n")
        assert session.run(code, stdin="3\n4\n").value == repr("3\n4\n")
        again = session.run("import os, sys\nos.read(0, 9), sys.stdin.read(), sys.stdin.fileno()")
        assert again.value == "(b'', '', 0)"


@pytest.mark.parametrize("size", [10, 70_000, 2_000_000])
def test_long_input_is_read_whole(size: int, box: LocalBox) -> None:
    assert box.run("import sys\nlen(sys.stdin.read())", stdin="x" * size).value == str(size)
    count = "import os\ncount = 0\nwhile data := os.read(0, 65_536): count += len(data)\ncount"
    assert box.run(count, stdin="x" * size).value == str(size)
    with box.session() as session:
        for _ in range(3):
            assert session.run(count, stdin="é" * (size // 2)).value == str(size)
            assert session.run(count).value == "0"
        session.run("os.close(0)\nfile = open(os.__file__)")
        assert session.run("len(input())", stdin="x" * size).value == str(size)
        held = "import errno\nlast = os.dup(1)\nos.close(last)\nlast"
        assert int(session.run(held).value or 99) < 10  # what came is closed
        with box.session() as taken:
            assert taken.run("import os\nos.read(0, 1)", stdin="x" * size).value == "b'x'"
            changed = "os.ftruncate(0, 99)" if box.tier == "fork" else "1 / 0"
            assert taken.run(changed, stdin="x" * size).status == "error"
            taken.fork().close()


def test_a_descriptor_that_a_program_closed_or_took_is_its_own_affair(box: LocalBox) -> None:
    with box.session() as session:
        assert session.run("import os\nos.close(0)", stdin="a").status == "ok"
        assert session.run("input()", stdin="b").value == "'b'"
        assert session.run("os.read(0, 9)").value == "b''"
        assert session.run("os.close(0)\nfile = open(os.__file__)\nfile.fileno()").value == "0"
        assert session.run("input()", stdin="c").value == "'c'"
        assert session.run("file.fileno(), file.read(3)").value == repr((0, 'r"""'[:3]))


def test_input_leaves_no_file_and_no_hindrance_to_a_copy(box: LocalBox) -> None:
    with box.session() as session:
        result = session.run("import os\nfirst = os.read(0, 1)\nfirst", stdin="abc")
        assert (result.value, dict(result.files)) == ("b'a'", {})
        with session.fork() as copy:
            assert copy.run("os.read(0, 9), input()", stdin="de").status == "error"  # both are of the same
            assert copy.run("input()", stdin="f").value == "'f'"
            assert session.run("first, input()", stdin="g").value == "(b'a', 'g')"
