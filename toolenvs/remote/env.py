"""`RemoteEnv`: a `gymnasium.Env` whose episodes run at a server of environments."""

from typing import Any

from toolenvs.env import ToolEnv
from toolenvs.episode import Episode
from toolenvs.errors import InfrastructureError
from toolenvs.remote.blueprint import RemoteBlueprint
from toolenvs.remote.episode import LostEpisode
from toolenvs.tasks.task import Task
from toolenvs.vector import ToolVectorEnv


class RemoteEnv(ToolEnv):
    """As `ToolEnv`, at a server: the same seed gives the same episode, and the same observations, rewards and infos.

    The constructor fails loudly where the server cannot be reached. Later on a dead server is data, so that a trainer
    outlives it: an episode that is lost ends with `truncated` and the ending `infrastructure`, and one that could not
    begin has the prompt "" and ends so at its first step.

    Args:
        url: of the server, such as "http://10.0.0.5:8090".
        page: id of a page that it serves.
        render_mode: None, "ansi" or "html".
        more: `tokenizer`, `token`, `transport`, `deadline_s` and overrides; see `RemoteBlueprint`.

    Raises:
        ToolenvsError: as `RemoteBlueprint`.
    """

    blueprint: RemoteBlueprint

    def __init__(self, url: str, page: str, *, render_mode: str | None = None, **more: Any) -> None:
        self._check_render_mode(render_mode)
        self._made_of = {"url": url, "page": page, **more}
        self.blueprint = RemoteBlueprint(**self._made_of)
        self.render_mode = render_mode
        self._make_spaces()
        self.episode: Episode | None = None

    async def _begin(self, which: Task | int, *, seed: int, progress: float) -> Episode:
        try:
            return await self.blueprint.begin(which, seed=seed, progress=progress)
        except InfrastructureError as error:
            return LostEpisode(self.blueprint, str(error))


class RemoteVectorEnv(ToolVectorEnv):
    """As `ToolVectorEnv`, over one link to a server."""

    env_class = RemoteEnv
