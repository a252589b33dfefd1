"""Register every page with Gymnasium under "toolenvs/"."""

from pathlib import Path

from gymnasium.envs import registration

from toolenvs.assets import page_files

REMOTE = "toolenvs/Remote-v0"


def register(id: str, page: str | Path) -> None:
    """Register one page. Gymnasium's own wrappers are left off: `ToolEnv` orders and checks its calls itself.

    Args:
        id: the environment's id, such as "mine/MyTool-v0".
        page: a bundled page's id or a TOML file.
    """
    registration.register(
        id=id,
        entry_point="toolenvs.env:ToolEnv",
        vector_entry_point="toolenvs.vector:ToolVectorEnv",
        disable_env_checker=True,
        order_enforce=False,
        kwargs={"page": str(page)},
    )


def register_pages() -> None:
    """Register every bundled page that is not registered yet, and `Remote-v0`, any page at a server."""
    if REMOTE not in registration.registry:
        registration.register(
            id=REMOTE,
            entry_point="toolenvs.remote:RemoteEnv",
            vector_entry_point="toolenvs.remote:RemoteVectorEnv",
            disable_env_checker=True,
            order_enforce=False,
        )
    for name in page_files():
        if f"toolenvs/{name}" not in registration.registry:
            register(f"toolenvs/{name}", name)
