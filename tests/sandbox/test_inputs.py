"""Files that runs are given: they are there, and nothing that cannot be given is lost silently."""

import os
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from toolenvs.errors import ConfigError
from toolenvs.sandbox import inputs
from toolenvs.sandbox.base import Box
from toolenvs.sandbox.docker.box import DockerBox
from toolenvs.sandbox.local import LocalBox
from toolenvs.sandbox.probe import probe
from toolenvs.sandbox.remote import RemoteBox

WORKING = {tier.tier for tier in probe() if tier.works}


@pytest.fixture(scope="module", params=["namespace", "hardened"])
def roomy(request: pytest.FixtureRequest) -> Iterator[LocalBox]:
    """A box whose programs have a folder of 4 MB."""
    if request.param not in WORKING:
        pytest.skip(f"the {request.param} tier does not work on this machine")
    with LocalBox(tier=request.param, files_mb=4) as box:
        yield box


def test_a_program_finds_its_files(roomy: LocalBox) -> None:
    files = {"data.csv": b"1,2\n", "empty": b"", "ß 1.bin": bytes(range(256)) * 1000}
    code = "import os\nnames = filter(os.path.isfile, os.listdir())\n"
    code += "for name in sorted(names): print(name, len(open(name, 'rb').read()))"
    result = roomy.run(code, files=files)
    assert (result.status, result.stdout) == ("ok", "data.csv 4\nempty 0\nß 1.bin 256000\n")
    assert result.files == {}  # nothing new
    assert roomy.run("import os; print([*filter(os.path.isfile, os.listdir())])").stdout == "[]\n"


async def test_a_program_finds_its_files_from_an_event_loop(roomy: LocalBox) -> None:
    assert (await roomy.arun("print(open('a').read())", files={"a": b"x"})).stdout == "x\n"
    with await roomy.asession() as session:
        assert (await session.arun("open('a').read()", files={"a": b"x"})).value == "'x'"


def test_what_a_program_changes_comes_back(roomy: LocalBox) -> None:
    """At once and of the same size, too: the clock of a file system may be coarse."""
    code = "open('a', 'r+').write('y'); open('new', 'w').write('z'); None"
    assert roomy.run(code, files={"a": b"x", "b": b"x"}).files == {"a": b"y", "new": b"z"}


def test_a_session_is_given_files_at_any_run(roomy: LocalBox) -> None:
    with roomy.session() as session:
        session.run("x = 1")
        assert session.run("open('a').read(), x", files={"a": b"1"}).value == "('1', 1)"
        assert session.run("open('a').read()", files={"a": b"two"}).value == "'two'"
        assert session.run("open('a').read()").value == "'two'"


def test_what_stands_in_the_way_is_replaced_not_followed(roomy: LocalBox) -> None:
    with roomy.session() as session:
        session.run("import os\nopen('target', 'w').write('t')\nos.symlink('target', 'link')")
        assert (
            session.run("open('target').read(), os.path.islink('link')", files={"link": b"x"}).value == "('t', False)"
        )
        session.run("os.mkdir('folder')")
        result = session.run("print('ran')", files={"folder": b"x"})
        assert (result.status, result.stdout) == ("error", "")
        assert result.error == "OSError: the file 'folder' cannot be put there: Is a directory"
        assert session.run("x = 2\nx").value == "2"


