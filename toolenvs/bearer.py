"""Bearer tokens: what servers ask for, and clients send."""

import os
import re

from toolenvs.errors import ConfigError

_VISIBLE = re.compile("[!-~]*")


def token(given: str | None, variable: str) -> str:
    """The token to use, without the white space around it that a file or a shell may have added; "" for none.

    Args:
        given: by the caller; None for what the environment variable holds.
        variable: the environment variable's name; "" for none.

    Raises:
        ConfigError: no header can carry it.
    """
    if given is None:
        given = os.environ.get(variable, "") if variable else ""
    told = given.strip()
    if _VISIBLE.fullmatch(told) is None:
        raise ConfigError(
            f"the token, as of {variable}, holds white space or what is not visible ASCII: no header can carry it; "
            "set another"
        )
    return told


def headers(token: str) -> dict[str, str]:
    """The header that carries a token; none for ""."""
    return {"Authorization": f"Bearer {token}"} if token else {}
