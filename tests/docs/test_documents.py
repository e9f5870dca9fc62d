"""What CONTRIBUTING says is run."""

import re
from pathlib import Path

from driftopt import methods, simulate
from driftopt.methods import estimators, o2nc
from driftopt.problems import kink

ROOT = Path(__file__).parents[2]


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
