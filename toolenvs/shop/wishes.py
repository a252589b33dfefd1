"""What a customer wants, in words, and what an order is worth to that customer.

The value of a piece is WebShop's reward (Yao et al. 2022, arXiv:2207.01206, section 3, and the `get_reward` of its
released code). Attributes have one spelling here, so they match exactly, where WebShop compares letters. So do types:
for WebShop a product is of the right type (1) where one noun in five of its name is wanted, or its category; else of a
doubtful one (0.5), of hardly the right one (0.1), or of another (0) where no noun is. Here the same kind counts 1, a
kind that shares a word 0.5, another of the same department 0.1, and the rest 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from toolenvs.errors import TaskError
from toolenvs.shop.catalogue import Catalogue, Product, words_of
from toolenvs.tasks.seeding import Draws

_STEP = 500
"""Price bounds are multiples of that many cents."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A product with a value for each of its options."""

    product: Product
    chosen: Mapping[str, str]

    @property
    def price(self) -> int:
        """In cents."""
        return self.product.price(self.chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is wanted; a product that fulfils it is in the catalogue."""

    kind: str
    department: str
    attributes: tuple[str, ...]
    options: Mapping[str, str]
    most: int
    """In cents, the price that a piece may have."""

    def value(self, pieces: Sequence[Piece]) -> float:
        """What an order is worth, 0 to 1.

        A piece is worth (the wanted attributes that it has + the options chosen as wanted + 1 where its price is within
        the bound) / (wanted attributes + wanted options + 1), times 1, 0.5, 0.1 or 0 for its type. One piece is wanted,
        and WebShop's orders have no more; of several the least counts, divided by their number, so that buying more
        never pays.
        """
        return min(map(self._worth, pieces)) / len(pieces) if pieces else 0.0

    def fulfilled_by(self, product: Product) -> bool:
        """Whether some choice of its options is worth 1; only products of its kind can be."""
        return (
            set(self.attributes) <= set(product.features)
            and all(value in product.options.get(option, ()) for option, value in self.options.items())
            and self.value([self.best(product)]) == 1
        )

    def best(self, product: Product) -> Piece:
        """The piece of a product with what was wanted chosen where it is offered, else the cheapest."""
        return Piece(
            product,
            {
                option: self.options.get(option, "") if self.options.get(option, "") in values else min(
                    values, key=lambda value: values[value]
                )
                for option, values in product.options.items()
            },
        )  # fmt: skip

    def _worth(self, piece: Piece) -> float:
        product = piece.product
        points = sum(attribute in product.features for attribute in self.attributes)
        points += sum(piece.chosen.get(option) == value for option, value in self.options.items())
        points += piece.price <= self.most
        return self._right_type(product) * points / (len(self.attributes) + len(self.options) + 1)

    def _right_type(self, product: Product) -> float:
        if product.kind == self.kind:
            return 1.0
        if set(words_of(product.kind)) & set(words_of(self.kind)):
            return 0.5
        return 0.1 if product.shelf.department == self.department else 0.0

    def asked(self, draws: Draws) -> str:
        """The wish in words."""
        attributes = _listed(self.attributes)
        options = _listed([f"{option} {value}" for option, value in self.options.items()])
        price = f"{self.most // 100} dollars"
        return draws.choice(_WORDINGS).format(
            kind=self.kind, attributes=attributes, options=options, price=price, a=_article(self.kind)
        )

    def as_dict(self) -> dict[str, Any]:
        """For a file, or `Task.extra`."""
        return asdict(self)

    @classmethod
    def from_dict(cls, table: Any) -> "Wish":
        """The wish that `as_dict` wrote.

        Raises:
            TaskError: it did not write that.
        """
        try:
            return cls(**{**table, "attributes": tuple(table["attributes"]), "options": dict(table["options"])})
        except (TypeError, KeyError, ValueError) as error:
            raise TaskError(
                f"{table!r:.200} is no wish of a customer ({error}); the generator 'shop' gives some"
            ) from None


def draw_wish(catalogue: Catalogue, draws: Draws, min_attributes: int, max_attributes: int) -> tuple[Wish, Product]:
    """A wish, and a product that fulfils it."""
    product = draws.choice(catalogue.products)
    attributes = draws.sample(product.features, draws.between(min_attributes, max_attributes))
    names = list(product.options)
    wanted = sorted(draws.sample(range(len(names)), draws.between(1, len(names))))
    options = {names[at]: draws.choice(list(product.options[names[at]])) for at in wanted}
    cheapest = {option: min(values, key=lambda value: values[value]) for option, values in product.options.items()}
    price = product.price({**cheapest, **options})
    most = (-(-price // _STEP) + draws.below(3)) * _STEP
    wish = Wish(
        kind=product.kind,
        department=product.shelf.department,
        attributes=tuple(attributes),
        options=options,
        most=most,
    )
    return wish, product


_WORDINGS = (
    "I need {a} {kind}, {attributes}, with {options}, for no more than {price}.",
    "Please buy me {a} {kind}. It should be {attributes}; I want {options}. I can pay up to {price}.",
    "Looking for {a} {kind} with {options}, and {attributes} at that. It must not cost more than {price}.",
    "Order {a} {kind} for me: {options}, {attributes}. The most that I pay is {price}.",
)


def _article(kind: str) -> str:
    if kind.endswith("soil") or (kind.endswith("s") and not kind.endswith("ss")):
        return "some"
    return "an" if kind[0] in "aeiou" else "a"


def _listed(things: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(things[:-1]), things[-1]))) if things else ""
