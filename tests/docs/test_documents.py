"""Links of README, CONTRIBUTING, examples and docstrings: what they show runs, what they name is there."""

import inspect
import re
import runpy
from importlib import import_module
from pathlib import Path

import pytest
from docstring_parser import DocstringStyle, parse

from driftopt import methods, simulate
from driftopt.methods import estimators, o2nc
from driftopt.problems import kink

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PUBLIC = ("", ".methods", ".problems", ".study", ".sweep", ".comparison", ".theory", ".stationarity", ".data")
PUBLIC += (".oracle", ".problem", ".space", ".answers", ".plugins", ".rng")


def test_every_link_of_the_readme_leads_somewhere():
    for link in re.findall(r"\]\((?!https:)([^)#]+)\)", README):
        assert (ROOT / link).exists(), link


def test_a_new_method_in_ten_lines(monkeypatch):
    """The estimator and the registry's line, as printed, give a method that runs and makes progress."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    estimator, line = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len([row for row in (estimator + line).splitlines() if row.strip()]) <= 10
    names = dict(vars(estimators))
    exec(estimator, names)
    added = eval(line, {**vars(o2nc), "Forward": names["Forward"]})
    monkeypatch.setattr(o2nc, "ENTRIES", {**o2nc.ENTRIES, **added})
    (name,) = added
    problem = kink(3, noise=0.1)
    trace = simulate(methods.get(name, radius=0.3, step=0.002), problem, budget=2000)
    assert trace.fun < 0.5 * float(problem.objective(problem.x0))


@pytest.mark.parametrize("example", ["credit.py", "shop.py"])
def test_examples_run_without_real_data_and_say_so(example, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DRIFTOPT_DATA", str(tmp_path))
    runpy.run_path(str(ROOT / "examples" / example), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed.startswith("data: ")
    assert "stand-in" in printed


def test_the_weekly_prices_improve_by_what_is_measured(tmp_path):
    example = runpy.run_path(str(ROOT / "examples" / "weekly_prices.py"))
    study, shop = example["main"](tmp_path / "new")
    found = study.recommend()
    truth = shop.profit(found.x) - shop.profit(example["TODAY"])
    assert truth > 10
    assert abs(found.improvement.mean - truth) < 5 * found.improvement.sem
    assert len(study.trials()) == study.spec.budget


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
