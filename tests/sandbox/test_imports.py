"""The choice of a fork server by a program's imports."""

import pytest

from toolenvs.sandbox.imports import imported, kind


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("print(1)", set()),
        ("import math", {"math"}),
        ("import os, numpy as np, sympy.core", {"os", "numpy", "sympy"}),
        ("from sympy import *", {"sympy"}),
        ("x = 1; import numpy", {"numpy"}),
        ("def f():\n    from scipy.optimize import minimize", {"scipy"}),
        ("__import__('numpy')", {"numpy"}),
        ('importlib.import_module("pandas.io")', {"pandas"}),
        ("if x:import numpy", {"numpy"}),
    ],
)
def test_names(code: str, names: set[str]) -> None:
    assert imported(code) == names


def test_kinds() -> None:
    assert kind("import numpy", {"numpy"}) == "full"
    assert kind("import math, json", {"numpy"}) == "bare"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import scipy", "full"),
        ("import numpy, scipy.special", "wide"),
        ("optimize = 1\nimport numpy", "full"),
        ("import pandas as pd", "wide"),
        ("import matplotlib.pyplot as plt", "wide"),
        ("from scipy.optimize import minimize", "wide"),
        ("from scipy import (\n    optimize,\n)", "wide"),
        ("import scipy\nscipy.optimize.root(f, 0)", "wide"),
        ("def stats(): ...", "bare"),
    ],
)
def test_parts_of_packages(code: str, expected: str) -> None:
    installed = {"numpy", "scipy", "pandas", "matplotlib"}
    assert kind(code, installed, ["pandas", "matplotlib", "scipy.optimize", "scipy.special"]) == expected
