"""The instances on which the model may be developed. None of them counts."""

import numpy as np
from scipy.special import gammaln

from benchmarks.live.instances import Instance
from benchmarks.live.shops import Shop


class Kink(Instance):
    """Weighted absolute distances to an unknown point."""

    def __init__(self, dim: int, noise: float, seed: int, drift: float = 0.0, shock: int | None = None):
        rng = np.random.default_rng(seed)
        point = rng.normal(size=dim)
        self._point = point * max(0.8 * dim**0.5, 1) / np.linalg.norm(point)
        self._weight, self._noise = rng.uniform(0.5, 1.5, dim), noise
        self._drift, self.shock, self.moving = drift, shock, bool(drift or shock)
        self.start, self.radius = np.zeros(dim), np.full(dim, 0.25 * dim**0.5)

    def optimum(self, t: int = 0) -> np.ndarray:
        moved = self._point * (1 + self._drift * t)
        return -moved if self.shock is not None and t >= self.shock else moved

    def f(self, x: np.ndarray, t: int = 0) -> float:
        return float((self._weight * abs(x - self.optimum(t))).sum())

    def sample(self, x: np.ndarray, rng: np.random.Generator, t: int = 0) -> float:
        return self.f(x, t) + self._noise * float(rng.normal())


class Shift(Instance):
    """Predictions of a target that moves with them: ξ = b + A x + noise, ½‖x − ξ‖² + ½ ridge ‖x‖²."""

    def __init__(self, dim: int, noise: float, seed: int, ridge: float = 0.1):
        rng = np.random.default_rng(seed)
        a = rng.normal(size=(dim, dim))
        self._a, self._b = 0.5 * a / np.linalg.norm(a, 2), rng.normal(size=dim)
        self._noise, self._ridge = noise, ridge
        self.start, self.radius = np.zeros(dim), np.full(dim, 0.25 * dim**0.5)

    def optimum(self, t: int = 0) -> np.ndarray:
        k = np.eye(self.dim) - self._a
        return np.linalg.solve(k.T @ k + self._ridge * np.eye(self.dim), k.T @ self._b)

    def _loss(self, x: np.ndarray, target: np.ndarray) -> float:
        return float(0.5 * ((x - target) ** 2).sum() + 0.5 * self._ridge * x @ x)

    def f(self, x: np.ndarray, t: int = 0) -> float:
        return self._loss(x, self._b + self._a @ x) + 0.5 * self.dim * self._noise**2

    def sample(self, x: np.ndarray, rng: np.random.Generator, t: int = 0) -> float:
        return self._loss(x, self._b + self._a @ x + self._noise * rng.normal(size=self.dim))


class Wells(Instance):
    """Two wells in each coordinate, one of them higher."""

    def __init__(self, dim: int, noise: float, seed: int):
        rng = np.random.default_rng(seed)
        self._point = rng.uniform(0.6, 1.2, dim) * rng.choice([-1, 1], dim)
        self._noise = noise
        self.start, self.radius = np.zeros(dim), np.full(dim, 0.25 * dim**0.5)

    def optimum(self, t: int = 0) -> np.ndarray:
        return self._point

    def f(self, x: np.ndarray, t: int = 0) -> float:
        return float(np.minimum(abs(x - self._point), 0.4 + abs(x + self._point)).sum())

    def sample(self, x: np.ndarray, rng: np.random.Generator, t: int = 0) -> float:
        return self.f(x) + self._noise * float(rng.normal())


class Prices(Instance):
    """Multinomial choices of some buyers, and costs of serving few or many of them."""

    priced = True

    def __init__(self, dim: int, buyers: int, seed: int):
        rng = np.random.default_rng(seed)
        price = rng.lognormal(5.447, 0.656, dim)
        self._worth = 0.1 + 0.8 * (price - price.min()) / (price.max() - price.min())
        self._steep = 2 * np.pi / (6**0.5 * self._worth)
        self._cost = rng.uniform(0.25, 0.5, dim) * self._worth
        self._buyers, self._none = buyers, 0.1 * dim
        self._counts = np.arange(buyers + 1)
        self._ways = gammaln(buyers + 1) - gammaln(self._counts + 1) - gammaln(buyers - self._counts + 1)
        self.start, self.radius = np.full(dim, 0.5), np.full(dim, 0.1 * dim**0.5)

    def _choices(self, x: np.ndarray) -> np.ndarray:
        each = np.exp(np.minimum(self._steep * (self._worth - x), 50))
        return each / (self._none + each.sum())

    def _service(self, z: np.ndarray) -> np.ndarray:
        fair = self._buyers / self.dim
        return 2 * z - np.maximum(z - 0.5 * fair, 0) + 2 * np.maximum(z - 1.5 * fair, 0)

    def f(self, x: np.ndarray, t: int = 0) -> float:
        p = self._choices(x)
        q = np.clip(p, 1e-12, 1 - 1e-12)[:, None]
        law = np.exp(self._ways + self._counts * np.log(q) + (self._buyers - self._counts) * np.log1p(-q))
        return float((-self._buyers * x * p + self._cost * (law @ self._service(self._counts))).sum())

    def sample(self, x: np.ndarray, rng: np.random.Generator, t: int = 0) -> float:
        p = self._choices(x)
        z = rng.multinomial(self._buyers, np.append(p, max(0.0, 1 - p.sum())))[:-1]
        return float((-x * z + self._cost * self._service(z)).sum())


