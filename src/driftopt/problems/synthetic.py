"""Problems whose exact objective, smoothed gradient and minimiser are known in closed form.

`location_shift`, `kink` and `two_wells` make instances and check their arguments; the classes themselves
are frozen pytrees that trust what they hold. `smoothed_gradient(x, radius)` is ∇f_δ(x) with
f_δ(x) = E f(x + δu), u uniform in the unit ball, or u ~ N(0, I) for law="gaussian".
"""

from abc import abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from driftopt import checks
from driftopt.methods.models import LinearGaussian
from driftopt.oracle import Model
from driftopt.problem import Optimum, Problem, single
from driftopt.pytree import module
from driftopt.rng.seeds import as_seed
from driftopt.rng.threefry import normal
from driftopt.shapes import Decision, Number

__all__ = ["Kink", "LocationShift", "TwoWells", "kink", "location_shift", "two_wells"]

LAWS = ("ball", "gaussian")


@module
class LocationShift(Problem):
    """A location family: the data moves linearly with the decision.

        ξ ~ N(b + A x, s² I),   F(x; ξ) = ½‖x − ξ‖² + ½ρ‖x‖²
        f(x) = ½‖x − b − A x‖² + ½ρ‖x‖² + ½ d s²

    Two points compete for the name of solution. The **performative optimum** minimises f: it reckons with
    the data's answer Ax. The **stable point** is where retraining on the data of one's own decision stops:
    x = argmin_z E[F(z; ξ)], ξ ~ Ξ(x). There the derivative through Ξ is missing from the first-order
    condition, so for A ≠ 0 and ρ > 0 the two differ, and f is lower at the optimum.
    """

    base: Array  # b, (d,)
    shift: Array  # A, (d, d)
    noise_level: Array  # s
    ridge: Array  # ρ

    @property
    def dim(self) -> int:
        return self.base.shape[0]

    def mean(self, x: Decision) -> Decision:
        """b + A x, the mean of the data at x."""
        return self.base + jnp.sum(self.shift * x[None, :], axis=1)

    def noise(self, key: Array) -> Array:
        return normal(key, (self.dim,))

    def respond(self, noise: Array, x: Decision) -> Array:
        return self.mean(x) + self.noise_level * noise.astype(x.dtype)

    def value(self, x: Decision, xi: Array) -> Number:
        gap = x - xi
        return 0.5 * jnp.sum(gap * gap) + 0.5 * self.ridge * jnp.sum(x * x)

    def objective(self, x: Decision) -> Number:
        return self.value(x, self.mean(x)) + 0.5 * self.dim * self.noise_level**2

    def optimum(self) -> Optimum:
        """The performative optimum: ((I − A)ᵀ(I − A) + ρI) x = (I − A)ᵀ b."""
        base, shift = np.asarray(self.base, float), np.asarray(self.shift, float)
        keep = np.eye(self.dim) - shift
        square = keep.T @ keep + float(self.ridge) * np.eye(self.dim)
        return self._known(np.linalg.solve(square, keep.T @ base))

    def stable_point(self) -> Optimum:
        """The performatively stable point: ((1 + ρ)I − A) x = b."""
        base, shift = np.asarray(self.base, float), np.asarray(self.shift, float)
        return self._known(np.linalg.solve((1 + float(self.ridge)) * np.eye(self.dim) - shift, base))

    def model(self) -> Model:
        """ξ ~ N(b + A x, Σ), with b, A and Σ unknown."""
        return LinearGaussian()

    def _known(self, x: np.ndarray) -> Optimum:
        """The exact objective at x in float64."""
        gap = x - np.asarray(self.base, float) - np.asarray(self.shift, float) @ x
        spread = self.dim * float(self.noise_level) ** 2
        return Optimum(x, float(gap @ gap + float(self.ridge) * x @ x + spread) / 2)

    def smoothed_gradient(self, x: Decision, radius: ArrayLike, law: str = "ball") -> Decision:
        """∇f_δ = ∇f for every radius and either law, because f is quadratic and u has mean 0."""
        checks.choice("law", law, LAWS)
        rest = x - self.mean(x)
        return rest - jnp.sum(self.shift * rest[:, None], axis=0) + self.ridge * x


class _Separable(Problem):
    """f(x) = Σ_i φ(x_i − a_i) with φ piecewise linear, seen through noise whose level depends on x.

        F(x; ξ) = f(x) + ξ,   ξ ~ N(0, (s(1 + r))²),   r = ‖x − a‖²/(1 + ‖x − a‖²) < 1

    φ(z) = Σ_k c_k |z − t_k| + const, so that ∂_i f_δ(x) = Σ_k c_k E sign(x_i − a_i − t_k + δu_i).
    """

    center: Array  # a, (d,)
    noise_level: Array  # s

    @property
    def dim(self) -> int:
        return self.center.shape[0]

    @abstractmethod
    def kinks(self) -> tuple[tuple[int, Any], ...]:
        """(c_k, t_k) of φ."""

    def noise(self, key: Array) -> Array:
        return normal(key, ())

    def respond(self, noise: Array, x: Decision) -> Array:
        square = jnp.sum((x - self.center) ** 2)
        return self.noise_level * (1 + square / (1 + square)) * noise.astype(x.dtype)

    def value(self, x: Decision, xi: Array) -> Number:
        return self.objective(x) + xi

    @property
    def sigma(self) -> Array:
        """σ ≤ 2s: the theorems' bound on the standard deviation of one value."""
        return 2 * self.noise_level

    @property
    def lipschitz(self) -> float:
        """L = √d: φ has slopes ±1."""
        return float(np.sqrt(self.dim))

    def optimum(self) -> Optimum:
        """The minimiser a, where f = 0."""
        return Optimum(np.asarray(self.center, float), 0.0)

    def smoothed_gradient(self, x: Decision, radius: ArrayLike, law: str = "ball") -> Decision:
        """Σ_k c_k E sign(z_i − t_k + δu_i), z = x − a: exact for every radius."""
        z = x - self.center
        return sum((c * smoothed_sign(z - t, radius, law) for c, t in self.kinks()), jnp.zeros_like(x))


