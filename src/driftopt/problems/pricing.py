"""Multi-product pricing: buyers choose among products by a multinomial logit, the seller sets all prices.

A decision x holds the prices of n products. Each of m buyers takes product i with probability

    p_i(x) = exp{γ_i(θ_i − x_i)} / (a_0 + Σ_j exp{γ_j(θ_j − x_j)})

or none. The demand ξ is multinomial, the loss is the negative profit F(x; ξ) = −Σ x_i ξ_i + Σ c_i(ξ_i), and
making z pieces of product i costs, with the marginal costs 2w, w and 3w below l, up to u and above,

    c_i(z) = w_i (2z − (z − l)₊ + 2(z − u)₊),     l = 0.5 m/n,  u = 1.5 m/n.
"""

from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from scipy.special import gammaln

from driftopt import checks
from driftopt.data.prices import load_week, read_prices, synthetic_prices
from driftopt.data.provenance import Provenance
from driftopt.problem import Optimum, Problem, decision, single
from driftopt.problems import multinomial
from driftopt.pytree import module, static
from driftopt.rng.seeds import as_key, as_seed
from driftopt.runtime.forks import refuse_after_fork


class Demand(NamedTuple):
    """The expected outcome of prices."""

    sales: Array  # (n,) pieces of each product
    nothing: Array  # buyers who take none
    revenue: Array
    cost: Array
    profit: Array


@jax.jit
def _value_and_slope(x: Array, problem: "Pricing") -> tuple[Array, Array]:
    return jax.value_and_grad(problem.objective)(x)


