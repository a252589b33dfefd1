"""A catalogue by its size and seed: what each product is called, is like, offers to choose and costs; and a search."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import Literal

from toolenvs.errors import TaskError
from toolenvs.shop.goods import DEARER, DEPARTMENTS, SHELVES, Shelf
from toolenvs.tasks.seeding import Draws
from toolenvs.world.names import name

MAX_PRODUCTS = 20_000
_BRANDS = 60
_FEATURES = 5
_WORD = re.compile(r"\w+")
_IN_TITLE = 2
"""A word counts so often where it stands in the title."""
Order = Literal["relevance", "price", "dearest"]


@dataclass(frozen=True, slots=True)
class Product:
    """What can be bought. Prices are in cents."""

    number: int
    brand: str
    series: str
    """A name that no other product has."""
    kind: str
    shelf: Shelf
    features: tuple[str, ...]
    options: Mapping[str, Mapping[str, int]]
    """For each option, its values, each with what it adds to the price."""
    base_price: int

    @property
    def title(self) -> str:
        """What it is called."""
        return f"{self.brand} {self.series} {self.kind}"

    def price(self, chosen: Mapping[str, str]) -> int:
        """What it costs with these values of its options."""
        return self.base_price + sum(self.options[option][value] for option, value in chosen.items())


class Catalogue:
    """Products 0 to `size` - 1. Nothing in it changes, so that episodes share it.

    Args:
        size: how many products.
        seed: another seed gives others.

    Raises:
        TaskError: the size or the seed is out of range.
    """

    def __init__(self, size: int = 1_000, seed: int = 0) -> None:
        for what, value, low, high in (("products", size, 1, MAX_PRODUCTS), ("shop", seed, -(2**63), 2**63)):
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise TaskError(f"a catalogue's {what} is {value!r}; give {low} to {high}, a whole number")
        self.size, self.seed = size, seed
        self.products = tuple(_product(number, seed) for number in range(size))
        self.kinds: dict[str, list[Product]] = {}
        """The products of each kind."""
        self._places: dict[str, dict[int, int]] = {}
        for product in self.products:
            self.kinds.setdefault(product.kind, []).append(product)
            for word, weight in _weights(product).items():
                self._places.setdefault(word, {})[product.number] = weight

    def search(
        self, query: str, *, department: str = "", most: int | None = None, order: Order = "relevance"
    ) -> list[Product]:
        """The products that hold a word of the query, those with the rarest and the most words first.

        Args:
            query: words; "" for all products.
            department: one of `DEPARTMENTS`; "" for all.
            most: in cents, what the cheapest choice of options may cost.
            order: by words, or by the price of the cheapest choice, rising or falling.
        """
        scores: dict[int, float] = {}
        words = [word for word in dict.fromkeys(words_of(query)) if word in self._places]
        for word in words:
            places = self._places[word]
            weight = log(1 + self.size / len(places))
            for number, times in places.items():
                scores[number] = scores.get(number, 0.0) + times * weight
        asked = bool(query.strip())
        found = [
            product
            for product in self.products
            if (not asked or product.number in scores)
            and (not department or product.shelf.department == department)
            and (most is None or product.base_price <= most)
        ]
        if order == "relevance":
            return sorted(found, key=lambda product: (-scores.get(product.number, 0.0), product.number))
        sign = 1 if order == "price" else -1
        return sorted(found, key=lambda product: (sign * product.base_price, product.number))


@lru_cache(maxsize=8)
def catalogue(size: int = 1_000, seed: int = 0) -> Catalogue:
    """The one catalogue of that size and seed."""
    return Catalogue(size, seed)


def words_of(text: str) -> list[str]:
    """The words of a text, in small letters."""
    return _WORD.findall(text.lower())


def _weights(product: Product) -> dict[str, int]:
    values = " ".join(value for values in product.options.values() for value in values)
    rest = f"{' '.join(product.features)} {values} {product.shelf.name} {product.shelf.department}"
    return {**dict.fromkeys(words_of(rest), 1), **dict.fromkeys(words_of(product.title), _IN_TITLE)}


def _product(number: int, seed: int) -> Product:
    draws = Draws("shop", seed, number)
    shelf = draws.choice(SHELVES)
    low, high = shelf.prices
    price = draws.between(low, high) * 100 + draws.choice((0, 49, 95, 99))
    options = {}
    for option, values in shelf.options.items():
        count = draws.between(min(3, len(values)), min(5, len(values)))
        offered = sorted(draws.sample(range(len(values)), count))
        step = draws.between(2, 12) * price // 100 if option in DEARER else 0
        options[option] = {values[at]: step * rank for rank, at in enumerate(offered)}
    return Product(
        number=number,
        brand=name("company", draws.below(_BRANDS), seed),
        series=name("work", number, seed),
        kind=draws.choice(shelf.kinds),
        shelf=shelf,
        features=tuple(draws.sample(shelf.features, _FEATURES)),
        options=options,
        base_price=price,
    )


__all__ = ["DEPARTMENTS", "MAX_PRODUCTS", "Catalogue", "Order", "Product", "catalogue", "words_of"]
