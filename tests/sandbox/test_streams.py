"""Standard output and error, which stay the same objects from run to run, whatever a program does to them."""

import pytest

from toolenvs.sandbox.local import LocalBox


def test_what_holds_on_to_a_stream_writes_to_the_run_it_writes_in(box: LocalBox) -> None:
    with box.session() as session:
        session.run("import logging, sys\nlogging.basicConfig(format='%(message)s')\nkept = sys.stdout")
        assert session.run("logging.warning('here')").stderr == "here\n"
        assert session.run("kept.write('and ')\nprint('there')").stdout == "and there\n"


@pytest.mark.parametrize(
    "spoil",
    [
        "sys.stdout.close(); sys.stderr.close()",
        "sys.stdout.detach(); sys.stderr.detach()",
        "sys.stdout.buffer.close()",
        "del sys.stdout, sys.stderr, sys.stdin",
        "sys.stdin.close()",
        "sys.stdout = sys.__stdout__ = sys.stderr = None",
        "sys.stdout.reconfigure(line_buffering=True, write_through=True)",
        "sys.stdout.buffer.write = sys.stdout.buffer.flush = None",
    ],
)
def test_a_spoiled_stream_is_whole_again_in_the_next_run(box: LocalBox, spoil: str) -> None:
    with box.session() as session:
        session.run(f"import sys\nprint('before')\n{spoil}")
        result = session.run("import sys\nprint(sys.stdin.read(), 1)\n1 / 0", stdin="in")
        assert (result.status, result.error) == ("error", "ZeroDivisionError: division by zero")
        assert result.stdout == "in 1\n"
        assert result.stderr.startswith("Traceback")


def test_text_and_bytes_keep_their_order_when_flushed(box: LocalBox) -> None:
    code = "import sys\nprint('a')\nsys.stdout.flush()\nsys.stdout.buffer.write('ö\\n'.encode())\nprint('c')"
    assert box.run(code).stdout == "a\nö\nc\n"


@pytest.mark.parametrize("text", ["x", "é", "🙂", "\ud800"])
def test_the_limit_counts_characters(text: str) -> None:
    with LocalBox(output_chars=1000) as box:
        shown = text.encode("utf-8", "backslashreplace").decode()
        for count in (1000 // len(shown), 1000 // len(shown) + 1, 5000):
            result = box.run(f"import sys\nfor _ in range({count}): sys.stdout.write({text!r})")
            assert result.stdout == (shown * count)[:1000]
            assert result.truncated == (count * len(shown) > 1000)


def test_the_limit_is_one_runs() -> None:
    with LocalBox(output_chars=100) as box, box.session() as session:
        assert session.run("print('x' * 200)").truncated
        assert session.run("print('y')").stdout == "y\n"


def test_a_traceback_stands_behind_what_was_printed_to_stderr(box: LocalBox) -> None:
    result = box.run("import sys\nprint('first', file=sys.stderr)\n1 / 0")
    assert result.stderr.startswith("first\nTraceback")


def test_the_lines_of_the_last_programs_are_kept(box: LocalBox) -> None:
    with box.session() as session:
        session.run("def first(): raise KeyError")
        for _ in range(300):
            session.run("def late(): raise KeyError")
        assert "late(): raise KeyError" in session.run("late()").stderr
        assert "raise" not in session.run("first()").stderr
        assert int(session.run("import linecache; len(linecache.cache)").value or 0) < 400