def smoothed_sign(z: Array, radius: ArrayLike, law: str = "ball") -> Array:
    """E sign(z_i + δu_i), elementwise over z of shape (d,).

    A coordinate u_i of a point uniform in the d-ball has density ∝ (1 − t²)^((d−1)/2) on [−1, 1], whence
    P(|u_i| ≤ t) = I_{t²}(½, (d+1)/2), the regularised incomplete beta function, and the mean of the sign
    is sign(z)·P(|u_i| ≤ |z|/δ). For u ~ N(0, I) it is erf(z/(δ√2)).
    """
    if checks.choice("law", law, LAWS) == "gaussian":
        return jax.scipy.special.erf(z / (radius * np.sqrt(2).item()))
    t = jnp.minimum(jnp.abs(z) / radius, 1)
    half = jnp.full_like(z, 0.5)
    return jnp.sign(z) * jax.scipy.special.betainc(half, jnp.full_like(z, (z.shape[0] + 1) / 2), t * t)


@module
class Kink(_Separable):
    """f(x) = Σ_i |x_i − a_i|: convex, with a kink in every coordinate at the minimiser."""

    center: Array  # a, (d,)
    noise_level: Array  # s, the noise of a value at a; far away it is twice that

    def kinks(self) -> tuple[tuple[int, Any], ...]:
        return ((1, 0.0),)

    def objective(self, x: Decision) -> Number:
        return jnp.sum(jnp.abs(x - self.center))


@module
class TwoWells(_Separable):
    """f(x) = Σ_i min(|z_i|, |z_i − w| + h), z = x − a: 2^d local minima, one global.

    Every coordinate has its good well at 0 (value 0) and a bad one at `width` w (value `height` h, with
    0 < h < w); they meet in a kink that points up at (w + h)/2. In kinks,
    φ(z) = |z| − |z − (w + h)/2| + |z − w| + (h − w)/2.
    """

    center: Array  # a, (d,)
    noise_level: Array  # s, the noise of a value at a; far away it is twice that
    width: Array
    height: Array

    @property
    def x0(self) -> Array:
        """Beyond the bad well in every coordinate."""
        return self.center + 1.5 * self.width

    def kinks(self) -> tuple[tuple[int, Any], ...]:
        return ((1, 0.0), (-1, (self.width + self.height) / 2), (1, self.width))

    def objective(self, x: Decision) -> Number:
        z = x - self.center
        return jnp.sum(jnp.minimum(jnp.abs(z), jnp.abs(z - self.width) + self.height))


def location_shift(
    dim: int = 5, *, strength: float = 0.5, noise: float = 0.5, ridge: float = 1.0, rng: Any = 0
) -> LocationShift:
    """A random instance: b ~ N(0, I), and A with independent entries, scaled to spectral norm `strength`.

    Args:
        dim: the number of coordinates.
        strength: the spectral norm of A: how far the data's mean moves when the decision moves by 1.
        noise: the data's standard deviation.
        ridge: the weight of ‖x‖²/2 in F.
        rng: a seed or a Generator, for A and b.
    """
    dim = checks.one_count("dim", dim)
    checks.fits(f"dim={dim:,} needs a matrix of dim × dim", dim * dim, "choose a smaller dim, or kink")
    draw = np.random.default_rng(as_seed(rng))
    shift = draw.standard_normal((dim, dim))
    checks.single_positive("strength", strength)
    shift *= float(strength) / np.linalg.norm(shift, 2)
    return LocationShift(
        single(draw.standard_normal(dim)),
        single(shift),
        single(checks.single_positive("noise", noise)),
        single(checks.single_positive("ridge", ridge)),
    )


def kink(dim: int = 5, *, noise: float = 0.5, rng: Any = 0) -> Kink:
    """A random instance with its minimiser a ~ N(0, I); runs start at 0.

    Args:
        dim: the number of coordinates.
        noise: the standard deviation of a value at the minimiser; far away it is twice that.
        rng: a seed or a Generator, for the minimiser.
    """
    return Kink(_center(dim, rng), single(checks.single_positive("noise", noise)))


def two_wells(
    dim: int = 5, *, noise: float = 0.5, width: float = 1.0, height: float = 0.5, rng: Any = 0
) -> TwoWells:
    """A random instance with its minimiser a ~ N(0, I); runs start beyond the bad well.

    Args:
        dim: the number of coordinates.
        noise: the standard deviation of a value at the minimiser; far away it is twice that.
        width: the distance of the bad well of a coordinate from its good one.
        height: by how much the bad well is higher than the good one.
        rng: a seed or a Generator, for the minimiser.
    """
    if not checks.single_positive("height", height) < checks.single_positive("width", width):
        raise ValueError(
            f"height must be below width, else the second well is none; got {height} and {width}"
        )
    return TwoWells(
        _center(dim, rng), single(checks.single_positive("noise", noise)), single(width), single(height)
    )


def _center(dim: int, rng: Any) -> Array:
    dim = checks.one_count("dim", dim)
    checks.fits(f"dim={dim:,} needs several vectors of that length", 16 * dim, "choose a smaller dim")
    return single(np.random.default_rng(as_seed(rng)).standard_normal(dim))
