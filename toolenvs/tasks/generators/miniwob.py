"""Pages of MiniWoB++ by name and seed: what is to be done stands on the page, and the page says whether it was done.

The names are those of the package `miniwob`, which the tool needs and this does not. The default ones can be done by
reading the numbered elements of `toolenvs.web.chromium.miniwob`; those are left out that are about a picture, that move
while one reads, or that take a drawn path.
"""

from collections.abc import Callable, Sequence

from toolenvs.errors import TaskError
from toolenvs.tasks.generated import Problem
from toolenvs.tasks.seeding import Draws

TEXT = (
    "ascending-numbers", "book-flight", "buy-ticket", "choose-date", "choose-date-easy", "choose-date-medium",
    "choose-list", "click-button", "click-button-sequence", "click-checkboxes", "click-checkboxes-large",
    "click-checkboxes-soft", "click-checkboxes-transfer", "click-collapsible", "click-collapsible-2", "click-color",
    "click-dialog", "click-dialog-2", "click-link", "click-menu", "click-option", "click-scroll-list", "click-shades",
    "click-tab", "click-tab-2", "click-tab-2-easy", "click-tab-2-hard", "click-tab-2-medium", "click-test",
    "click-test-2", "click-test-transfer", "click-widget", "copy-paste", "copy-paste-2", "count-shape", "drag-items",
    "drag-items-grid", "email-inbox", "email-inbox-delete", "email-inbox-forward", "email-inbox-forward-nl",
    "email-inbox-forward-nl-turk", "email-inbox-important", "email-inbox-nl-turk", "email-inbox-noscroll",
    "email-inbox-reply", "email-inbox-star-reply", "enter-date", "enter-password", "enter-text", "enter-text-2",
    "enter-text-dynamic", "enter-time", "find-greatest", "find-word", "focus-text", "focus-text-2", "form-sequence-2",
    "form-sequence-3", "generate-number", "grid-coordinate", "guess-number", "identify-shape", "login-user",
    "login-user-popup", "multi-layouts", "multi-orderings", "navigate-tree", "odd-or-even", "order-food", "phone-book",
    "read-table", "read-table-2", "scroll-text", "search-engine", "sign-agreement", "simple-algebra",
    "simple-arithmetic", "social-media", "social-media-all", "social-media-some", "text-transform", "tic-tac-toe",
    "use-autocomplete", "use-spinner", "visual-addition",
)  # fmt: skip
_SEEDS = 2**31


def make(*, pages: Sequence[str] = TEXT) -> Callable[[Draws], Problem]:
    """The generator: one of `pages`, each equally likely, with a seed. No seed of a page is in two splits.

    Raises:
        TaskError: `pages` is no list of names, or empty.
    """
    if isinstance(pages, str) or not pages or not all(isinstance(page, str) for page in pages):
        raise TaskError(f"generator 'miniwob': pages is {pages!r:.80}; give a list of pages, such as ['click-button']")

    def problem(draws: Draws) -> Problem:
        page, seed = draws.choice(pages), draws.below(_SEEDS)
        return Problem(question=f"{page}, seed {seed}", answer=None, extra={"page": page, "seed": seed})

    return problem
