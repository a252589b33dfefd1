"""The catalogue: equal for equal seeds, full of products that differ, and found by their words."""

import subprocess
import sys

import pytest

from toolenvs.errors import TaskError
from toolenvs.shop.catalogue import DEPARTMENTS, Catalogue, catalogue
from toolenvs.shop.goods import DEARER, SHELVES

SHOP = catalogue(1_000, 0)


def test_goods_are_told_apart() -> None:
    assert len({kind for shelf in SHELVES for kind in shelf.kinds}) == sum(len(shelf.kinds) for shelf in SHELVES)
    for shelf in SHELVES:
        assert len(set(shelf.features)) == len(shelf.features) >= 12
        assert all(len(set(values)) == len(values) >= 3 for values in shelf.options.values())
        assert 0 < shelf.prices[0] < shelf.prices[1]
        texts = [*shelf.kinds, *shelf.features, *shelf.options, *(v for vs in shelf.options.values() for v in vs)]
        assert all(set(text) & set("<>&\"'†‡[]") == set() for text in texts)
    assert len(DEPARTMENTS) == 6


def test_products() -> None:
    assert len(SHOP.products) == len({product.series for product in SHOP.products}) == 1_000
    assert {product.shelf.name for product in SHOP.products} == {shelf.name for shelf in SHELVES}
    for number, product in enumerate(SHOP.products):
        assert product.number == number
        assert product.kind in product.shelf.kinds
        assert len(set(product.features)) == 5
        assert set(product.features) <= set(product.shelf.features)
        assert product.shelf.prices[0] * 100 <= product.base_price < product.shelf.prices[1] * 100 + 100
        for option, values in product.options.items():
            assert set(values) <= set(product.shelf.options[option])
            steps = list(values.values())
            assert steps == sorted(steps)
            assert (len(set(steps)) == len(steps)) if option in DEARER else set(steps) == {0}
            assert len(values) >= 3


def test_a_seed_gives_the_same_catalogue_in_any_process() -> None:
    program = "from toolenvs.shop import catalogue; print([(p.title, p.base_price) for p in catalogue(50, 3).products])"
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7"}
    ).stdout
    assert told.strip() == str([(product.title, product.base_price) for product in Catalogue(50, 3).products])
    assert Catalogue(50, 4).products != Catalogue(50, 3).products
    assert Catalogue(20, 3).products == Catalogue(50, 3).products[:20]


def test_search() -> None:
    for product in SHOP.products[::50]:
        assert SHOP.search(product.title)[0] is product
        assert SHOP.search(product.title.upper() + " <>")[0] is product
        found = SHOP.search(f"{product.kind} {' '.join(product.features[:3])}")
        assert found.index(product) < 10
    assert SHOP.search("nothing that there is xyzzy") == []
    assert len(SHOP.search("")) == len(SHOP.search("  ")) == 1_000
    assert SHOP.search("?!") == []
    assert SHOP.search("teal") == SHOP.search("teal teal")


def test_filters_and_order() -> None:
    everything = SHOP.search("lamp stackable")
    for department in DEPARTMENTS:
        assert SHOP.search("lamp stackable", department=department) == [
            product for product in everything if product.shelf.department == department
        ]
    bound = everything[3].base_price
    cheap = SHOP.search("lamp stackable", most=bound)
    assert cheap == [product for product in everything if product.base_price <= bound]
    prices = [product.base_price for product in SHOP.search("lamp stackable", order="price")]
    assert prices == sorted(product.base_price for product in everything)
    assert [product.base_price for product in SHOP.search("lamp stackable", order="dearest")] == prices[::-1]


@pytest.mark.parametrize("options", [{"size": 0}, {"size": 10**9}, {"size": True}, {"seed": 1.5}, {"size": "9"}])
def test_what_is_out_of_range_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(TaskError, match="a catalogue's (products|shop) is"):
        Catalogue(**options)  # type: ignore[arg-type]
