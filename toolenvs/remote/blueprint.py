"""`RemoteBlueprint`: an environment at a server, with the face of one that was built here."""

from collections.abc import Iterator, Mapping
from typing import Any

from toolenvs import schema
from toolenvs.blueprint import Blueprint
from toolenvs.codec import TokenCodec
from toolenvs.errors import ConfigError, InfrastructureError, PageError, TaskError
from toolenvs.page import Page
from toolenvs.remote import link as links
from toolenvs.remote import wire
from toolenvs.remote.episode import RemoteEpisode
from toolenvs.remote.link import Link
from toolenvs.tasks.task import Task, TaskSet

_CHUNK = 64
"""Tasks that are fetched together."""


class RemoteBlueprint(Blueprint):
    """A page at a server. What `toolenvs.rollout.collect` and `ToolEnv` need of it is there; its tools, judge and
    reward stay with the server.

    Args:
        url: of the server, such as "http://10.0.0.5:8090".
        page: id of a page that it serves.
        tokenizer: the tokenizer that the server was started with; token budgets bind there, and tokens are kept here.
        token: sent as a bearer token; "" for none; None: what the environment variable TOOLENVS_ENV_TOKEN holds.
        transport: "websocket", one connection for all episodes of this process, or "http".
        deadline_s: after so long without a sign of life the server counts as dead.
        overrides: keys of the page, as far as the server lets clients set them.

    Raises:
        PageError: the server refuses an override, or cannot read the page with it.
        ConfigError: it serves no such page, wants another token, or has another tokenizer.
        InfrastructureError: it cannot be reached, or a tool does not work there.
    """

    def __init__(
        self,
        url: str,
        page: str,
        *,
        tokenizer: Any = None,
        token: str | None = None,
        transport: str = "websocket",
        deadline_s: float = 60.0,
        **overrides: Any,
    ) -> None:
        for name, value in overrides.items():
            if name == "tasks" and not isinstance(value, Mapping):
                raise PageError("tasks: a task set cannot be sent to a server; override keys of the page's own set")
        self._linked: dict[str, Any] = {"url": url, "token": token, "transport": transport, "deadline_s": deadline_s}
        self.asked: wire.Json = {"page": str(page), "overrides": _plain(overrides)}
        """What names it in requests."""
        self.codec = tokenizer if tokenizer is None or isinstance(tokenizer, TokenCodec) else TokenCodec(tokenizer)
        told = self.link.ask("describe", self.asked)
        try:
            self.page = schema.read(Page, wire.unpack(told["page"]), f"{url}: {page}")
            self._tasks = RemoteTasks(self, told["tasks"]["name"], told["tasks"]["count"])
            self.lease_s = float(told["lease_s"])
            theirs = told["tokenizer"]
        except (KeyError, TypeError, ValueError) as error:
            raise InfrastructureError(f"{url} is no server of environments of this version: {error!r}") from error
        self._check_tokenizer(theirs)

    def _check_tokenizer(self, theirs: str | None) -> None:
        """Token budgets bind where the tools run, so both sides must count with one tokenizer."""
        if self.codec is not None and self.codec.fingerprint != theirs:
            has = "has none" if theirs is None else "has another"
            raise ConfigError(
                f"{self._linked['url']}: a tokenizer was given, and the server {has}: start it with this one, "
                "`toolenvs serve env --tokenizer`"
            )

    @property
    def link(self) -> Link:
        """This process's link to the server."""
        return links.shared(**self._linked)

    @property
    def tasks(self) -> TaskSet:
        """The task set of the server, fetched as it is read."""
        return self._tasks  # type: ignore[return-value]

    async def begin(self, which: Task | str | int, *, seed: int, progress: float) -> RemoteEpisode:
        """An episode about a task, its id or its place; see `RemoteEpisode.begin`."""
        return await RemoteEpisode.begin(self, which, seed=seed, progress=progress)

    async def check(self) -> None:
        """Nothing: the server has run each tool once, before it told of the page."""

    async def close(self) -> None:
        """Nothing: the server keeps its tools."""

    def __getattr__(self, name: str) -> Any:
        if name in ("protocol", "tools", "judge", "markers", "room"):
            raise AttributeError(f"a remote environment has no {name!r} here: it stands at the server")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class RemoteTasks:
    """The tasks of a page at a server.

    Args:
        blueprint: the page.
        name: of the set.
        count: of its tasks.
    """

    def __init__(self, blueprint: RemoteBlueprint, name: str, count: int) -> None:
        self.name = name
        self._blueprint = blueprint
        self._count = count
        self._kept: dict[int, list[Task]] = {}
        self._found: dict[str, Task] = {}

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> Task:
        if not 0 <= index < self._count:
            raise IndexError(f"there is no task {index}; indices go from 0 to {self._count - 1}")
        chunk, place = divmod(index, _CHUNK)
        if chunk not in self._kept:
            start = chunk * _CHUNK
            self._kept[chunk] = self._fetch({"start": start, "count": _CHUNK}, min(_CHUNK, self._count - start))
        return self._kept[chunk][place]

    def __iter__(self) -> Iterator[Task]:
        return (self[index] for index in range(self._count))

    def find(self, task_id: str) -> Task:
        """The task with that id.

        Raises:
            TaskError: no task has it.
        """
        if not task_id:
            raise TaskError("a task's id is not empty")
        if task_id not in self._found:
            (self._found[task_id],) = self._fetch({"id": task_id}, 1)
        return self._found[task_id]

    def _fetch(self, which: wire.Json, count: int) -> list[Task]:
        """That many tasks.

        Raises:
            InfrastructureError: the server is dead, or gave something else.
        """
        link = self._blueprint.link
        told = link.ask("tasks", {**self._blueprint.asked, **which})
        try:
            tasks = [wire.task_from_json(task) for task in told["tasks"]]
            if len(tasks) != count:
                raise ValueError(f"{len(tasks)} tasks, not {count}")
        except wire.MALFORMED as error:
            raise InfrastructureError(f"{link.url} answered with something else: {error!r}") from error
        return tasks


def _plain(value: Any) -> Any:
    """Overrides as JSON has them; a page's tuples are lists in its file."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise PageError(f"an override of a remote page is text, a number, a list or a table, not {value!r:.80}")
