"""What an order is worth: the formula, on an example worked by hand and on every kind of wrong order."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.errors import TaskError
from toolenvs.shop import Piece, Product, Wish, catalogue, draw_wish
from toolenvs.shop.goods import SHELVES
from toolenvs.tasks.seeding import Draws

SHOP = catalogue(1_000, 0)
CUPS = next(shelf for shelf in SHELVES if "coffee cup" in shelf.kinds)
CUP = Product(
    number=0,
    brand="A",
    series="B",
    kind="coffee cup",
    shelf=CUPS,
    features=("stackable", "hand made", "vintage", "recycled", "odourless"),
    options={"pack": {"1 piece": 0, "2 pieces": 300}, "colour": {"teal": 0, "navy": 0}},
    base_price=1_000,
)
WISH = Wish(
    kind="coffee cup",
    department="Kitchen",
    attributes=("stackable", "vintage"),
    options={"pack": "2 pieces", "colour": "teal"},
    most=1_300,
)


def piece(pack: str = "2 pieces", colour: str = "teal", **changes: object) -> Piece:
    return Piece(dataclasses.replace(CUP, **changes), {"pack": pack, "colour": colour})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("order", "worth"),
    [
        ([piece()], 1.0),
        ([], 0.0),
        ([piece(colour="navy")], 4 / 5),
        ([piece(pack="1 piece", colour="navy")], 3 / 5),
        ([piece(features=("stackable", "engraved", "a", "b", "c"))], 4 / 5),
        ([piece(features=())], 3 / 5),
        ([piece(base_price=1_001)], 4 / 5),  # a cent too much, with what the option adds
        ([piece(pack="1 piece", base_price=1_300)], 4 / 5),  # exactly the bound
        ([piece(kind="travel cup")], 0.5),
        ([piece(kind="tea glass")], 0.1),
        ([piece(kind="rain coat", shelf=SHELVES[3])], 0.0),
        ([piece(kind="travel cup", features=(), base_price=9_000)], 0.5 * 2 / 5),
        ([piece(), piece()], 1 / 2),
        ([piece(), piece(colour="navy")], 4 / 5 / 2),
        ([piece()] * 20, 1 / 20),
        ([piece(), piece(kind="rain coat", shelf=SHELVES[3])], 0.0),
    ],
)
def test_an_order(order: list[Piece], worth: float) -> None:
    assert WISH.value(order) == pytest.approx(worth)


def test_adding_to_an_order_never_pays() -> None:
    wish, product = draw_wish(SHOP, Draws("t"), 2, 3)
    order = [wish.best(product)]
    for other in SHOP.products[::37]:
        assert wish.value([*order, wish.best(other)]) <= min(0.5, wish.value([wish.best(other)]))
    assert wish.value([wish.best(one) for one in SHOP.products]) == 0.0


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(0, 4))
def test_what_a_wish_was_made_from_fulfils_it(number: int, least: int, more: int) -> None:
    wish, product = draw_wish(SHOP, Draws("wish", number), least, min(least + more, 5))
    assert least <= len(wish.attributes) <= min(least + more, 5)
    assert wish.options
    assert wish.fulfilled_by(product)
    best = wish.best(product)
    assert wish.value([best]) == 1.0
    assert best.price <= wish.most < best.price + 15 * 100
    asked = wish.asked(Draws("asked", number))
    told = [wish.kind, *wish.attributes, *wish.options, *wish.options.values(), f"{wish.most // 100} dollars"]
    assert all(word in asked for word in told)
    assert product.series not in asked
    assert product.brand not in asked


def test_a_wish_survives_a_file() -> None:
    assert Wish.from_dict(json.loads(json.dumps(WISH.as_dict()))) == WISH


@pytest.mark.parametrize("table", [None, {}, [], "x", {"kind": "coffee cup"}, {**WISH.as_dict(), "shelf": "x"}, 3])
def test_what_is_no_wish_is_refused(table: object) -> None:
    with pytest.raises(TaskError, match="is no wish of a customer"):
        Wish.from_dict(table)
