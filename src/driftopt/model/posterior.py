"""The posterior of one observed output: a Gaussian process over decisions, contexts and time.

    y = m + f(x, c, t) + βᵀz + ε,    f ~ GP(0, s² k),    ε ~ N(0, s² λ / w)
    k = [(1 − a) k_x(‖x − x′‖/ℓ) + a mean_i k_x(|x_i − x′_i| √d/ℓ)] · k_c(c, c′) · exp(−|t − t′|/τ)
    k_c = product over contexts of (1 − b) + b k_x(|c − c′|)

k_x is the Matérn 5/2 kernel, x in units of the radius. Contexts are numbers, half alike at a distance of 1;
categories are numbers far apart. m, one offset for each context and β have wide
normal priors, so they are terms of the kernel and need no formula of their own. ℓ, a, b, τ and λ are the
most probable values of a small grid; s² has a closed form. All is a function of the set of results: their
order does not matter.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special  # scipy.stats takes three times as long to import
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.spatial.distance import cdist

from driftopt.model.objective import Own

LENGTHS = (
    0.35,
    0.7,
    1.4,
    2.8,
    5.6,
    11.2,
)  # ℓ/√d: from a third of a radius in each coordinate to the whole region
NOISES = np.logspace(-6, 2, 25)  # λ = σ²/s²: from exact values to values that hardly depend on the decision
MEMORIES = (300.0, 100.0, 40.0)  # τ in deployments, next to none at all
ADDITIVE = (0.5, 0.95)  # a: half of f is a sum over coordinates, or nearly all of it
MAINLY = 0.8  # a where an output depends mainly on one coordinate, and weakly on all
APART = (0.1, 0.4, 0.8)  # b: how much of f differs between contexts
OFFSET = 10.0  # the prior standard deviation of m in units of s: wide, yet without loss of digits
SLOPE = 3.0  # and of β, for covariates of standard deviation 1
DOUBT = 0.1  # the probability that f varies over less than the sure length


@dataclass(frozen=True)
class Inputs:
    """Where and when n results were observed: everything about them except what came back."""

    x: np.ndarray  # (n, d), in units of the radius
    time: np.ndarray  # (n,), the number of the deployment
    covariates: np.ndarray  # (n, k), standardised; 0 where unknown
    context: np.ndarray  # (n, q), numbers; of categories, far apart

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        return self.x, self.time, self.covariates, self.context

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: Any) -> "Inputs":
        return Inputs(*(array[index] for array in self.arrays))

    def moved(self, x: np.ndarray, row: int = -1) -> "Inputs":
        """Other decisions, at the time, with the covariates and in the context of one row."""
        alike = np.broadcast_to
        return Inputs(
            x,
            alike(self.time[row], len(x)),
            alike(self.covariates[row], (len(x), self.covariates.shape[1])),
            alike(self.context[row], (len(x), self.context.shape[1])),
        )


@dataclass(frozen=True)
class Kernel:
    """The prior covariance of f, the offsets and βᵀz, in units of s²."""

    length: float
    additive: float = 0.0
    own: Own | None = None  # the coordinate of the additive part; None: all
    memory: float = np.inf
    apart: tuple[float, ...] = ()  # for each context

    def __call__(self, one: Inputs, other: Inputs) -> np.ndarray:
        """(n, m) covariances."""
        same = matern(abs(one.context[:, None, :] - other.context))
        wide = OFFSET**2 * (1.0 + same.sum(axis=2)) + SLOPE**2 * one.covariates @ other.covariates.T
        if self.own is not None:
            away = (self.own.tilt * (inputs.x - self.own.start) for inputs in (one, other))
            wide = wide + next(away) @ next(away).T
        k = matern(cdist(one.x, other.x) / self.length) if self.additive < 1 else 0.0
        if self.additive:
            each, which = self.length / one.x.shape[1] ** 0.5, self._which(one)
            single = sum(matern(abs(one.x[:, [i]] / each - other.x[:, i] / each)) for i in which)
            k = (1 - self.additive) * k + self.additive / len(which) * single
        for i, apart in enumerate(self.apart):
            k = k * (1 - apart + apart * same[:, :, i])
        if np.isfinite(self.memory):
            k = k * np.exp(-abs(one.time[:, None] - other.time) / self.memory)
        return k + wide

    def _which(self, inputs: Inputs) -> list[int]:
        return list(range(inputs.x.shape[1])) if self.own is None else [self.own.coordinate]

    def slope(self, point: Inputs, other: Inputs, along: np.ndarray) -> np.ndarray:
        """(d,), the gradient in x of Σ_j k(x, x_j) along_j at one point."""
        away, dim = point.x - other.x, other.x.shape[1]
        tilt = 0.0 if self.own is None else self.own.tilt**2 * (along @ (other.x - self.own.start))
        for i, apart in enumerate(self.apart):
            along = along * (1 - apart + apart * matern(abs(point.context[:, i] - other.context[:, i])))
        if np.isfinite(self.memory):
            along = along * np.exp(-abs(point.time - other.time) / self.memory)
        r = 5**0.5 * np.linalg.norm(away, axis=1) / self.length
        found = -(1 - self.additive) * (5 / 3) / self.length**2 * (along * (1 + r) * np.exp(-r)) @ away
        if self.additive:
            each = self.length / dim**0.5
            r = 5**0.5 * abs(away) / each
            single = (along[:, None] * (1 + r) * np.exp(-r) * away).sum(axis=0)
            which = self._which(other)
            found[which] -= self.additive * (5 / 3) / each**2 / len(which) * single[which]
        return found + tilt


def matern(distance: np.ndarray) -> np.ndarray:
    """Matérn 5/2 of scaled distances, with few temporary arrays: `ask` spends most of its time here."""
    r = 5**0.5 * distance
    found = r * r
    found /= 3
    found += r
    found += 1
    np.negative(r, out=r)
    found *= np.exp(r, out=r)
    return found


@dataclass(frozen=True)
class Fit:
    """The kernel and the noise that explain some results best."""

    kernel: Kernel
    noise: float  # λ
    evidence: float  # the logarithm of their probability, with the priors
    sure: float = np.inf  # a length that f has with a probability of 0.9 at least


def fit(inputs: Inputs, y: np.ndarray, weight: np.ndarray, own: Own | None = None) -> Fit:
    """The most probable hyper-parameters, one after the other; ℓ is chosen again where f may be a sum."""
    dim = inputs.x.shape[1]
    shared = (0.0,) * inputs.context.shape[1]

    def best(kernels: Iterable[Kernel]) -> Fit:
        return max(
            (_best_noise(kernel, inputs, y, weight) for kernel in kernels), key=lambda fit: fit.evidence
        )

    def better(found: Fit, kernels: Iterable[Kernel]) -> Fit:
        return max(found, best(kernels), key=lambda fit: fit.evidence)

    lengths = np.array(LENGTHS) * dim**0.5
    plain = Kernel(1.0, 0.0 if own is None else MAINLY, own, apart=shared)
    tried = [_best_noise(replace(plain, length=length), inputs, y, weight) for length in lengths]
    found = max(tried, key=lambda fit: fit.evidence)
    share = np.exp([one.evidence - found.evidence for one in tried])
    sure = float(np.exp(np.interp(DOUBT, (np.cumsum(share) - share / 2) / share.sum(), np.log(lengths))))
    if dim > 1 and own is None:
        lengths = [found.kernel.length * near for near in (0.5, 1, 2)]
        found = better(
            found,
            (replace(found.kernel, additive=a, length=length) for a in ADDITIVE for length in lengths),
        )
    for i in range(len(shared)):
        mixed = [tuple(b if j == i else old for j, old in enumerate(found.kernel.apart)) for b in APART]
        found = better(found, (replace(found.kernel, apart=each) for each in mixed))
    found = better(found, (replace(found.kernel, memory=memory) for memory in MEMORIES))
    return replace(found, sure=min(sure, found.kernel.length))


def _best_noise(kernel: Kernel, inputs: Inputs, y: np.ndarray, weight: np.ndarray) -> Fit:
    """One kernel with its best noise: the eigenvalues of its matrix serve all levels."""
    n, dim = inputs.x.shape
    root = np.sqrt(weight)
    values, vectors = eigh(root[:, None] * kernel(inputs, inputs) * root, check_finite=False)
    total = np.maximum(values, 0) + NOISES[:, None]
    square = (1 + ((vectors.T @ (root * y)) ** 2 / total).sum(axis=1)) / (
        n + 1
    )  # s², with a prior result of 1
    evidence = -0.5 * ((n + 1) * np.log(square) + np.log(total).sum(axis=1))
    evidence -= 0.5 * np.log(kernel.length / (2 * dim**0.5)) ** 2  # the priors: ℓ about twice √d,
    evidence -= 0.5 * (np.log(NOISES / 0.3) / 3) ** 2  # any noise, and a nat against each further term
    evidence -= np.isfinite(kernel.memory) + (kernel.additive > 0) + sum(b > 0 for b in kernel.apart)
    i = int(evidence.argmax())
    return Fit(kernel, float(NOISES[i]), float(evidence[i]))


@dataclass(frozen=True)
class Posterior:
    """What is known of an output from the results at `inputs`."""

    inputs: Inputs
    y: np.ndarray  # (n,)
    weight: np.ndarray  # (n,), precision: 1 for a usual result
    fit: Fit

    @cached_property
    def _factor(self) -> np.ndarray:
        k = self.fit.kernel(self.inputs, self.inputs)
        k[np.diag_indices_from(k)] += self.fit.noise / self.weight + 1e-9
        return cholesky(k, lower=True, overwrite_a=True, check_finite=False)

    def _solved(self, right: np.ndarray) -> np.ndarray:
        return solve_triangular(self._factor, right, lower=True, check_finite=False)

    @cached_property
    def _half(self) -> np.ndarray:
        return self._solved(self.y)

    @cached_property
    def scale(self) -> float:
        """s"""
        return float(np.sqrt((1 + self._half @ self._half) / (len(self.y) + 1)))

    @cached_property
    def evidence(self) -> float:
        """The logarithm of the probability of the results, with the priors of length and noise."""
        n, dim = self.inputs.x.shape
        found = -(n + 1) * np.log(self.scale) - np.log(np.diag(self._factor)).sum()
        found -= 0.5 * np.log(self.fit.kernel.length / (2 * dim**0.5)) ** 2 + (self.fit.kernel.additive > 0)
        return float(found - 0.5 * (np.log(self.fit.noise / 0.3) / 3) ** 2)

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise of a usual result."""
        return self.scale * self.fit.noise**0.5

    def mean(self, points: Inputs) -> np.ndarray:
        """The expected output at some points."""
        return self.fit.kernel(points, self.inputs) @ self._along

    @cached_property
    def _along(self) -> np.ndarray:
        return solve_triangular(self._factor, self._half, lower=True, trans=1, check_finite=False)

    def slope(self, point: Inputs) -> np.ndarray:
        """(d,), the gradient of the expected output at one point."""
        return self.fit.kernel.slope(point, self.inputs, self._along)

    def slopes(self) -> np.ndarray:
        """(k,), the expected β."""
        return SLOPE**2 * self.inputs.covariates.T @ self._along

    def joint(self, points: Inputs) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance at some points together."""
        cross = self._solved(self.fit.kernel(self.inputs, points))
        covariance = self.fit.kernel(points, points) - cross.T @ cross
        return cross.T @ self._half, self.scale**2 * covariance

    def total(self, points: Inputs, weights: np.ndarray) -> tuple[float, float]:
        """Mean and variance of a weighted sum of the expected outputs at some points."""
        cross = self._solved(self.fit.kernel(self.inputs, points) @ weights)
        variance = weights @ self.fit.kernel(points, points) @ weights - cross @ cross
        return float(cross @ self._half), self.scale**2 * max(float(variance), 0.0)

    def surprises(self) -> np.ndarray:
        """(n,), how probable it is that a result is at least as far from what all others predict of it.

        Leave-one-out predictions in closed form, each with the scale s that the others give.
        """
        n = len(self.y)
        inverse = self._solved(np.eye(n))
        square = (self._along**2) / (inverse**2).sum(axis=0)
        others = np.maximum(self.scale**2 * (n + 1) - square, 1e-9 * square + 1e-300) / n
        return 2 * special.stdtr(n, -np.sqrt(square / others))
