"""The choice between the twins."""

import os

import pytest

from prokurist.records.implementation import CHOICE, MODULES
from prokurist.twins import VARIABLE, choose


def test_the_pure_twin_can_always_be_had() -> None:
    """`PROKURIST_IMPL=python` needs no compiler."""
    assert choose(MODULES, "python").name == "python"


def test_the_variable_decides_for_the_process() -> None:
    """What this process runs is what it was asked to run."""
    wanted = os.environ.get(VARIABLE)
    assert not wanted or CHOICE.name == wanted


def test_an_unknown_name_lists_the_known_ones() -> None:
    """The value, the rule, the way out."""
    with pytest.raises(
        ImportError, match=r"'cython' names no.*'native' and 'python', or unset"
    ):
        choose(MODULES, "cython")


def test_a_native_twin_that_cannot_be_had_says_why() -> None:
    """Asked for by name: every attempt and its failure; not asked for: the pure one serves."""
    modules = {"native": "prokurist.records.not_built", "python": "prokurist.records.varints"}
    with pytest.raises(ImportError, match=r"native: No module named .*C compiler.*unset"):
        choose(modules, "native")
    fallback = choose(modules, None)
    assert fallback.name == "python"
    assert "not_built" in fallback.failures["native"]
    assert choose(modules, "").name == "python"
