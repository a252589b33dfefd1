"""Customers' wishes at a generated shop: what a product is to be, and what it may cost. See `toolenvs.shop`."""

from collections.abc import Callable
from typing import Any

from toolenvs.errors import TaskError
from toolenvs.shop import catalogue, draw_wish
from toolenvs.shop.site import add_number, option_number, order_number, result_number
from toolenvs.tasks.generated import Problem, require_whole_number
from toolenvs.tasks.seeding import Draws

_MAX_ATTRIBUTES = 5


def make(
    *, products: int = 1_000, shop: int = 0, min_attributes: int = 2, max_attributes: int = 3
) -> Callable[[Draws], Problem]:
    """The generator: wishes that at least one of the `products` of the shop of seed `shop` fulfils.

    `extra["wish"]` is the wish as `Wish.as_dict` writes it, `extra["matches"]` the number of products that can fulfil
    it, and `extra["calls"]` are calls of a browser that buy the one it was made from.

    Raises:
        TaskError: an option is out of range.
    """
    require_whole_number(min_attributes, "generator 'shop': min_attributes", 1, _MAX_ATTRIBUTES)
    require_whole_number(max_attributes, "generator 'shop': max_attributes", 1, _MAX_ATTRIBUTES)
    if min_attributes > max_attributes:
        raise TaskError(f"generator 'shop': min_attributes {min_attributes} is above max_attributes {max_attributes}")
    made = catalogue(products, shop)

    def problem(draws: Draws) -> Problem:
        wish, product = draw_wish(made, draws, min_attributes, max_attributes)
        piece = wish.best(product)
        calls: list[dict[str, Any]] = [
            {"action": "search", "query": product.title},
            {"action": "click", "link": result_number(made.search(product.title).index(product))},
            *(
                {"action": "select", "link": option_number(product, option), "option": value}
                for option, value in piece.chosen.items()
            ),
            {"action": "click", "link": add_number(product)},
            {"action": "click", "link": order_number(1)},
        ]
        extra = {
            "wish": wish.as_dict(),
            "matches": sum(map(wish.fulfilled_by, made.kinds[wish.kind])),
            "calls": tuple(calls),
        }
        return Problem(question=wish.asked(draws), answer=None, extra=extra)

    return problem
