"""Environments that are built once, kept while they are used, and closed for others."""

import asyncio
from typing import Any

from toolenvs.serve.env.envs import Envs


async def test_one_that_was_just_built_is_not_closed_before_who_waits_for_it_has_it() -> None:
    closed: list[str] = []

    class Built:
        def __init__(self, name: str) -> None:
            self.name = name

        async def close(self) -> None:
            closed.append(self.name)

    class Watched(Envs):
        async def _build(self, name: str, overrides: Any) -> Any:
            if name == "Countdown-v0":
                others.append(asyncio.create_task(self.get("Sokoban-v0", {})))  # comes as it is done, and wants room
            return Built(name)

    others: list[asyncio.Task[Any]] = []
    envs = Watched((), (), most=1)
    first = await envs.get("Countdown-v0", {})
    first.episodes += 1
    assert closed == []
    (refused,) = await asyncio.gather(*others, return_exceptions=True)
    assert "in use" in str(refused)
    first.episodes -= 1
    assert (await envs.get("Sokoban-v0", {})).blueprint.name == "Sokoban-v0"
    assert closed == ["Countdown-v0"]
    await envs.aclose()
