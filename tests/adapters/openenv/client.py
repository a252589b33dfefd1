"""Plays an episode with OpenEnv's own client, in an environment that has the package: prints what it was told.

python client.py URL MESSAGES_AS_JSON
"""

import asyncio
import json
import sys

import openenv
from openenv import GenericEnvClient


async def play(url: str, messages: list[str]) -> list[dict[str, object]]:
    told = []
    async with GenericEnvClient(base_url=url) as env:
        result = await env.reset(seed=7, episode_id="e-1")
        told.append({"observation": result.observation, "reward": result.reward, "done": result.done})
        for message in messages:
            result = await env.step({"message": message})
            told.append({"observation": result.observation, "reward": result.reward, "done": result.done})
        told.append({"state": await env.state()})
        try:
            await env.step({"massage": "x"})
        except RuntimeError as error:
            told.append({"error": str(error)})
    with GenericEnvClient(base_url=url).sync() as env:  # as scripts use it
        told.append({"again": env.reset(seed=7).observation["text"]})
    return told


if __name__ == "__main__":
    told = asyncio.run(play(sys.argv[1], json.loads(sys.argv[2])))
    print(json.dumps({"file": openenv.__file__, "told": told}))
