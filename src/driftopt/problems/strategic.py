"""Strategic classification: people change their features to be approved, and the classifier sees them after.

A decision is a linear classifier x = (w, b). A person with features a and label y = ±1 has the score
s = wᵀa + b. One who is turned down (s < 0) moves to the boundary if that is worth it:

    ã = a − (s/‖w‖²) w   where   s < 0,  ‖w‖ > 0  and  s²/‖w‖² ≤ τ;   otherwise ã = a

so the score after the response is exactly 0 for a person who moved, else s. The loss is
max(0, 1 − y·score) (hinge, the paper's) or log(1 + exp(−y·score)) (logistic).
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from driftopt import checks
from driftopt.data.credit import CreditTable, generate_credit, load_credit, split_credit
from driftopt.data.provenance import Provenance
from driftopt.problem import Optimum, Problem, decision, single
from driftopt.problems.retraining import retrained
from driftopt.pytree import module, static
from driftopt.runtime.forks import refuse_after_fork

LOSSES = ("hinge", "logistic")
AT_REST = 1e-4  # a retraining gap up to this counts as 0


class Person(NamedTuple):
    """One row of the data, before or after it responds."""

    features: Array  # (k,)
    label: Array  # ±1


class Metrics(NamedTuple):
    """The quality of a classifier; the test figures are NaN without a test set."""

    train_loss: Array
    test_loss: Array
    test_accuracy: Array
    test_auc: Array
    moved: Array  # the number of training rows that moved


@module
class StrategicClassification(Problem):
    """f(x) = the mean loss over all training rows after the response to x = (w, b).

    Instances of one shape stack leaf by leaf. Use `from_credit`, `from_arrays` or `stand_in`.
    """

    broadcasts: ClassVar[bool] = True

    features: Array  # (n, k)
    labels: Array  # (n,), ±1
    test_features: Array  # (n_test, k)
    test_labels: Array  # (n_test,)
    tau: ArrayLike = 2.0  # τ, the worth of approval in squared distance
    loss: str = static(default="hinge")  # "hinge" or "logistic"
    provenance: Provenance = static(default=Provenance("arrays"))  # the source of the rows

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        X_test: Any = None,
        y_test: Any = None,
        tau: float = 2.0,
        loss: str = "hinge",
        provenance: Provenance | None = None,
    ) -> "StrategicClassification":
        """Any data: X (n, k) is used as given (standardise it first), y is ±1.

        >>> problem = StrategicClassification.from_arrays([[1.0], [-2.0]], [1, -1])
        >>> float(problem.objective(jnp.array([1.0, 0.0])))  # the second is too far away to move
        0.0
        """
        refuse_after_fork()
        features, labels = _table("X", X, "y", y)
        if (X_test is None) != (y_test is None):
            raise ValueError("X_test and y_test come together: give both or neither")
        if X_test is None:
            test_features, test_labels = features[:0], labels[:0]
        else:
            test_features, test_labels = _table("X_test", X_test, "y_test", y_test)
        if test_features.shape[1] != features.shape[1]:
            raise ValueError(
                f"X has {features.shape[1]} columns and X_test {test_features.shape[1]}: they must agree"
            )
        return cls(
            *(single(a) for a in (features, labels, test_features, test_labels)),
            tau=single(checks.single_positive("tau", tau)),
            loss=checks.choice("loss", loss, LOSSES),
            provenance=provenance or Provenance("arrays"),
        )

    @classmethod
    def from_credit(
        cls, split_seed: int = 101, tau: float = 2.0, loss: str = "hinge", table: CreditTable | None = None
    ) -> "StrategicClassification":
        """The paper's instance: 12,272 training and 1,000 test rows of the credit data, 11 features.

        The data comes from the cache (`driftopt data fetch credit`), or from a `table` already loaded.
        """
        table = load_credit() if table is None else table
        split = split_credit(table, split_seed)
        where = Provenance(table.provenance.source, f"split {split_seed}")
        return cls.from_arrays(*split, tau=tau, loss=loss, provenance=where)

    @classmethod
    def stand_in(
        cls, split_seed: int = 101, tau: float = 2.0, loss: str = "hinge"
    ) -> "StrategicClassification":
        """The instance of `from_credit` on generated data with similar moments; its provenance says so."""
        return cls.from_credit(split_seed, tau, loss, generate_credit())

    @property
    def dim(self) -> int:
        """One weight a feature, and the intercept."""
        return self.features.shape[-1] + 1

    @property
    def label(self) -> str:
        """The source of the people."""
        return str(self.provenance)

    @property
    def x0(self) -> Array:
        """All ones, where the paper's runs start."""
        return jnp.ones(self.dim, jnp.float32)

    def noise(self, key: Array) -> Person:
        """A uniformly drawn training row."""
        index = uniform_index(key, self.labels.shape[0])
        return Person(self.features[index], self.labels[index])

    def covariates(self, noise: Person) -> Array:
        """The person's label and features before the response, which no classifier moves, and their products.

        The hinge's slopes are those of y·a and y; a covariate explains by a multiple of itself alone.
        """
        features, label = noise.features, noise.label
        return jnp.concatenate([label[None], features, label * features])

    @property
    def covariate_names(self) -> tuple[str, ...]:
        features = [f"feature {i + 1}" for i in range(self.features.shape[-1])]
        return "label", *features, *(f"label × {name}" for name in features)

    def respond(self, noise: Person, x: Array) -> Person:
        """The person after the response: the features it moved to, and its label."""
        x = decision(x)
        weights, features = x[:-1], noise.features.astype(x.dtype)
        score, norm = self._score(x, features), jnp.sum(weights * weights, axis=0)
        shift = jnp.where(self._moves(score, norm), score, 0) / jnp.where(norm > 0, norm, 1)
        return Person(features - shift * weights, noise.label.astype(x.dtype))

    def value(self, x: Array, xi: Person) -> Array:
        """The loss of one person who does not move, under any classifier; NaN stays NaN."""
        x = decision(x)
        return self._loss(self._score(x, xi.features.astype(x.dtype)), xi.label)

    def observe(self, noise: Person, x: Array) -> Array:
        """The loss after the response to x, without the features: hot loops need the score alone."""
        return self._loss(self.score_after(noise, x), noise.label.astype(decision(x).dtype))

    def score_after(self, person: Person, x: Array) -> Array:
        """A person's score after the response to x: exactly 0 for one who moved."""
        x = decision(x)
        score = self._score(x, person.features.astype(x.dtype))
        return jnp.where(self._moves(score, jnp.sum(x[:-1] * x[:-1], axis=0)), 0, score)

    def objective(self, x: Array) -> Array:
        """The exact mean loss over the training rows."""
        x = decision(x)
        return jnp.mean(self._loss(self._after(x, self.features), self.labels.astype(x.dtype)))

    def best_response(self, x: Array, features: Array) -> Array:
        """ã for each row of features (…, k): the features after the person has seen the classifier."""
        x = decision(x)
        features, weights = jnp.asarray(features, x.dtype), x[:-1]
        score = self._scores(x, features)
        norm = jnp.sum(weights * weights)
        moves = self._moves(score, norm)
        shift = jnp.where(moves, score, 0) / jnp.where(norm > 0, norm, 1)
        return features - shift[..., None] * weights

    def stable_point(self) -> Optimum | None:
        """The fixed point of retraining, by a search in float64; None if its retraining gap stays above 1e-4.

        The gap is the gain of another classifier on the data of this one, in units of the loss; see
        `retraining`. A small population may have no stable point: people jump, and retraining with them.
        """
        with jax.enable_x64(True):

            def respond(x: np.ndarray) -> np.ndarray:
                return np.asarray(self.best_response(jnp.asarray(x, jnp.float64), self.features))

            found = retrained(respond, np.asarray(self.labels, float), self.loss, self.x0)
            value = float(self.objective(jnp.asarray(found.x, jnp.float64)))
        return Optimum(found.x, value, exact=False) if found.gap <= AT_REST else None

    def metrics(self, x: Array) -> Metrics:
        """Exact losses, and accuracy and AUC on the test rows after their response; vmaps over x.

        A score of 0 or more predicts +1. The AUC ranks by the score after the response, at which all people
        who moved tie at 0: a tie counts one half.
        """
        x = decision(x)
        scores = self._scores(x, self.features)
        moved = jnp.sum(self._moves(scores, jnp.sum(x[:-1] ** 2)))
        train = self.objective(x)
        if self.test_labels.shape[0] == 0:
            unknown = jnp.full_like(train, jnp.nan)
            return Metrics(train, unknown, unknown, unknown, moved)
        labels = self.test_labels.astype(x.dtype)
        after = self._after(x, self.test_features)
        right = jnp.where(after >= 0, 1, -1) == labels
        accuracy = jnp.where(jnp.isnan(after).any(), jnp.nan, jnp.mean(right, dtype=x.dtype))
        return Metrics(train, jnp.mean(self._loss(after, labels)), accuracy, auc(after, labels), moved)

    def _score(self, x: Array, features: Array) -> Array:
        """wᵀa + b of one person, features on the first axis; an axis for runs may follow."""
        return jnp.sum(x[:-1] * features, axis=0) + x[-1]

    def _scores(self, x: Array, features: Array) -> Array:
        # HIGHEST: GPUs would otherwise multiply with 10-bit mantissas.
        product = jnp.matmul(features.astype(x.dtype), x[:-1], precision=jax.lax.Precision.HIGHEST)
        return product + x[-1]

    def _moves(self, score: Array, norm: Array) -> Array:
        """s < 0 and s² ≤ τ‖w‖², false for w = 0; where ‖w‖² overflows nobody moves, and the loss is huge."""
        bound = jnp.asarray(self.tau, score.dtype) * norm
        return (score < 0) & (score * score <= bound) & (bound > 0) & (bound < jnp.inf)

    def _after(self, x: Array, features: Array) -> Array:
        scores = self._scores(x, features)
        return jnp.where(self._moves(scores, jnp.sum(x[:-1] ** 2)), 0, scores)

    def _loss(self, score: Array, label: Array) -> Array:
        margin = label * score
        return (
            jnp.maximum(1 - margin, 0)
            if self.loss == "hinge"
            else jnp.logaddexp(-margin, jnp.zeros_like(margin))
        )


