"""Which fork server a program needs, told from its imports."""

import re
from collections.abc import Iterable, Set

# Cheap and generous: a name in a comment or a string costs a slower start, nothing else.
_NAME = r"[\w.]+(?:\s+as\s+\w+)?"
_IMPORT = re.compile(rf"(?:^|[\n;:])\s*import\s+({_NAME}(?:\s*,\s*{_NAME})*)")
_FROM = re.compile(r"\bfrom\s+([\w.]+)\s+import\b")
_BY_NAME = re.compile(r"""import(?:_module|__)\s*\(\s*["']([\w.]+)""")


def imported(code: str) -> set[str]:
    """Top-level names that `code` seems to import."""
    names: set[str] = set()
    if "import" not in code:
        return names
    for clause in _IMPORT.findall(code) + _FROM.findall(code) + _BY_NAME.findall(code):
        names.update(part.split()[0].partition(".")[0] for part in clause.split(",") if part.strip())
    return names


def kind(code: str, third_party: Set[str], wide: Iterable[str] = ()) -> str:
    """The fork server for a program.

    Args:
        code: the program.
        third_party: packages that "bare" does not hold.
        wide: packages, and parts of packages as "package.part", that "full" does not hold either.
    """
    packages = imported(code) & third_party
    if not packages:
        return "bare"
    for name in wide:
        package, _, part = name.partition(".")
        if package in packages and part in code:
            return "wide"
    return "full"
