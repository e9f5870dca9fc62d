"""What the standing results say about the loss of any decision.

The loss is the value with the sign that makes less better: one posterior of it, on a scale that suits it.
Where an objective g(x, outputs) is known, the loss follows from one posterior for each output. If values
are reported as well, one more posterior of what g leaves over repairs a wrong or incomplete g.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.linalg import cholesky

from driftopt.model.objective import Objective, Own
from driftopt.model.posterior import Fit, Inputs, Posterior, fit
from driftopt.model.scale import Scale, sign_of

GROWTH = 1.2  # hyper-parameters are chosen again when results have grown by a fifth
FITTED = 200  # the most results they are chosen from: enough to tell the lengths of the grid apart
KEPT = 1000  # the most results in an exact posterior; beyond, the newest
SURPRISE = 1e-4  # the probability below which a result is an outlier
FEW = 8  # results from which logarithms may be taken


@dataclass(frozen=True)
class Results:
    """The results that stand, in any order: n deployments and what came back, NaN where nothing did."""

    x: np.ndarray  # (n, d), the decisions as deployed
    number: np.ndarray  # (n,), which deployment of the study each was, from 1
    value: np.ndarray  # (n,)
    weight: np.ndarray  # (n,), precision: 1 for a usual result
    covariates: np.ndarray  # (n, k)
    context: np.ndarray  # (n, q), numbers that are half alike at a distance of 1; of categories, far apart
    outputs: np.ndarray  # (n, o)
    metrics: np.ndarray  # (n, l)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, rows: Any) -> "Results":
        fields = ("x", "number", "value", "weight", "covariates", "context", "outputs", "metrics")
        return Results(**{name: getattr(self, name)[rows] for name in fields})

    @classmethod
    def of(cls, x: Any, value: Any, **more: Any) -> "Results":
        """Results of which decisions and values alone must be known.

        >>> len(Results.of([[1.0, 2.0], [1.5, 2.0]], [0.3, 0.1]))
        2
        """
        x, value = np.asarray(x, float), np.asarray(value, float)
        n = len(value)
        none = {name: np.zeros((n, 0)) for name in ("covariates", "context", "outputs", "metrics")}
        given: dict[str, Any] = none | {"number": np.arange(1.0, n + 1), "weight": np.ones(n)} | more
        return cls(x=x, value=value, **given)

    def inputs(self, units: np.ndarray) -> Inputs:
        """What the kernel sees: decisions in their units, covariates centred and scaled, 0 where unknown.

        Centre and scale are those of the results of which hyper-parameters are chosen: both change together.
        """
        first = np.argsort(self.number, kind="stable")[: last_fit(len(self))]
        known = np.isfinite(self.covariates)
        count = np.maximum(known[first].sum(axis=0), 1)
        filled = np.where(known, self.covariates, 0.0)
        centred = np.where(known, filled - filled[first].sum(axis=0) / count, 0.0)
        spread = np.sqrt((centred[first] ** 2).sum(axis=0) / count)
        return Inputs(self.x / units, self.number, centred / np.where(spread > 0, spread, 1.0), self.context)


def precision(sem: Sequence[float | None], n: Sequence[float | None]) -> np.ndarray:
    """(n,) weights: 1/sem², else n, each relative to its usual size; 1 where neither was reported.

    >>> precision([None, None, None], [100, 200, None])
    array([0.66666667, 1.33333333, 1.        ])
    """
    weight = np.ones(len(sem))
    exact = [None if one is None or not one > 0 else 1 / one**2 for one in sem]
    for given in (n, exact):
        known = np.array([one is not None and np.isfinite(one) for one in given], bool)
        if known.any():
            sizes = np.array([one for one in given if one is not None and np.isfinite(one)], float)
            weight[known] = sizes / np.median(sizes)
    return weight


def foreseen(early: np.ndarray, final: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n,) final values and weights: where only an early value is known, what pairs say of its final one.

    An early value is moved to the level and the spread of the final ones. It counts for as much as the share
    of their variance that early values have explained; for half until there are three pairs.

    Args:
        early: (n,) the early values, NaN where unknown.
        final: (n,) the final values, NaN where unknown.
    """
    both, only = np.isfinite(early) & np.isfinite(final), np.isfinite(early) & ~np.isfinite(final)
    value, weight = final.copy(), np.ones(len(final))
    if both.sum() >= 3 and early[both].std() > 0:
        ratio = final[both].std() / early[both].std()
        value[only] = final[both].mean() + ratio * (early[only] - early[both].mean())
        weight[only] = np.clip(np.corrcoef(early[both], final[both])[0, 1], 0.03, 1) ** 2
    else:
        value[only], weight[only] = early[only], 0.5
    return value, weight


