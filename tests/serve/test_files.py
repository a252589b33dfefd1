"""Files of a run, and where they cannot be put."""

import base64

import pytest

from toolenvs.sandbox.local import LocalBox
from toolenvs.serve.http import Refused
from toolenvs.serve.sandbox.files import WithFiles


async def test_a_tier_without_a_folder_says_so() -> None:
    with LocalBox(tier="fork") as box:
        with pytest.raises(
            Refused, match=r"'a' cannot be put there: in the fork tier programs have no folder"
        ) as refused:
            async with WithFiles(box, {"a": b"x"}, []):
                pass
        assert refused.value.status == 422
        assert box.run("print(1)").stdout == "1\n"


def test_what_has_no_room_is_refused(served) -> None:
    one = base64.b64encode(bytes(1 << 20)).decode()
    body = {"code": "print(1)", "language": "python", "files": {f"f{number}": one for number in range(3)}}
    assert served.post("/run_code", body).json()["status"] == "Success"
    clash = {"code": "print(1)", "language": "python", "files": {"a": "aGk=", "a/b": "aGk="}}
    response = served.post("/run_code", clash)
    assert (response.status_code, response.json()["detail"][:32]) == (422, "the file 'a/b' cannot be put the")


def test_a_program_finds_its_globals_untouched(served) -> None:
    code = "print(sorted(name for name in globals() if not name.startswith('__')))"
    ran = served.run(code, files={"a": "aGk="}, fetch_files=["a"])
    assert ran["run_result"]["stdout"] == "[]\n"
    assert ran["files"] == {"a": "aGk="}


def test_a_program_cannot_lie_about_the_servers_files(served) -> None:
    code = "import base64, builtins\nbase64.b64encode = lambda data: b'!'\nbuiltins.open = None"
    ran = served.run(code, files={"a": "aGk="}, fetch_files=["a", "b"])
    assert (ran["status"], ran["files"]) == ("Success", {})


def test_what_a_crash_took_is_left_out(served) -> None:
    ran = served.run("open('a', 'w').write('x')\nimport os; os._exit(3)", fetch_files=["a"])
    assert (ran["run_result"]["return_code"], ran["files"]) == (3, {})


def test_files_are_there_after_a_timeout_that_the_interpreter_survives(served) -> None:
    code = "open('a', 'w').write('x')\nprint('written', flush=True)\nwhile True: pass"
    ran = served.run(code, fetch_files=["a"], run_timeout=2)
    assert (ran["run_result"]["status"], ran["run_result"]["stdout"]) == ("TimeLimitExceeded", "written\n")
    assert ran["files"] == ({} if ran["toolenvs"]["state_lost"] else {"a": "eA=="})


def test_what_a_program_leaves_comes_where_it_is_asked_for(served) -> None:
    code = "open('b', 'w').write(open('a').read() + '!')"
    for fetched in ([], ["b"]):
        ran = served.run(code, files={"a": "aGk="}, fetch_files=fetched, outputs=True)
        assert ran["toolenvs"]["files"] == {"b": "aGkh"}
        assert ran["files"] == dict.fromkeys(fetched, "aGkh")
    assert "files" not in served.run(code, files={"a": "aGk="})["toolenvs"]


def test_a_file_that_a_later_cell_removes_is_left_out(served) -> None:
    cells = ["open('a', 'w').write('x'); open('b', 'w').write('x')", "import os; os.remove('a')"]
    response = served.post("/run_jupyter", {"cells": cells, "fetch_files": ["a", "b"]})
    assert response.json()["files"] == {"b": "eA=="}


def test_a_large_file_is_fetched_whole(served) -> None:
    ran = served.run("open('a', 'wb').write(bytes(9 << 20)); None", fetch_files=["a"], run_timeout=60)
    assert base64.b64decode(ran["files"]["a"]) == bytes(9 << 20)


def test_more_files_than_a_run_can_be_given_are_refused(served) -> None:
    for fetched in ([], ["a"]):
        body = {"code": "1", "language": "python", "files": {f"f{n}": "" for n in range(257)}, "fetch_files": fetched}
        response = served.post("/run_code", body)
        assert (response.status_code, "at most 256" in response.json()["detail"]) == (422, True)


@pytest.mark.parametrize("path", ["d/\U0001f600.txt", "d/\u00e9 {x}'\".txt", "d/\n"])
def test_any_name_is_put_and_fetched(served, path: str) -> None:
    code = "import os; print(ascii(os.listdir('d')))"
    ran = served.run(code, files={path: "aGk="}, fetch_files=[path])
    assert ran["run_result"]["stdout"] == f"{[path.removeprefix('d/')]!a}\n"
    assert ran["files"] == {path: "aGk="}


def test_a_notebooks_figures_are_among_what_its_cells_display(served) -> None:
    plot = "import matplotlib.pyplot as plt\n_ = plt.plot([1, 2])\nplt.show()\n5"
    cells = served.post("/run_jupyter", {"cells": ["1", plot, "open('figure.png', 'w').close()"]}).json()["cells"]
    assert [[list(shown) for shown in cell["display"]] for cell in cells] == [
        [["text/plain"]],
        [["image/png"], ["text/plain"]],
        [],
    ]
    assert base64.b64decode(cells[1]["display"][0]["image/png"]).startswith(b"\x89PNG")