def uniform_index(key: Array, size: int) -> Array:
    """A uniform draw from 0 … size − 1: the high word of (32 random bits) × size.

    Each index has ⌊2³²/size⌋ or ⌈2³²/size⌉ of the 2³² equally likely words, a relative bias below size/2³².
    (`jax.random.randint` draws and divides twice, for several times the price.)
    """
    return multiply_high(jax.random.bits(key, dtype=jnp.uint32), size)


def multiply_high(bits: Array, size: int) -> Array:
    """⌊bits · size / 2³²⌋ in 16-bit halves, because 64-bit integers are off by default."""
    high, low = bits >> 16, bits & 0xFFFF
    size_high, size_low = jnp.uint32(size >> 16), jnp.uint32(size & 0xFFFF)
    cross, other = high * size_low, low * size_high
    carry = (low * size_low >> 16) + (cross & 0xFFFF) + (other & 0xFFFF)
    return high * size_high + (cross >> 16) + (other >> 16) + (carry >> 16)


def auc(scores: Array, labels: Array) -> Array:
    """P(score of a +1 > score of a −1) + ½ P(equal), over all pairs.

    NaN if a score is NaN, or if one class is missing.

    >>> float(auc(jnp.array([0.0, 0.0, 1.0, -1.0]), jnp.array([1.0, -1.0, 1.0, -1.0])))
    0.875
    """
    order = jnp.argsort(scores)
    ranked, negative = scores[order], (labels[order] < 0).astype(scores.dtype)
    below = jnp.concatenate([jnp.zeros_like(negative[:1]), jnp.cumsum(negative)])
    first = jnp.searchsorted(ranked, ranked, side="left")
    last = jnp.searchsorted(ranked, ranked, side="right")
    negatives, positives = below[-1], jnp.sum(1 - negative)
    wins = jnp.sum((1 - negative) * (below[first] + below[last]) / (2 * negatives))
    return jnp.where(jnp.isnan(scores).any() | (positives == 0), jnp.nan, wins / positives)


def _table(x_name: str, x: Any, y_name: str, y: Any) -> tuple[np.ndarray, np.ndarray]:
    features = checks.numbers_of(x_name, x, "iufb")
    if features.ndim != 2 or 0 in features.shape:
        raise ValueError(f"{x_name} must be a table of numbers (rows, features), got shape {features.shape}")
    if not np.isfinite(features).all():
        raise ValueError(f"{x_name} must be finite: fill or drop the missing values first")
    labels = checks.vector(y_name, y)
    if len(labels) != len(features):
        raise ValueError(
            f"{x_name} has {len(features)} rows and {y_name} {len(labels)} labels: they must agree"
        )
    if not np.isin(labels, (-1.0, 1.0)).all():
        raise ValueError(f"{y_name} must be +1 or -1, got {np.unique(labels)[:5]}; map your labels first")
    return features.astype(float), labels
