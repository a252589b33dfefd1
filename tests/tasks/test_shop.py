"""Wishes: a thousand of each split, each fulfilled by a product of the shop, none in two splits."""

import pytest

from toolenvs import tasks
from toolenvs.errors import TaskError
from toolenvs.shop import Wish, catalogue

SHOP = catalogue(1_000, 0)


@pytest.mark.parametrize("split", ["train", "test"])
def test_a_thousand_wishes_have_a_product_each(split: str) -> None:
    wishes = tasks.load("shop", split=split, size=1_000)
    seen = list(wishes)
    assert len({task.question for task in seen}) > 990
    for task in seen:
        assert task.extra["matches"] >= 1
        assert task.golds == ()
    for task in seen[::100]:
        wish = Wish.from_dict(task.extra["wish"])
        assert sum(wish.value([wish.best(product)]) == 1 for product in SHOP.products) == task.extra["matches"]


def test_splits_share_no_wish() -> None:
    train, test = ({task.question for task in tasks.load("shop", split=split, size=500)} for split in ("train", "test"))
    assert not train & test


@pytest.mark.parametrize(
    "options",
    [{"min_attributes": 0}, {"max_attributes": 6}, {"min_attributes": 3, "max_attributes": 2}, {"products": 0}],
)
def test_what_is_out_of_range_is_refused(options: dict[str, int]) -> None:
    with pytest.raises(TaskError, match="min_attributes|max_attributes|products"):
        tasks.load("shop", **options)


def test_another_shop() -> None:
    one, other = (tasks.load("shop", shop=shop, products=60, size=20) for shop in (0, 1))
    assert [task.question for task in one] != [task.question for task in other]
