"""The same metrics for Weights & Biases, where a recipe names a project of it: `wandb = "my-project"`.

What W&B reads from its environment variables holds here too: WANDB_MODE=offline writes to the run's folder only.
"""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolenvs.errors import ConfigError, MissingExtraError

_ID = "wandb-id"


class WandbWriter:
    """Sends metrics and warnings.

    Args:
        folder: of the run; a resumed run goes on under the id that is kept there.
        project: on W&B.
        config: the run's settings.
        resumed: whether the run goes on.

    Raises:
        ConfigError: W&B refuses, for want of a login for instance.
        MissingExtraError: wandb is not installed.
    """

    def __init__(self, folder: Path, project: str, config: Mapping[str, Any], *, resumed: bool) -> None:
        try:
            import wandb
        except ImportError as error:
            raise MissingExtraError("wandb", "wandb", "the setting wandb") from error
        path = folder / _ID
        if not (resumed and path.exists()):
            path.write_text(secrets.token_hex(4), encoding="utf-8")
        try:
            self._run: Any = wandb.init(
                project=project,
                name=folder.name,
                id=path.read_text(encoding="utf-8").strip(),
                resume="allow",
                dir=str(folder),
                config=dict(config),
            )
        except Exception as error:  # whatever it is, training has not begun
            raise ConfigError(
                f"wandb = {project!r}: {error}; WANDB_MODE=offline needs neither login nor net"
            ) from error

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """One step."""
        self._run.log(dict(metrics), step=step)

    def warn(self, text: str) -> None:
        """A warning, as an alert."""
        self._run.alert(title="toolenvs", text=text)

    def close(self) -> None:
        """Send what is left."""
        self._run.finish()
