"""Tiny versions of the paper's experiments: the same code from data to report, in seconds."""

from dataclasses import replace
from unittest import mock

import numpy as np

from driftopt.data import Provenance
from driftopt.paper import protocol, published, reproduction
from driftopt.paper.scope import Scope
from driftopt.problems import Pricing, StrategicClassification
from driftopt.sweep import grid

O2NC = {"radius": [0.5, 1.0], "batch": 5, "block": 5, "step": 0.01}
GRIDS = (
    grid("zo-og", step=[0.01, 0.02], radius=0.5, batch=2),
    grid("zo-o2nc-2pt", **O2NC),
    grid("zo-o2nc-1pt", **O2NC),
)


QUICK = Scope(quick=True)


def strategic(*, scope=QUICK, splits=protocol.SPLITS, data="auto"):
    """Four small data sets under the real splits' names."""

    def problem(seed):
        rng = np.random.default_rng(seed)
        x, y = rng.standard_normal((60, 3)), np.where(rng.random(60) < 0.75, 1.0, -1.0)
        where = Provenance("credit", f"split {seed}")
        return StrategicClassification.from_arrays(x[:40], y[:40], x[40:], y[40:], provenance=where)

    return protocol.Experiment(
        name="strategic",
        title="Strategic classification",
        intro="Tiny splits.",
        instance_word="Split",
        instances=tuple(splits),
        problems=tuple(problem(int(split)) for split in splits),
        provenance=Provenance("credit"),
        budget=200,
        evaluate_every=40,
        grids=GRIDS,
        development=range(1000, 1002),
        held_out=range(1_000_000, 1_000_003),
        metrics=(
            protocol.ReportedMetric("train_loss", "Train loss"),
            protocol.ReportedMetric("test_accuracy", "Test accuracy", larger_is_better=True),
            protocol.ReportedMetric(protocol.NAIVE, "Naive accuracy", True, like="test_accuracy"),
            protocol.ReportedMetric("test_loss", "Test loss"),
            protocol.ReportedMetric("test_auc", "Test AUC", larger_is_better=True),
        ),
        claims=("option one is lowest", "option two is below one-point", "auto is lowest", "spreads"),
        scope=scope,
        published=published.STRATEGIC,
    )


def pricing(*, scope=QUICK, weeks=protocol.WEEKS, data="auto"):
    """Four synthetic weeks of five products."""
    problems = [Pricing.synthetic(k, buyers=20, products=5) for k, _ in enumerate(weeks)]
    return replace(
        strategic(scope=scope),
        name="pricing",
        title="Multi-product pricing",
        instance_word="Week",
        instances=tuple(f"synthetic {k}" for k, _ in enumerate(weeks)),
        problems=tuple(problems),
        provenance=Provenance("prices (stand-in)"),
        grids=GRIDS[:1],
        metrics=(protocol.ReportedMetric("objective", "Final objective"),),
        claims=("option one is lowest", "option two beats the baselines"),
        published={},
        published_elsewhere=published.PRICING,
        table="Final objective",
        caveat="on generated data",
    )


def reproduce(folder, **options):
    """`reproduce --quick` on the tiny experiments."""
    small = {"strategic": strategic, "pricing": pricing}
    with (
        mock.patch.multiple(protocol, **small),
        mock.patch.object(reproduction, "best_known", lambda e, *_, **__: dict.fromkeys(e.instances, -100.0)),
    ):
        return reproduction.reproduce(folder, **{"scope": QUICK, "progress": False, **options})
