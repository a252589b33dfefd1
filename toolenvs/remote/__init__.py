"""Environments at a server (`toolenvs serve env`), with the faces of those that run here.

    env = toolenvs.connect("http://10.0.0.5:8090", "ReTool-v0")             # a gymnasium.Env
    env = gymnasium.make("toolenvs/Remote-v0", url="http://...", page="ReTool-v0")
    blueprint = remote.load("http://10.0.0.5:8090", "ReTool-v0", tokenizer=tokenizer)   # for rollout.collect

What episodes say crosses the wire whole, so that a trajectory that was collected over it equals one that was not.
"""

from toolenvs.remote.blueprint import RemoteBlueprint
from toolenvs.remote.env import RemoteEnv, RemoteVectorEnv

__all__ = ["RemoteBlueprint", "RemoteEnv", "RemoteVectorEnv", "connect", "load"]

connect = RemoteEnv
load = RemoteBlueprint
