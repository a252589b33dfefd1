"""What an edited copy of a site says in place of a value: another of the same sort, fixed by seed and fact."""

import re
from collections.abc import Mapping, Sequence

from toolenvs.tasks.seeding import Draws

VERSIONS = tuple(f"3.{minor}" for minor in range(2, 10))
"""Of Python that copies write. Without 3.1 and 3.10, which are one number."""
_NUMBER = re.compile(r"\d+")


def changed(value: str, values: str, pools: Mapping[str, Sequence[str]], *, key: tuple[int | str, ...]) -> str:
    """Another value in place of `value`.

    Args:
        value: what the site says.
        values: of which sort it is: "version", "number" (its first number is another one, of as many digits), or the
            name of a pool.
        pools: the words that may stand for each other.
        key: of the draw; the same key gives the same value.
    """
    draws = Draws("edited site", *key)
    if values == "number":
        return _NUMBER.sub(lambda match: _other(match[0], draws), value, count=1)
    words = VERSIONS if values == "version" else pools[values]
    return draws.choice([word for word in words if word.casefold() != value.casefold()])


def _other(number: str, draws: Draws) -> str:
    """A number with as many digits, and neither this one nor 0."""
    low, high = (10 ** (len(number) - 1) if len(number) > 1 else 1), 10 ** len(number) - 1
    among = low <= int(number) <= high
    drawn = draws.between(low, high - among)
    return str(drawn + (among and drawn >= int(number)))
