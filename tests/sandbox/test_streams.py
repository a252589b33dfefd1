"""Standard output and error, which stay the same objects from run to run, whatever a program does to them."""

import asyncio

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


@pytest.mark.parametrize(
    "wrapped",
    [
        "io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')",
        "io.TextIOWrapper(sys.stdout.buffer, line_buffering=True)",
        "io.TextIOWrapper(sys.stdout.detach(), encoding='utf-8')",
        "io.TextIOWrapper(io.BufferedWriter(sys.stdout.buffer), encoding='utf-8')",
        "codecs.getwriter('utf-8')(sys.stdout.buffer)",
        "os.fdopen(os.dup(1), 'w', encoding='utf-8')",
    ],
)
def test_what_takes_the_place_of_stdout_is_flushed_and_leaves_it_open(box: LocalBox, wrapped: str) -> None:
    code = f"import codecs, io, os, sys\nsys.stdout = {wrapped}\nprint('hé')"
    assert box.run(code).stdout == "hé\n"
    with box.session() as session:
        assert session.run(code).stdout == "hé\n"
        assert session.run("import gc, sys\ngc.collect()\nprint(1)\nsys.stdout.buffer.write(b'2')").stdout == "1\n2"


@pytest.mark.parametrize(
    "spoil",
    [
        "sys.stdout.flush = sys.exit",
        "sys.stdout.write = None",
        "sys.stdout.buffer.write = sys.stdout.buffer.put = sys.stdout.buffer.take = None",
        "sys.stdout.buffer.close()",
        "sys.stdout.__class__ = type('Other', (type(sys.stdout),), {'__slots__': ()})",
        "sys.stdin.readline = None",
        "sys.stdin.close()",
    ],
)
def test_a_program_that_changes_its_streams_loses_neither_output_nor_state(box: LocalBox, spoil: str) -> None:
    with box.session() as session:
        assert session.run(f"import sys\nprint('before')\nkept = 1\n{spoil}").stdout == "before\n"
        result = session.run("print(repr(sys.stdin.readline()))\nkept")
        assert (result.stdout, result.value, result.state_lost) == ("''\n", "1", False)


def test_a_stream_that_cannot_be_read_out_costs_no_state(box: LocalBox) -> None:
    with box.session() as session:
        assert session.run("import sys\nkept = 1\nsys.stdout.buffer._pending = None").status == "ok"
        assert session.run("print(2)\nkept").stdout == "2\n"


def test_nothing_is_left_in_standard_input_for_the_next_run(box: LocalBox) -> None:
    with box.session() as session:
        session.run("import sys\nsys.stdin.buffer.write(b'left\\n'); sys.stdin.buffer.seek(0)")
        assert session.run("sys.stdin.read()").value == "''"


@pytest.mark.parametrize("data", ["5", "2**45", "[65, 66]", "'x'"])
def test_only_bytes_are_written_as_bytes(box: LocalBox, data: str) -> None:
    result = box.run(f"import sys\nsys.stdout.buffer.write({data})")
    assert (result.status, result.stdout) == ("error", "")
    assert (result.error or "").startswith("TypeError: memoryview: a bytes-like object")


def test_reconfigured_text_is_written_as_asked(box: LocalBox) -> None:
    assert box.run("import sys\nsys.stdout.reconfigure(newline='\\r\\n')\nprint('é')").stdout == "é\r\n"
    eager = "import os, sys\nsys.stdout.reconfigure(line_buffering=True)\nprint('a')\nos.write(1, b'b\\n')\nprint('c')"
    assert box.run(eager).stdout == "a\nb\nc\n"
    assert box.run("import sys\nsys.stdout.reconfigure(errors='strict')\nprint('\\ud800')").status == "error"


def test_an_interrupt_neither_loses_nor_doubles_what_was_printed() -> None:
    code = "number = 0\nwhile True:\n    print('%09d' % number)\n    number += 1"
    with LocalBox(output_chars=20_000_000, grace_s=5.0) as box:
        for attempt in range(40):
            lines = box.run(code, timeout_s=0.05 + attempt / 1000).stdout.split("\n")[:-1]
            assert lines == [f"{number:09d}" for number in range(len(lines))]


@pytest.mark.parametrize(
    "within",
    [
        "signal.signal(signal.SIGALRM, lambda *_: note())\nsignal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)",
        "class Cycle:\n    def __init__(self): self.it = self\n    def __del__(self): note()\ngc.set_threshold(5)",
    ],
    ids=["handler", "finalizer"],
)
def test_what_prints_within_a_print_loses_nothing(within: str) -> None:
    code = (
        "import gc, signal\nnoted = 0\ndef note():\n    global noted\n    noted += 1\n    print('note')\n"
        f"{within}\nnumber = 0\nwhile noted < 300 or number < 20_000:\n    if 'Cycle' in globals(): Cycle()\n"
        "    print('line', number)\n    number += 1\n"
        "gc.disable()\nsignal.setitimer(signal.ITIMER_REAL, 0)\nnoted, number"
    )
    with LocalBox(output_chars=50_000_000, timeout_s=60.0) as box:
        result = box.run(code)
    noted, number = map(int, (result.value or "").strip("()").split(","))
    assert result.stdout.count("note") == noted
    assert result.stdout.count("line") == number
    assert len(result.stdout) == 5 * noted + sum(len(f"line {n}\n") for n in range(number))


def test_what_is_written_past_python_comes_with_its_own_run(box: LocalBox) -> None:
    program = "n += 1\n_ = os.write(2, b'%d' % -n), os.write(1, b'%d' % n)"
    with box.session() as session:
        session.run("import os\nn = 0")
        for number in range(1, 151):
            result = session.run(program)
            assert (result.stdout, result.stderr) == (str(number), str(-number))

        async def go() -> None:
            for number in range(151, 301):
                result = await session.arun(program)
                assert (result.stdout, result.stderr) == (str(number), str(-number))

        asyncio.run(go())
