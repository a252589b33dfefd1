"""What buyers earn at Shop-v0: one who knows the way, one who reads, and two who do not; the mean reward and success.

    python benchmarks/shop.py --tasks 200

They act through the episode as a policy does, and know of the wish what it says:

- oracle: the calls that each task carries.
- reader: searches for the whole wish, opens the first `OPENED` results, and buys the one that has most of it.
- first: buys the first result of a search for the whole wish, options at random.
- random: buys any product, options at random.
"""

import argparse
import asyncio
import random
import re
from collections.abc import Callable
from typing import Any

import toolenvs
from toolenvs.agents.scripted import FromFunction, Oracle
from toolenvs.blueprint import Blueprint
from toolenvs.protocols import Call
from toolenvs.rollout import collect
from toolenvs.rollout.agent import Request

OPENED = 6
_LINK = re.compile(r"\[(\d+)†[^\]]+\] \| from")
_SELECT = re.compile(r"\[(\d+)‡select (\w+): ([^(]*) \(of choose, (.*)\)\]$", re.MULTILINE)
_FEATURE = re.compile(r"^L\d+: \* (.*)$", re.MULTILINE)
_BUTTON = re.compile(r"\[(\d+)‡submit (Add to cart|Place the order)\]")
_MORE = re.compile(r" \(\+ \$[\d.]+\)")
Arguments = dict[str, Any]


class Buyer:
    """Fills in and orders the product whose page it sees; a subclass says how it gets there.

    Args:
        question: what is wanted, in words.
        draws: its whims.
    """

    def __init__(self, question: str, draws: random.Random) -> None:
        self.question = question
        self.draws = draws
        self.chosen: set[str] = set()

    def begin(self) -> Arguments:
        """The first call."""
        raise NotImplementedError

    def looks_on(self, page: str) -> Arguments | None:
        """Another call before it buys what it sees; None to buy."""
        return None

    def choice(self, values: list[str]) -> str:
        """Of the values of an option."""
        return self.draws.choice(values)

    def act(self, turn: int, page: str) -> Arguments:
        """The call of a turn, by what the last one showed."""
        if turn == 1:
            return self.begin()
        buttons = {name: int(number) for number, name in _BUTTON.findall(page)}
        if "Place the order" in buttons:
            return {"action": "click", "link": buttons["Place the order"]}
        onward = None if self.chosen else self.looks_on(page)
        if onward is not None:
            return onward
        for number, option, _, values in _SELECT.findall(page):
            if option not in self.chosen:
                self.chosen.add(option)
                choice = self.choice(_values(values))
                return {"action": "select", "link": int(number), "option": choice, "cursor": _cursor(page)}
        if "Add to cart" in buttons:
            return {"action": "click", "link": buttons["Add to cart"], "cursor": _cursor(page)}
        return {"action": "back"}


class Random(Buyer):
    """Buys any product."""

    def begin(self) -> Arguments:
        return {"action": "open", "url": f"http://shop.test/item/{self.draws.randrange(1_000)}"}


class First(Buyer):
    """Buys the first result."""

    def begin(self) -> Arguments:
        return {"action": "search", "query": self.question}

    def looks_on(self, page: str) -> Arguments | None:
        found = _LINK.search(page)
        return {"action": "click", "link": int(found[1])} if found else None


class Reader(First):
    """Opens the first results and buys the one that has most of what the wish names, choosing what it names."""

    def __init__(self, question: str, draws: random.Random) -> None:
        super().__init__(question, draws)
        self.results: list[int] = []
        self.opened: list[tuple[int, int]] = []
        """How much each product has, and the cursor of its page."""

    def looks_on(self, page: str) -> Arguments | None:
        if _cursor(page) == 0:
            self.results = [int(number) for number in _LINK.findall(page)][:OPENED]
        else:
            offered = [value for *_, values in _SELECT.findall(page) for value in _values(values)]
            has = sum(_named(thing, self.question) for thing in (*_FEATURE.findall(page), *offered))
            self.opened.append((has, -_cursor(page)))
        if self.results:
            return {"action": "click", "link": self.results.pop(0), "cursor": 0}
        self.chosen.add("")  # it has looked enough
        return {"action": "view", "line": 0, "cursor": -max(self.opened)[1]} if self.opened else None

    def choice(self, values: list[str]) -> str:
        named = [value for value in values if _named(value, self.question)]
        return max(named, key=len) if named else values[0]


def _cursor(page: str) -> int:
    return int(page[1 : page.index("]")])


def _values(listed: str) -> list[str]:
    return _MORE.sub("", listed).split(", ")


def _named(thing: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(thing)}(?!\w)", text) is not None


def agent(blueprint: Blueprint, kind: type[Buyer], seed: int = 0) -> FromFunction:
    """An agent that buys so, each episode by itself."""
    buyers: dict[str, Buyer] = {}

    def act(request: Request) -> str:
        buyer = buyers.get(request.key)
        if buyer is None or request.turn == 1:
            buyer = buyers[request.key] = kind(request.task.question, random.Random(f"{seed} {request.task.id}"))
        return blueprint.protocol.write_call(Call("shop", buyer.act(request.turn, request.last_result)))

    return FromFunction(act)


BUYERS: dict[str, Callable[[Blueprint], Any]] = {
    "oracle": Oracle,
    "reader": lambda blueprint: agent(blueprint, Reader),
    "first": lambda blueprint: agent(blueprint, First),
    "random": lambda blueprint: agent(blueprint, Random),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--split", default="test")
    given = parser.parse_args()
    blueprint = toolenvs.load("Shop-v0", tasks={"split": given.split})
    tasks = [blueprint.tasks[index] for index in range(given.tasks)]
    print(f"{given.tasks} tasks, split {given.split!r}; "
          f"{sum(task.extra['matches'] for task in tasks) / len(tasks):.2f} products fulfil one of them")  # fmt: skip
    print(f"{'buyer':8}  reward  success  ordered  turns")
    for name, make in BUYERS.items():
        episodes = asyncio.run(collect(blueprint, make(blueprint), tasks))
        ordered = sum(episode.ending == "done" for episode in episodes) / len(episodes)
        reward = sum(episode.reward for episode in episodes) / len(episodes)
        success = sum(episode.success == 1 for episode in episodes) / len(episodes)
        turns = sum(len(episode.turn_rewards) for episode in episodes) / len(episodes)
        print(f"{name:8}  {reward:6.3f}  {success:7.3f}  {ordered:7.3f}  {turns:5.1f}")


if __name__ == "__main__":
    main()