def test_where_there_is_no_room_the_program_does_not_run(roomy: LocalBox) -> None:
    result = roomy.run("print('ran')", files={"large": bytes(5 << 20), "small": b"x"})
    assert (result.status, result.stdout, result.state_lost) == ("error", "", False)
    assert result.error == "OSError: the file 'large' cannot be put there: No space left on device" or (
        result.error is not None and result.error.startswith("OSError: the file 'large' cannot be put there: File too")
    )


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "/a", "a\0b", "a\nb", " a", "a\\b", "\ud800", 7])
def test_names_that_are_not_plain_are_refused(roomy: LocalBox, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be given the file"):
        roomy.run("1", files={name: b"x"})


def test_how_much_can_be_given_is_bounded(roomy: LocalBox) -> None:
    for files in ({f"f{n}": b"" for n in range(inputs.MAX_FILES + 1)}, {"a": bytes(inputs.MAX_BYTES + 1)}):
        with pytest.raises(ConfigError, match="at most 256 of 16777216 bytes"):
            roomy.run("1", files=files)
    with pytest.raises(ConfigError, match="must be bytes, not str"):
        roomy.run("1", files={"a": "text"})  # type: ignore[dict-item]
    most = {f"f{n}": b"x" for n in range(inputs.MAX_FILES)}
    code = "import os\nlen([*filter(os.path.isfile, os.listdir())])"
    assert roomy.run(code, files=most).value == str(inputs.MAX_FILES)


def test_a_tier_without_a_folder_says_so() -> None:
    with LocalBox(tier="fork") as box, box.session() as session:
        for place in (box, session):
            with pytest.raises(ConfigError, match="'a' cannot be put there: in the fork tier programs have no folder"):
                place.run("1", files={"a": b"x"})
            assert place.run("1 + 1", files={}).value == "2"


@pytest.mark.parametrize(
    ("code", "status", "exit_code"),
    [
        ("1", "ok", None),
        ("1 / 0", "error", None),
        ("raise SystemExit(3)", "error", None),  # the interpreter lives on; the error says it
        ("import os; os._exit(0)", "crashed", 0),
        ("import os; os._exit(7)", "crashed", 7),
        ("import os; os.abort()", "crashed", -6),
        ("import ctypes; ctypes.string_at(0)", "crashed", -11),
        ("import signal, os; os.kill(os.getpid(), signal.SIGTERM)", "crashed", -15),
        ("while True: pass", "timeout", None),
    ],
)
def test_how_an_interpreter_ended_is_told_by_the_kernel(
    box: LocalBox, code: str, status: str, exit_code: int | None
) -> None:
    with box.session() as session:
        for place in (box, session):
            result = place.run(code, timeout_s=0.5 if status == "timeout" else 10.0)
            assert (result.status, result.exit_code) == (status, exit_code), (os.getuid(), result)


@pytest.mark.parametrize("timeout_s", [0, -1.0, float("nan")])
def test_a_limit_that_is_not_positive_is_refused(box: LocalBox, timeout_s: float) -> None:
    with box.session() as session:
        session.run("x = 1")
        for call in (box.run, session.run):
            with pytest.raises(ConfigError, match="positive number of seconds"):
                call("1", timeout_s=timeout_s)
        assert session.run("x").value == "1"


def test_a_box_without_a_seed_draws_one_and_tells_it() -> None:
    code = "import random\nrandom.random()"
    with LocalBox(seed=None) as one, LocalBox(seed=None) as two, LocalBox(seed=None) as three:
        assert isinstance(one.seed, int)
        assert len({one.seed, two.seed, three.seed}) == 3
        value = one.run(code).value
        assert one.run(code).value == value != two.run(code).value
        with two.session(seed=one.seed) as session:
            assert session.run(code).value == value
    with LocalBox(seed=one.seed) as again:
        assert again.run(code).value == value


def test_a_remote_box_without_a_seed_draws_one_and_tells_it() -> None:
    with RemoteBox("http://127.0.0.1:1", seed=None) as one, RemoteBox("http://127.0.0.1:1", seed=None) as two:
        assert one.seed != two.seed


@pytest.mark.parametrize("seed", ["7", 1.5, [1], float("nan")])
@pytest.mark.parametrize("box", [LocalBox, partial(RemoteBox, "http://127.0.0.1:1"), DockerBox])
def test_a_seed_is_a_whole_number(box: Callable[..., Box], seed: object) -> None:
    with pytest.raises(ConfigError, match="seed must be a whole number"):
        box(seed=seed)
