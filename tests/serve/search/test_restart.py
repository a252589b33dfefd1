"""The server dies under running episodes and comes back."""

import asyncio
import signal
import socket

import toolenvs
from toolenvs import retrieval
from toolenvs.agents.scripted import FromFunction
from toolenvs.retrieval import Retriever
from toolenvs.rollout.collect import run_episode
from toolenvs.rollout.trajectory import Trajectory

EPISODES, TURNS = 16, 6
WORDS = ["novel", "clocks", "rope", "Merrow", "printing", "plateau", "sailors"]


class Rollout:
    """Episodes one after the other, in several places at once."""

    def __init__(self, url: str, client: Retriever) -> None:
        self.blueprint = toolenvs.load("SearchR1-v0", **{"tools.search.index": url, "budget.max_turns": TURNS + 2})
        self.blueprint.tools["search"].retriever = lambda: client  # with a short patience
        self.trajectories: list[Trajectory] = []
        self.ending = False

    async def place(self, number: int) -> None:
        def act(request: object) -> str:
            turn = request.turn  # type: ignore[attr-defined]
            return "<answer>x</answer>" if turn > TURNS else f"<search>{WORDS[(number + turn) % len(WORDS)]}</search>"

        while not self.ending:
            task = self.blueprint.tasks[number]
            self.trajectories.append(await run_episode(self.blueprint, FromFunction(act), task))
            await asyncio.sleep(0)

    async def more(self, ending: str, count: int) -> None:
        """Wait until so many more episodes have ended so."""
        wanted = self.count(ending) + count
        while self.count(ending) < wanted:
            await asyncio.sleep(0.005)

    def count(self, ending: str) -> int:
        return sum(trajectory.ending == ending for trajectory in self.trajectories)


async def test_episodes_end_as_infrastructure_and_none_sees_nothing(start, local: Retriever) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    expected = {}
    with retrieval.open(url, attempts=2, deadline_s=2.0) as client:
        rollout = Rollout(url, client)
        tool = rollout.blueprint.tools["search"]
        tool.retriever = lambda: local
        session = await tool.open(rollout.blueprint.tasks[0], seed=0, progress=0.0)
        for word in WORDS:
            expected[word] = (await session.call({"query": word})).text
            assert expected[word]
        tool.retriever = lambda: client
        with start(port=port) as served:
            places = [asyncio.create_task(rollout.place(number)) for number in range(EPISODES)]
            await rollout.more("answer", EPISODES)
            assert rollout.count("infrastructure") == 0
            assert served.end(signal.SIGKILL) == -signal.SIGKILL
            await rollout.more("infrastructure", EPISODES)
        with start(port=port):
            await rollout.more("answer", 2 * EPISODES)  # it goes on
            lost = rollout.count("infrastructure")
            await rollout.more("answer", 2 * EPISODES)
            assert rollout.count("infrastructure") == lost
            rollout.ending = True
            await asyncio.gather(*places)
    for trajectory in rollout.trajectories:
        assert trajectory.ending in ("answer", "infrastructure")
        right = [call for call in trajectory.calls if call.status == "ok"]
        assert [call.result for call in right] == [expected[str(call.arguments["query"])] for call in right]
        if trajectory.ending == "answer":
            assert len(right) == len(trajectory.calls) == TURNS
        else:
            assert "127.0.0.1" in (trajectory.fault or "")