@dataclass(frozen=True)
class Curve:
    """The posterior of one output, on its scale."""

    scale: Scale
    posterior: Posterior
    outliers: np.ndarray  # (n,) of all results, which ones it leaves out

    @classmethod
    def of(
        cls,
        inputs: Inputs,
        v: np.ndarray,
        weight: np.ndarray,
        *,
        compressed: bool = True,
        logarithms: bool = True,
        own: Own | None = None,
    ) -> "Curve":
        """The posterior of the results whose v is known, without outliers.

        Args:
            inputs: where and when all results were observed.
            v: (n,) the output, NaN where unknown.
            weight: (n,) their precision.
            compressed: whether large v are bad and need no details.
            logarithms: whether effects may multiply, if all v have one sign.
            own: the coordinate on which the output mainly depends, if one is known; effects then multiply
                wherever all v have one sign.
        """
        kept = np.isfinite(v)
        most = kept.sum() // 5  # outliers are few
        while True:
            curve = cls._fitted(inputs[kept], v[kept], weight[kept], compressed, logarithms, own)
            if kept.sum() < 4 or (np.isfinite(v) & ~kept).sum() >= most:
                break
            surprise = curve.posterior.surprises()
            worst = int(surprise.argmin())
            if surprise[worst] > SURPRISE:
                break
            kept[np.flatnonzero(kept)[worst]] = False
        return cls(curve.scale, curve.posterior, np.isfinite(v) & ~kept)

    @classmethod
    def _fitted(
        cls,
        inputs: Inputs,
        v: np.ndarray,
        weight: np.ndarray,
        compressed: bool,
        logarithms: bool,
        own: Own | None,
    ) -> "Curve":
        """Scale and hyper-parameters follow from the first results, as many as when they were last chosen."""
        first = np.argsort(inputs.time, kind="stable")[: last_fit(len(v))][-FITTED:]
        sign = sign_of(v, counts=not compressed)
        scales = [] if sign and own is not None else [Scale.of(v[first], compressed=compressed)]
        if not scales or (sign and logarithms and len(v) >= FEW):
            scales.append(Scale.of(v[first], sign=sign, compressed=compressed))
        if sign and own is not None and (v == np.rint(v)).all():  # counting makes half of the usual noise
            counts = abs(v) + 0.5
            weight = weight * 2 * counts / (counts + np.median(counts[first]))
        owns = [own and own._replace(slope=own.slope * scale.sign / scale.spread) for scale in scales]
        fits = [
            _fit(inputs[first], scale(v[first]), weight[first], one)
            for scale, one in zip(scales, owns, strict=True)
        ]
        evidence = [one.evidence + scale.bend(v[first]) for one, scale in zip(fits, scales, strict=True)]
        best = int(np.argmax(evidence))
        return cls(
            scales[best], Posterior(inputs, scales[best](v), weight, fits[best]), np.zeros(len(v), bool)
        )

    def draws(self, points: Inputs, normal: np.ndarray) -> np.ndarray:
        """(k, m) joint draws of the output at m points from standard normal numbers (k, m)."""
        mean, covariance = self.posterior.joint(points)
        jitter = 1e-9 * float(np.trace(covariance)) / len(mean) + 1e-12 * self.posterior.scale**2
        covariance[np.diag_indices_from(covariance)] += jitter
        try:
            root = cholesky(covariance, lower=True, overwrite_a=True, check_finite=False)
        except (
            np.linalg.LinAlgError
        ):  # results without noise, many at one place: rounding is larger than jitter
            values, vectors = np.linalg.eigh(self.posterior.joint(points)[1])
            root = vectors * np.sqrt(np.maximum(values, 0))
        return self.scale.back(mean + normal @ root.T)


def last_fit(n: int) -> int:
    """How many results there were when hyper-parameters were last chosen.

    >>> [last_fit(n) for n in (3, 11, 100)]
    [3, 10, 84]
    """
    size = min(n, FEW)
    while size < n and (larger := int(np.ceil(size * GROWTH))) <= n:
        size = larger
    return size