@module
class Pricing(Problem):
    """f(x) = −m Σ x_i p_i(x) + Σ_i E[c_i(Binomial(m, p_i(x)))], finite for every finite x.

    Instances of one size stack leaf by leaf. Make them with `from_prices`, `from_week` or `synthetic`.
    """

    broadcasts: ClassVar[bool] = True

    theta: Array  # (n,) reference prices θ
    gamma: Array  # (n,) how sharply buyers react
    unit_cost: Array  # (n,) w
    outside: ArrayLike  # a_0, the weight of buying nothing
    buyers: int = static(default=120)  # m
    provenance: Provenance = static(default=Provenance("prices"))  # the source of the prices

    @classmethod
    def from_prices(
        cls,
        prices: Any,
        cost_seed: int = 0,
        buyers: int = 120,
        products: int | None = None,
        provenance: Provenance | None = None,
    ) -> "Pricing":
        """The paper's instance around a list of prices, or a file of them: the first `products`, or all.

        θ = prices, min-max scaled into [0.1, 0.9]; γ_i = 2π/(√6 θ_i); a_0 = 0.1n; w_i = ρ_i θ_i with
        ρ_i ~ Unif[0.25, 0.5] from `default_rng(cost_seed)`.

        >>> Pricing.from_prices([100, 300, 200], buyers=12).dim
        3
        """
        if isinstance(prices, str | Path):
            prices = checks.path("prices", prices)
            provenance = provenance or Provenance("prices", f"{Path(prices).name}, costs {cost_seed}")
            prices = read_prices(prices)
        refuse_after_fork()
        array = checks.vector("prices", prices)
        if products is not None:
            products = checks.one_count("products", products)
            if array.size < products:
                raise ValueError(f"{products} products were asked for, but there are {array.size} prices")
            array = array[:products]
        if array.size < 2 or array.min() == array.max():
            raise ValueError(
                "prices must hold at least two different numbers, and products be 2 or more: "
                "they are min-max scaled"
            )
        theta = 0.1 + 0.8 * (array - array.min()) / (array.max() - array.min())
        rho = np.random.default_rng(checks.seed("cost_seed", cost_seed)).uniform(0.25, 0.5, theta.size)
        return cls(
            theta=single(theta),
            gamma=single(2 * np.pi / (np.sqrt(6) * theta)),
            unit_cost=single(rho * theta),
            outside=single(0.1 * theta.size),
            buyers=checks.one_count("buyers", buyers),
            provenance=provenance or Provenance("prices", f"costs {cost_seed}"),
        )

    @classmethod
    def from_week(
        cls, week: str = "2022-08", cost_seed: int | None = None, buyers: int = 120, products: int = 30
    ) -> "Pricing":
        """A published week of prices, from the cache; by default the week seeds the costs."""
        prices = load_week(week)
        cost_seed = int(week.replace("-", "")) if cost_seed is None else cost_seed
        where = Provenance("prices", f"week {week}, costs {cost_seed}")
        return cls.from_prices(prices, cost_seed, buyers, products, where)

    @classmethod
    def synthetic(cls, seed: int = 0, buyers: int = 120, products: int = 30) -> "Pricing":
        """Generated prices with the moments of the published weeks; prices and costs both follow the seed."""
        if checks.one_count("products", products) < 2:
            raise ValueError(f"products must be at least 2: prices are min-max scaled; got {products}")
        prices = synthetic_prices(seed, products)
        return cls.from_prices(
            prices, seed, buyers, provenance=Provenance("prices (stand-in)", f"seed {seed}")
        )

    @property
    def dim(self) -> int:
        """n, the number of products."""
        return self.theta.shape[0]

    @property
    def label(self) -> str:
        """The source of the prices."""
        return str(self.provenance)

    @property
    def x0(self) -> Array:
        """All prices one half, where the paper's runs start."""
        return jnp.full(self.dim, 0.5, jnp.float32)

    @property
    def thresholds(self) -> tuple[float, float]:
        """l and u, where the marginal cost changes."""
        return 0.5 * self.buyers / self.dim, 1.5 * self.buyers / self.dim

    def noise(self, key: Array) -> multinomial.Numbers:
        """One uniform number a buyer."""
        return multinomial.numbers(key, self.buyers)

    def respond(self, noise: multinomial.Numbers, x: Array) -> Array:
        """The demand: an exact multinomial draw."""
        return multinomial.counts(noise, *self._weights(decision(x)))

    def value(self, x: Array, xi: Array) -> Array:
        """The negative profit."""
        x, (low, high) = decision(x), self.thresholds
        steps = 2 * xi - jnp.maximum(xi - low, 0) + 2 * jnp.maximum(xi - high, 0)
        return self._loss(x, xi, self.unit_cost.astype(x.dtype) * steps)

    def objective(self, x: Array) -> Array:
        """The exact f(x): sales are binomial one by one, and expectation is linear."""
        x = decision(x)
        sales, _, cost = self._expected(x)
        return self._loss(x, sales, cost)

    def demand(self, x: Array) -> Demand:
        """Expected sales, revenue, cost and profit at the prices x."""
        x = decision(x)
        sales, nothing, cost = self._expected(x)
        revenue = -self._loss(x, sales, jnp.zeros_like(cost))
        return Demand(sales, nothing, revenue, jnp.sum(cost), -self._loss(x, sales, cost))

    def objective_monte_carlo(self, x: Array, n: int, rng: Any = 0) -> Array:
        """The mean of n fresh samples, as the paper evaluates a point; `rng` may also be a JAX key."""
        count = checks.one_count("n", n)
        if not isinstance(x, jax.Array):  # pyright: ignore[reportUnnecessaryIsInstance]
            x = jnp.asarray(checks.single_precision("x", x, self.dim))
        if x.shape != (self.dim,):
            raise ValueError(f"x must have length {self.dim}, got an array of shape {x.shape}")
        key = rng if isinstance(rng, jax.Array) else as_key(as_seed(rng))
        keys = jax.random.split(key, count)
        return jnp.mean(jax.lax.map(lambda one: self.sample(one, x), keys, batch_size=min(count, 250)))

    def optimum(self, starts: int = 4, seed: int = 0) -> Optimum:
        """The best of several L-BFGS runs on the exact objective, in float64; the same on every call."""
        from scipy.optimize import minimize as scipy_minimize  # as long to load as JAX, and seldom needed

        rng, starts = np.random.default_rng(checks.seed("seed", seed)), checks.one_count("starts", starts)
        theta = np.asarray(self.theta, float)
        first = [np.full(self.dim, 0.5), theta, 1.5 * theta]
        more = [theta * rng.uniform(0.5, 2.5) + rng.uniform(0, 0.3, self.dim) for _ in range(starts)]
        with jax.enable_x64(True):

            def both(x: np.ndarray) -> tuple[float, np.ndarray]:
                value, gradient = _value_and_slope(jnp.asarray(x, jnp.float64), self)
                return float(value), np.asarray(gradient)

            runs = [
                scipy_minimize(
                    both, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000, "ftol": 1e-14}
                )
                for start in (first + more)[:starts]
            ]
        best = min(runs, key=lambda run: run.fun)
        return Optimum(np.asarray(best.x), float(best.fun), exact=False)

    def stable_point(self) -> None:
        """None: retraining does not stop at finite prices.

        On given demand ξ the loss −zᵀξ + Σ c_i(ξ_i) is linear in the prices z, and E ξ_i = m p_i(x) > 0 at
        every finite x. So higher prices always look better: a stable point would need a demand of 0.
        """

    def _weights(self, x: Array) -> tuple[Array, Array]:
        """The products' and the outside option's weights, scaled so that the largest is 1."""
        # γ(θ − x), capped so that no finite price overflows.
        logits = jnp.minimum(self.gamma.astype(x.dtype) * (self.theta.astype(x.dtype) - x), 1e30)
        outside = jnp.log(jnp.asarray(self.outside, x.dtype))
        largest = jnp.maximum(jnp.max(logits, axis=0), outside)
        return jnp.exp(logits - largest), jnp.exp(outside - largest)

    def _loss(self, x: Array, sold: Array, cost: Array) -> Array:
        """Σ cost_i − x_i sold_i, held at the largest float where finite prices would overflow.

        The sum is taken on a smaller scale, a power of two, where no finite prices overflow.
        """
        scale = 2.0 ** -int(np.ceil(np.log2(4 * self.buyers)))
        most = scale * float(jnp.finfo(x.dtype).max)
        return jnp.clip(jnp.sum(cost * scale - x * (sold * scale), axis=0), -most, most) / scale

    def _expected(self, x: Array) -> tuple[Array, Array, Array]:
        """Expected sales, buyers who take nothing, and the expected cost of every product.

        With B ~ Binomial(m, p_i), (B − k)₊ = B − k + (k − B)₊, and E[(k − B)₊] needs the law of B below k
        only:  E[c_i(B)] = w_i (3mp_i + l − 2u − E[(l − B)₊] + 2E[(u − B)₊]).
        """
        low, high = self.thresholds
        few = np.arange(min(int(np.ceil(high)), self.buyers + 1), dtype=float)[:, None]
        choose = gammaln(self.buyers + 1) - gammaln(few + 1) - gammaln(self.buyers - few + 1)
        short = 2 * np.maximum(high - few, 0) - np.maximum(low - few, 0)
        few, rest, choose, short = (jnp.asarray(a, x.dtype) for a in (few, self.buyers - few, choose, short))

        weights, outside = self._weights(x)
        total = jnp.sum(weights, axis=0) + outside
        share = weights / total
        # Held off 0 and 1, where the logarithms end: the terms that this touches are 0 to the last digit.
        limits = jnp.finfo(x.dtype)
        inner = jnp.clip(share, float(limits.tiny), 1 - float(limits.epsneg))
        law = jnp.exp(choose + few * jnp.log(inner) + rest * jnp.log1p(-inner))
        steps = 3 * self.buyers * share + low - 2 * high + jnp.sum(short * law, axis=0)
        cost = self.unit_cost.astype(x.dtype) * steps
        return self.buyers * share, self.buyers * outside / total, cost
