"""The one exception within this room: why a page is not shown. A browser turns it into a `Page`; none gets out."""

from toolenvs.web.page import Status


class Fault(Exception):
    """Why a page is not shown."""

    def __init__(self, status: Status, told: str, *, url: str = "", http_status: int | None = None) -> None:
        """As for `page.problem`.

        Args:
            status: not ok.
            told: one line for the model: what was wrong; what to do.
            url: what was asked for, where it is known here.
            http_status: the server's code, where it gave one.
        """
        super().__init__(told)
        self.status = status
        self.told = told
        self.url = url
        self.http_status = http_status
