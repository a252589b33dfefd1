"""What the ablations change, and that they name what exists."""

import shlex

import torch

from toolenvs import page
from toolenvs.tokens import Mask
from toolenvs.train.batching import TokenSequence, pad
from toolenvs.train.recipe import parse


def test_exposed_observations_are_all_behind_the_prompt_and_none_of_the_padding(script):
    short = TokenSequence.of([1, 2, 3, 4], [0, 1, 0, 1])
    long = TokenSequence.of([1, 2, 3, 4, 5, 6], [0, 0, 1, 2, 0, 1])
    exposed = script("grpo").expose_observations(pad([short, long])).mask
    one, two, none = Mask.POLICY, Mask.UNSCORED, Mask.ENVIRONMENT
    assert exposed.tolist() == [[none, one, one, one, none, none], [none, none, one, two, one, one]]
    assert exposed.dtype == torch.int8


def test_every_condition_is_a_setting_that_exists(script):
    grpo, ablations = script("grpo"), script("ablations")
    for options in ablations.CONDITIONS.values():
        args = parse(grpo.Args, ["--output", "x", *options])
        page.load(args.page, args.env)
    assert shlex.join(ablations.CONDITIONS["the tool lies"])
