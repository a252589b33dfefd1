"""A recorded site in which facts were changed, so that what is remembered of it is wrong: "sites/git-doc:edited:7".

Nothing is copied: pages come from the recording, and what they tell of a changed fact is changed as they are asked for.
"""

from collections import defaultdict
from collections.abc import Mapping

from toolenvs import site_facts
from toolenvs.errors import WebError
from toolenvs.site_facts import Slot
from toolenvs.site_facts.editing import spliced
from toolenvs.web.store import PageStore, Recorded, fingerprint

FORM = 1
"""To be raised when other values are drawn."""


class EditedSite:
    """As `toolenvs.web.store.PageStore`, over one. Nothing in it changes, so that threads and forks may share it.

    Args:
        store: the recording; closed with this one.
        name: of the site.
        seed: of the copy.

    Raises:
        TaskError: there are no questions about the site.
        WebError: they are of another recording.
    """

    def __init__(self, store: PageStore, name: str, seed: int) -> None:
        facts = site_facts.read(name)
        if facts.fingerprint != store.fingerprint:
            raise WebError(f"the questions about {name} are of another recording: run `toolenvs site questions {name}`")
        self._store = store
        self.home = store.home
        self.recording = store.fingerprint
        """Fingerprint of the recording."""
        edits: dict[str, list[tuple[Slot, str]]] = defaultdict(list)
        for fact in facts.edited(seed):
            assert fact.slot is not None
            edits[fact.url].append((fact.slot, fact.answer))
        self._edits: Mapping[str, list[tuple[Slot, str]]] = edits
        told = [(url, slot.start, f"{slot.end} {value}", b"") for url, found in edits.items() for slot, value in found]
        self.fingerprint = fingerprint([(store.fingerprint, FORM, "", b""), *sorted(told)])

    def get(self, url: str) -> Recorded | None:
        """As `PageStore.get`.

        Raises:
            WebError: the file is damaged, or was closed.
        """
        recorded = self._store.get(url)
        edits = self._edits.get(url)
        if recorded is None or not edits:
            return recorded
        return Recorded(url, recorded.status, recorded.headers, spliced(recorded.body, edits))

    def __contains__(self, url: str) -> bool:
        return url in self._store

    def __len__(self) -> int:
        return len(self._store)

    def urls(self) -> list[str]:
        """All addresses, sorted."""
        return self._store.urls()

    def edited_urls(self) -> list[str]:
        """Of the pages that differ from the recording's, sorted."""
        return sorted(self._edits)

    def close(self) -> None:
        """Close the recording."""
        self._store.close()
