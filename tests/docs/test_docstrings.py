"""Every public function describes its arguments."""

import inspect
from importlib import import_module

import pytest
from docstring_parser import DocstringStyle, parse

PUBLIC = ("", ".methods", ".problems", ".study", ".sweep", ".comparison", ".theory", ".stationarity", ".data")
PUBLIC += (".oracle", ".problem", ".space", ".answers", ".plugins", ".rng")


def public_functions():
    """Every public function, by its name."""
    homes = [import_module(f"driftopt{part}") for part in PUBLIC]
    things = {f"{home.__name__}.{name}": getattr(home, name) for home in homes for name in home.__all__}
    return {place: thing for place, thing in things.items() if inspect.isfunction(thing)}


@pytest.mark.parametrize(("place", "function"), public_functions().items())
def test_a_public_function_describes_all_of_its_arguments(place, function):
    """One argument alone is what the first line speaks of."""
    described = {p.arg_name for p in parse(inspect.getdoc(function), DocstringStyle.GOOGLE).params}
    taken = set(inspect.signature(function).parameters)
    assert described == taken or (not described and len(taken) == 1), place