class Credit(Instance):
    """A logistic score of applicants who move three features against it."""

    def __init__(self, applicants: int, seed: int, dim: int = 11):
        rng = np.random.default_rng(seed)
        mix = np.eye(dim - 1) + 0.3 * rng.normal(size=(dim - 1, dim - 1))
        people = rng.normal(size=(4000, dim - 1)) @ mix
        self._people = np.column_stack([people / people.std(axis=0), np.ones(4000)])
        truth = 0.8 * rng.normal(size=dim)
        truth[-1] = -1
        self._defaults = (rng.random(4000) < 1 / (1 + np.exp(-self._people @ truth))).astype(float)
        self._moved = np.isin(np.arange(dim), (0, 5, 7)).astype(float)
        self._applicants = applicants
        self.start, self.radius = np.zeros(dim), np.full(dim, 0.25 * dim**0.5)

    def _loss(self, x: np.ndarray, who: np.ndarray | slice) -> float:
        score = self._people[who] @ x - 0.5 * float((self._moved * x * x).sum())
        return float((np.logaddexp(0, score) - self._defaults[who] * score).mean() + 0.025 * x @ x)

    def f(self, x: np.ndarray, t: int = 0) -> float:
        return self._loss(x, slice(None))

    def sample(self, x: np.ndarray, rng: np.random.Generator, t: int = 0) -> float:
        return self._loss(x, rng.integers(4000, size=self._applicants))


class DriftingShop(Shop):
    """Logit demand with cross effects, weekdays, a drift and a promotion."""

    def __init__(self, seed: int, dim: int = 6):
        rng = np.random.default_rng(1000 + seed)
        self.cost = rng.uniform(2, 8, dim)
        usual = self.cost * rng.uniform(1.6, 2.6, dim)
        self._scale = usual * rng.uniform(0.12, 0.3, dim)
        self._worth = usual * rng.uniform(0.9, 1.2, dim)
        self._visits, self._none = rng.uniform(150, 400), np.exp(rng.uniform(0, 1.5))
        self.start = np.round(usual * rng.uniform(0.7, 1.1, dim), 1)
        weekday = 1 + 0.25 * np.sin(2 * np.pi * (np.arange(7) + rng.integers(7)) / 7)
        self.weekday = weekday + rng.normal(0, 0.05, 7)
        self._drift = rng.normal(0, 0.1, dim) / 120
        self.fixed, self.noise, self.grid = 50.0, 0.15, 0.05
        self.promotion, self.boost = range(60, 67), 1.3
        self.bounds = (1.02 * self.cost, 2.2 * usual)
        self.radius = 0.1 * self.start

    def units(self, x: np.ndarray, t: int) -> np.ndarray:
        each = np.exp(np.clip((self._worth * (1 + self._drift * t) - x) / self._scale, -50, 50))
        return self._visits * each / (self._none + each.sum())


def instances() -> dict[str, Instance]:
    """The nine live-sized problems, and harder ones."""
    return {
        "prices, d = 2": Prices(2, 120, 1),
        "prices, d = 5": Prices(5, 120, 2),
        "prices, d = 10": Prices(10, 120, 3),
        "kink, d = 2": Kink(2, 0.5, 4),
        "kink, d = 5": Kink(5, 0.5, 5),
        "kink, d = 10": Kink(10, 1.0, 6),
        "shift, d = 2": Shift(2, 0.5, 7),
        "shift, d = 10": Shift(10, 0.5, 8),
        "credit, 100 applicants": Credit(100, 9),
        "credit, 10 applicants": Credit(10, 16),
        "kink, d = 20": Kink(20, 1.0, 11),
        "shift, d = 20": Shift(20, 0.5, 12),
        "wells, d = 2": Wells(2, 0.3, 13),
        "wells, d = 10": Wells(10, 0.5, 14),
        "noisy kink, d = 5": Kink(5, 3.0, 15),
        "drifting kink, d = 5": Kink(5, 0.5, 17, drift=0.002),
        "kink with a shock, d = 5": Kink(5, 0.5, 18, shock=200),
    }


def shops() -> list[Shop]:
    return [DriftingShop(seed) for seed in range(5)]
