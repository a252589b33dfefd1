"""The working folders of copies, each of which has one of its own in the /tmp that they share."""

import os

_PREFIX = ".copy-"


def own() -> str:
    """Make relative names this copy's own."""
    folder = f"/tmp/{_PREFIX}{os.getpid()}"
    try:
        os.mkdir(folder)
    except FileExistsError:  # of one that had this number before
        _remove(folder)
        os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    return folder


def clear() -> None:
    """Remove what copies that have ended left."""
    for name in os.listdir("/tmp"):
        if name.startswith(_PREFIX) and not _lives(name.removeprefix(_PREFIX)):
            try:
                os.rmdir(f"/tmp/{name}")
            except OSError:
                _remove(f"/tmp/{name}")


def _lives(number: str) -> bool:
    try:
        os.getpgid(int(number))  # its /proc shows no other process
    except (OSError, ValueError):
        return False
    return True


def _remove(folder: str) -> None:
    import shutil  # seldom needed, and each of the libraries behind it makes every fork dearer

    shutil.rmtree(folder, ignore_errors=True)