def _fit(inputs: Inputs, y: np.ndarray, weight: np.ndarray, own: Own | None) -> Fit:
    """The fit; from memory if the same results were fitted just before."""
    arrays = [np.ascontiguousarray(a, float) for a in (*inputs.arrays, y, weight)]
    return _remembered(tuple((a.shape, a.tobytes()) for a in arrays), own)


@lru_cache(maxsize=256)
def _remembered(content: tuple[tuple[tuple[int, ...], bytes], ...], own: Own | None) -> Fit:
    *inputs, y, weight = (np.frombuffer(data).reshape(shape) for shape, data in content)
    return fit(Inputs(*inputs), y, weight, own)


@dataclass(frozen=True)
class Belief:
    """The loss of any decision, as far as results tell."""

    results: Results
    units: np.ndarray  # (d,), what counts as 1 in each coordinate
    start: np.ndarray  # (d,), the baseline
    sign: float = 1.0  # −1 where values are to be maximised
    objective: Objective | None = None
    limits: int = 0  # how many metrics are limited

    @cached_property
    def inputs(self) -> Inputs:
        return self.results.inputs(self.units)

    @cached_property
    def value(self) -> Curve | None:
        """The loss itself; with an objective, what it leaves over of the values; None without values."""
        v = self.sign * self.results.value
        if self.objective is not None:
            v = v - self.sign * self.objective(self.results.x, self.results.outputs)
            if not np.isfinite(v).any():
                return None
        return Curve.of(self.inputs, v, self.results.weight, compressed=self.objective is None)

    @cached_property
    def outputs(self) -> list[Curve]:
        """The outputs of the objective."""
        if self.objective is None:
            return []
        found: list[Curve] = []
        for i, y in enumerate(self.results.outputs.T):
            own = self.objective.own(i, self.start)
            if own is not None:
                start = tuple((np.array(own.start) / self.units).tolist())
                own = own._replace(start=start, slope=own.slope * float(self.units[own.coordinate]))
            found.append(Curve.of(self.inputs, y, self.results.weight, compressed=False, own=own))
        return found

    @cached_property
    def metrics(self) -> list[Curve]:
        """The limited metrics."""
        columns = self.results.metrics.T[: self.limits]
        return [Curve.of(self.inputs, y, self.results.weight, compressed=False) for y in columns]

    @cached_property
    def main(self) -> list[Posterior]:
        """The posteriors that the policy goes by: of the outputs, else of the value."""
        assert self.outputs or self.value is not None
        return [curve.posterior for curve in self.outputs] or [self.value.posterior]  # pyright: ignore

    def draws(self, points: Inputs, count: int, rng: np.random.Generator, heat: float = 1.0) -> np.ndarray:
        """(count, m) joint draws of the losses at m points, `heat` times as far from the mean as they are."""

        def drawn(curve: Curve) -> np.ndarray:
            return curve.draws(points, heat * rng.standard_normal((count, len(points))))

        loss = np.zeros((count, len(points)))
        if self.objective is not None:
            outputs = np.stack([drawn(curve) for curve in self.outputs], axis=-1)
            loss = self.sign * self.objective(points.x * self.units, outputs)
        return loss if self.value is None else loss + drawn(self.value)

    def mean(self, points: Inputs) -> np.ndarray:
        """(m,) the loss expected at m points; with values alone, on their scale, which has the same order."""
        if self.objective is None:
            assert self.value is not None
            return self.value.posterior.mean(points)
        outputs = np.stack(
            [curve.scale.back(curve.posterior.mean(points)) for curve in self.outputs], axis=-1
        )
        loss = self.sign * self.objective(points.x * self.units, outputs)
        return loss if self.value is None else loss + self.value.scale.back(self.value.posterior.mean(points))

    def slope(self, point: Inputs) -> np.ndarray:
        """(d,), the gradient of `mean` at one point."""
        if self.objective is None:
            assert self.value is not None
            return self.value.posterior.slope(point)
        step = 1e-4 * np.eye(point.x.shape[1])
        sides = self.mean(point.moved(np.vstack([point.x + step, point.x - step])))
        return (sides[: len(step)] - sides[len(step) :]) / 2e-4
