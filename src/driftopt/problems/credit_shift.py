"""Credit scoring where applicants shift some of their features against the score.

Perdomo, Zrnic, Mendler-Dünner and Hardt, "Performative prediction", ICML 2020. A decision x is a linear score
of ten standardised features and a constant; a high one predicts a default. Applicants see it and lower what
they can influence, the features S = {0, 5, 7} (use of credit lines, open credit lines, real-estate loans):

    ξ = (ã, y),   ã_S = a_S − εx_S,   ã = a elsewhere,   (a, y) a uniformly drawn row
    F(x; ξ) = log(1 + exp(xᵀã)) − y xᵀã + ½ρ‖x‖²
    f(x) = the mean over all rows with the score xᵀa − ε‖x_S‖²

The ridge acts on the constant too, so F is strongly convex and retraining has one minimum on any data.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from driftopt import checks
from driftopt.data.provenance import Provenance
from driftopt.data.scoring import ScoringTable, generate_scoring, load_scoring
from driftopt.problem import Optimum, Problem, decision, single
from driftopt.problems.strategic import Person, uniform_index
from driftopt.pytree import module, static

MOVABLE = (0, 5, 7)
RETRAININGS = 200  # Newton steps towards the stable point
REST = 1e-9  # a mean gradient of retraining shorter than this counts as 0


@module
class CreditShift(Problem):
    """ã_S = a_S − εx_S,  F(x; ξ) = log(1 + exp(xᵀã)) − y xᵀã + ½ρ‖x‖².

    Use `from_table`, `from_cache` or `stand_in`.
    """

    broadcasts: ClassVar[bool] = True

    features: Array  # (n, k + 1), the last column 1
    labels: Array  # (n,), 1 for a default and 0 otherwise
    movable: Array  # (k + 1,), 1 for a feature of S and 0 otherwise
    strength: ArrayLike  # ε
    ridge: ArrayLike  # ρ
    provenance: Provenance = static(default=Provenance("scoring"))  # the source of the table

    @classmethod
    def from_table(
        cls, table: ScoringTable, *, strength: float = 10.0, ridge: float | None = None
    ) -> "CreditShift":
        """An instance of any table.

        Args:
            table: standardised features and labels 0 and 1.
            strength: ε, how far applicants go.
            ridge: ρ; None: 1000/n, the paper's.
        """
        features = np.column_stack([table.features, np.ones(len(table.labels))])
        if not np.isfinite(features).all() or features.shape[1] <= max(MOVABLE) + 1:
            raise ValueError(f"features must be finite, at least 8 of them; got shape {table.features.shape}")
        if not np.isin(table.labels, (0.0, 1.0)).all():
            raise ValueError(f"labels must be 0 or 1, got {np.unique(table.labels)[:5]}")
        movable = np.zeros(features.shape[1])
        movable[list(MOVABLE)] = 1
        if checks.number("strength", strength) < 0 or not np.isfinite(strength):
            raise ValueError(f"strength must be finite and >= 0, got {strength!r}")
        return cls(
            single(features),
            single(table.labels),
            single(movable),
            single(strength),
            single(checks.positive("ridge", 1000 / len(features) if ridge is None else ridge)),
            table.provenance,
        )

    @classmethod
    def from_cache(cls, *, allow_fetch: bool = False, **options: Any) -> "CreditShift":
        """The real data, from the cache (`driftopt data fetch scoring`), or fetched here if allowed."""
        return cls.from_table(load_scoring(allow_fetch=allow_fetch), **options)

    @classmethod
    def stand_in(cls, **options: Any) -> "CreditShift":
        """Generated data of the same size, for work without a network."""
        return cls.from_table(generate_scoring(), **options)

    @property
    def dim(self) -> int:
        """The features and the constant."""
        return self.features.shape[1]

    @property
    def label(self) -> str:
        """The source of the data."""
        return str(self.provenance)

    @property
    def x0(self) -> Array:
        """One tenth everywhere: at 0 every value would be log 2."""
        return jnp.full(self.dim, 0.1, jnp.float32)

    def noise(self, key: Array) -> Person:
        """A uniformly drawn row."""
        index = uniform_index(key, self.labels.shape[0])
        return Person(self.features[index], self.labels[index])

    def respond(self, noise: Person, x: Array) -> Person:
        """The applicant after the shift."""
        x = decision(x)
        features = noise.features.astype(x.dtype) - self.strength * self.movable * x
        return Person(features, noise.label.astype(x.dtype))

    def value(self, x: Array, xi: Person) -> Array:
        """The logistic loss of one applicant, and the ridge."""
        x = decision(x)
        return self._loss(jnp.sum(x * xi.features, axis=0), xi.label) + self._penalty(x)

    def objective(self, x: Array) -> Array:
        """The exact mean over all rows."""
        x = decision(x)
        # HIGHEST: GPUs would otherwise multiply with 10-bit mantissas.
        plain = jnp.matmul(self.features.astype(x.dtype), x, precision=jax.lax.Precision.HIGHEST)
        scores = plain - self.strength * jnp.sum(self.movable * x * x, axis=0)
        return jnp.mean(self._loss(scores, self.labels.astype(x.dtype))) + self._penalty(x)

    def optimum(self) -> Optimum:
        """The best of L-BFGS runs on the exact objective from 0 and from the stable point, in float64."""
        from scipy.optimize import minimize as scipy_minimize  # as long to load as JAX, and seldom needed

        stable = self.stable_point()
        starts = [np.zeros(self.dim), *([] if stable is None else [stable.x])]
        with jax.enable_x64(True):

            def both(x: np.ndarray) -> tuple[float, np.ndarray]:
                value, slope = _value_and_slope(jnp.asarray(x, jnp.float64), self)
                return float(value), np.asarray(slope)

            runs = [
                scipy_minimize(both, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-15})
                for start in starts
            ]
        best = min(runs, key=lambda run: run.fun)
        return Optimum(np.asarray(best.x), float(best.fun), exact=False)

    def stable_point(self) -> Optimum | None:
        """A decision at which retraining's mean gradient is 0, by Newton's method in float64; or None.

        F is strongly convex in x, so such a decision is the best one on its own data. The search also finds
        one if retraining itself would go round in a circle; for a large ε there may be several.
        """
        with jax.enable_x64(True):
            x, slope, change = jnp.zeros(self.dim, jnp.float64), *_retraining(jnp.zeros(self.dim), self)
            for _ in range(RETRAININGS):
                size = float(jnp.linalg.norm(slope))
                if size < REST:
                    return Optimum(np.asarray(x), float(self.objective(x)), exact=False)
                move, length = jnp.linalg.solve(change, -slope), 1.0
                new, turned = _retraining(x + move, self)
                while not float(jnp.linalg.norm(new)) < size and length > 1e-8:
                    length /= 2
                    new, turned = _retraining(x + length * move, self)
                x, slope, change = x + length * move, new, turned
        return None

    def _loss(self, score: Array, label: Array) -> Array:
        return jnp.logaddexp(score, jnp.zeros_like(score)) - label * score

    def _penalty(self, x: Array) -> Array:
        return jnp.sum(x * x, axis=0) * self.ridge / 2


@jax.jit
def _value_and_slope(x: Array, problem: CreditShift) -> tuple[Array, Array]:
    return jax.value_and_grad(problem.objective)(x)


@jax.jit
def _retraining(x: Array, problem: CreditShift) -> tuple[Array, Array]:
    """E ∇₁F(x; ξ) with ξ ~ Ξ(x) over all rows, and its derivative in x, through F and through Ξ."""

    def slope(x: Array) -> Array:
        features = problem.features.astype(x.dtype) - problem.strength * problem.movable * x
        surplus = jax.nn.sigmoid(jnp.sum(features * x, axis=1)) - problem.labels.astype(x.dtype)
        return jnp.mean(surplus[:, None] * features, axis=0) + problem.ridge * x

    return slope(x), jax.jacfwd(slope)(x)
