"""The instances that count. Nobody who works on the model looks at them; they are run once, at its end.

All seeds are in `SEEDS` and were written down before anything ran. Nothing here shares a seed with
`development`, and only the ideas of prices, credit and shifts are the same, with other formulas.
"""

import numpy as np
from scipy.special import ndtr
from scipy.stats import nbinom

from benchmarks.live.instances import Instance, lowest
from benchmarks.live.shops import DAYS, Shop

SEEDS = {
    "logit prices, d = 3": 940_103,
    "nested prices, d = 8": 940_208,
    "kinked prices, d = 5": 940_305,
    "nested prices, d = 20": 940_420,
    "lending, 1 applicant": 940_501,
    "lending, 10 applicants": 940_510,
    "lending, 100 applicants": 940_599,
    "moving means, d = 8": 940_608,
    "stocks with displays, d = 6": 940_706,
    "prices and stocks, unlike scales, d = 4": 940_804,
    "basins, d = 3": 940_903,
    "basins, d = 12": 940_912,
    "servers, d = 3": 941_003,
    "servers, d = 6": 941_006,
    "heavy tails, d = 2": 941_102,
    "heavy tails, d = 6": 941_106,
    "start in a corner, d = 5": 941_205,
    "budgets of campaigns, d = 30": 941_330,
    "rotated ridge, d = 50": 941_450,
    "seasonal drift, d = 5": 941_505,
    "shock at day 200, d = 6": 941_606,
}
SHOPS = range(942_000, 942_010)


class LogitPrices(Instance):
    """Visitors choose one product or none by a logit with one price sensitivity; the loss is −profit."""

    priced = True

    def __init__(self, dim: int, visitors: int, seed: int):
        rng = np.random.default_rng(seed)
        usual = rng.lognormal(2.2, 0.5, dim)
        self._cost = usual * rng.uniform(0.35, 0.6, dim)
        self._taste = 1.5 + 0.8 * rng.normal(size=dim)
        self._steep = rng.uniform(2.5, 4.0) / usual
        self._visitors = visitors
        self.start = usual * rng.uniform(0.6, 0.85, dim)
        self.radius = 0.1 * dim**0.5 * self.start

    def _choices(self, x: np.ndarray) -> np.ndarray:
        each = np.exp(np.clip(self._taste - self._steep * (x - self._cost), -50, 50))
        return each / (1 + each.sum())

    def f(self, x: np.ndarray, t: int = 0) -> float:
        return float(-self._visitors * ((x - self._cost) * self._choices(x)).sum())

    def sample(self, x: np.ndarray, rng: np.random.Generator, t: int = 0) -> float:
        p = self._choices(x)
        sold = rng.multinomial(self._visitors, np.append(p, max(0.0, 1 - p.sum())))[:-1]
        return float(-((x - self._cost) * sold).sum())


class NestedPrices(Instance):
    """A nested logit, Poisson visitors, and a day's level that multiplies all of them."""

    priced = True

    def __init__(self, dim: int, visitors: float, nests: int, seed: int):
        rng = np.random.default_rng(seed)
        usual = rng.lognormal(3.0, 0.7, dim)
        self._cost = usual * rng.uniform(0.3, 0.65, dim)
        self._value = usual * rng.uniform(0.95, 1.35, dim)
        self._width = usual * rng.uniform(0.15, 0.3, dim)
        self._nest = np.eye(nests)[np.arange(dim) % nests]
        self._apart = rng.uniform(0.4, 0.9, nests)
        self._visitors, self._none = visitors, 1.5 * dim
        self.start = usual * rng.uniform(0.75, 1.2, dim)
        self.radius = 0.1 * dim**0.5 * self.start

    def _units(self, x: np.ndarray) -> np.ndarray:
        inside = np.exp(np.clip((self._value - x) / self._width / (self._nest @ self._apart), -50, 50))
        whole = inside @ self._nest + 1e-300
        nest = whole**self._apart
        return (
            self._visitors * inside / (self._nest @ whole) * (self._nest @ (nest / (self._none + nest.sum())))
        )

    def f(self, x: np.ndarray, t: int = 0) -> float:
        return float(-((x - self._cost) * self._units(x)).sum())

    def sample(self, x: np.ndarray, rng: np.random.Generator, t: int = 0) -> float:
        level = rng.gamma(40.0) / 40
        return float(-((x - self._cost) * rng.poisson(level * self._units(x))).sum())


class KinkedPrices(Instance):
    """Linear demand that falls faster above a reference price, with counts that vary more than Poisson's."""

    priced = True

    def __init__(self, dim: int, seed: int):
        rng = np.random.default_rng(seed)
        self._usual = rng.lognormal(1.5, 0.6, dim)
        self._cost = self._usual * rng.uniform(0.4, 0.6, dim)
        self._base = rng.uniform(20, 60, dim)
        self._slope = rng.uniform(0.5, 1.0, dim)
        self._loss = rng.uniform(0.8, 2.5, dim)
        cross = rng.uniform(0, 0.25, (dim, dim)) / dim
        np.fill_diagonal(cross, 0)
        self._cross = cross
        self.start = self._usual * rng.uniform(0.7, 1.3, dim)
        self.radius = 0.1 * dim**0.5 * self.start

    def _units(self, x: np.ndarray) -> np.ndarray:
        above = x / self._usual - 1
        share = 1 - self._slope * above - self._loss * np.maximum(above, 0) + self._cross @ above
        return self._base * np.clip(share, 0.0, 3.0)

    def f(self, x: np.ndarray, t: int = 0) -> float:
        return float(-((x - self._cost) * self._units(x)).sum())

    def sample(self, x: np.ndarray, rng: np.random.Generator, t: int = 0) -> float:
        units = np.maximum(self._units(x), 1e-9)
        sold = nbinom.rvs(12.0, 12.0 / (12.0 + units), random_state=rng)
        return float(-((x - self._cost) * sold).sum())


class Lending(Instance):
    """Squared hinge of a linear score; bad applicants of several kinds raise two features against it."""

    def __init__(self, applicants: int, seed: int, dim: int = 9):
        rng = np.random.default_rng(seed)
        kinds = rng.normal(0, 1.2, (4, dim - 1))
        kind = rng.choice(4, p=[0.4, 0.3, 0.2, 0.1], size=3000)
        people = kinds[kind] + rng.standard_t(5, (3000, dim - 1)) * rng.uniform(0.4, 1.1, dim - 1)
        self._people = np.column_stack([people / people.std(axis=0), np.ones(3000)])
        bad = rng.random(3000) < np.array([0.1, 0.25, 0.45, 0.8])[kind]
        self._label = np.where(bad, 1.0, -1.0)
        self._games = np.zeros(dim)
        self._games[rng.choice(dim - 1, 2, replace=False)] = 0.6
        self._applicants = applicants
        self.start, self.radius = 0.2 * rng.normal(size=dim), np.full(dim, 0.12 * dim**0.5)

    def _loss(self, x: np.ndarray, who: np.ndarray | slice) -> float:
        moved = float((self._games * np.tanh(x) * x).sum())  # the score that gaming takes off
        label = self._label[who]
        score = self._people[who] @ x - moved * (label > 0)
        return float((np.maximum(1 - label * score, 0) ** 2).mean() + 0.02 * x @ x)

    def f(self, x: np.ndarray, t: int = 0) -> float:
        return self._loss(x, slice(None))

    def sample(self, x: np.ndarray, rng: np.random.Generator, t: int = 0) -> float:
        return self._loss(x, rng.integers(3000, size=self._applicants))


class MovingMeans(Instance):
    """Bilinear costs of an observation whose mean moves with the decision: E ξᵀx + ½ κ ‖x − x₀‖²."""

    def __init__(self, dim: int, noise: float, seed: int):
        rng = np.random.default_rng(seed)
        a = rng.normal(size=(dim, dim)) / dim**0.5
        self._a = 0.4 * a @ a.T + 0.3 * (a - a.T)
        self._b, self._noise = rng.laplace(size=dim), noise
        self.start, self.radius = rng.uniform(-0.5, 0.5, dim), np.full(dim, 0.25 * dim**0.5)

    def optimum(self, t: int = 0) -> np.ndarray:
        return np.linalg.solve(self._a + self._a.T + np.eye(self.dim), self.start - self._b)

    def f(self, x: np.ndarray, t: int = 0) -> float:
        return float((self._b + self._a @ x) @ x + 0.5 * ((x - self.start) ** 2).sum())

    def sample(self, x: np.ndarray, rng: np.random.Generator, t: int = 0) -> float:
        return self.f(x) + self._noise * float(rng.normal(size=self.dim) @ (0.5 + abs(x)))


class DisplayedStocks(Instance):
    """A kinked newsvendor: what is displayed raises demand; 40 scenarios of demand, three days each."""

    def __init__(self, dim: int, seed: int):
        rng = np.random.default_rng(seed)
        self._demand = 30 * rng.lognormal(0.0, 0.45, (40, dim)) * rng.uniform(0.6, 1.6, dim)
        self._display = 0.25 * np.eye(dim) - 0.06 * rng.random((dim, dim)) * (1 - np.eye(dim))
        self._over, self._under = rng.uniform(0.3, 1, dim), rng.uniform(1, 5, dim)
        self.start, self.radius = np.full(dim, 20.0), np.full(dim, 3.0 * dim**0.5)
        self.bounds = (np.zeros(dim), np.full(dim, 200.0))

    def _loss(self, x: np.ndarray, scenarios: np.ndarray | slice) -> float:
        missing = self._demand[scenarios] + self._display @ x - x
        return float(
            (self._under * np.maximum(missing, 0) + self._over * np.maximum(-missing, 0)).sum(1).mean()
        )

    def optimum(self, t: int = 0) -> np.ndarray:
        return self._lowest

    def f(self, x: np.ndarray, t: int = 0) -> float:
        return self._loss(x, slice(None))

    def sample(self, x: np.ndarray, rng: np.random.Generator, t: int = 0) -> float:
        return self._loss(x, rng.integers(40, size=3))


class PricesAndStocks(Instance):
    """Two prices near 5 and two stocks near 100: lognormal demand of constant elasticity, −profit."""

    priced = True

    def __init__(self, seed: int):
        rng = np.random.default_rng(seed)
        self._cost, self._base = rng.uniform(1.5, 3, 2), rng.uniform(60, 140, 2)
        self._elastic, self._spread = rng.uniform(1.6, 2.6, 2), rng.uniform(0.2, 0.4, 2)
        self._salvage = 0.4 * self._cost
        self.start = np.concatenate([self._cost * 1.5, self._base * 1.1])
        self.radius = np.concatenate([0.2 * self._cost, 0.15 * self._base])
        self.bounds = (
            np.concatenate([self._cost * 1.05, np.full(2, 5.0)]),
            np.concatenate([self._cost * 6, np.full(2, 900.0)]),
        )

    def _median(self, price: np.ndarray) -> np.ndarray:
        return 2 * self._base * (price / (1.8 * self._cost)) ** -self._elastic

    def f(self, x: np.ndarray, t: int = 0) -> float:
        price, stock = x[:2], np.maximum(x[2:], 1e-9)
        away = np.log(stock / self._median(price)) / self._spread
        below = self._median(price) * np.exp(self._spread**2 / 2) * ndtr(away - self._spread)
        sold = below + stock * ndtr(-away)
        return float(-(price * sold + self._salvage * (stock - sold) - self._cost * stock).sum())

    def sample(self, x: np.ndarray, rng: np.random.Generator, t: int = 0) -> float:
        price, stock = x[:2], x[2:]
        sold = np.minimum(stock, self._median(price) * np.exp(self._spread * rng.normal(size=2)))
        return float(-(price * sold + self._salvage * (stock - sold) - self._cost * stock).sum())


class Basins(Instance):
    """Smooth basins of different depths in a shallow bowl; the start is between them."""

    def __init__(self, dim: int, noise: float, seed: int):
        rng = np.random.default_rng(seed)
        direction = rng.normal(size=dim) / dim**0.5
        others = rng.normal(size=(2, dim)) / dim**0.5
        self._places = dim**0.5 * np.stack(
            [1.1 * direction, -0.9 * direction, 1.2 * others[0], -1.4 * others[1]]
        )
        self._depth, self._wide = np.array([2.0, 1.2, 0.8, 0.8]), np.array([0.8, 0.7, 0.6, 0.6]) * dim**0.5
        self._noise = noise
        self.start, self.radius = np.zeros(dim), np.full(dim, 0.25 * dim**0.5)

    def optimum(self, t: int = 0) -> np.ndarray:
        if not hasattr(self, "_best"):
            self._best = lowest(self.f, [self.start, *self._places], None)
        return self._best

    def f(self, x: np.ndarray, t: int = 0) -> float:
        square = ((x - self._places) ** 2).sum(axis=1) / self._wide**2
        return float(-(self._depth * np.exp(-0.5 * square)).sum() + 0.05 * x @ x / self.dim)

    def sample(self, x: np.ndarray, rng: np.random.Generator, t: int = 0) -> float:
        return self.f(x) + self._noise * float(rng.normal())


class Servers(Instance):
    """M/M/1 queues: customers join the faster ones; staff costs and the mean sojourn of a day's customers."""

    def __init__(self, dim: int, seed: int):
        rng = np.random.default_rng(seed)
        self._arrivals = 4.0 * dim
        self._balk = self._arrivals * rng.uniform(1.02, 1.1)
        self._pull = rng.uniform(0.7, 1.4, dim)
        self._staff, self._wait = rng.uniform(0.5, 1.5, dim), rng.uniform(20, 60, dim)
        self.start, self.radius = np.full(dim, 8.0), np.full(dim, 0.8 * dim**0.5)
        self.bounds = (np.full(dim, 1.0), np.full(dim, 40.0))

    def _rates(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Arrivals and the excess of service over them, which is positive everywhere."""
        pulled = self._pull / self._pull.max() * x
        arrivals = self._arrivals * pulled / (self._balk + pulled.sum())
        return arrivals, x - arrivals

    def f(self, x: np.ndarray, t: int = 0) -> float:
        arrivals, free = self._rates(x)
        return float((self._staff * x + self._wait * arrivals / free / self._arrivals).sum())

    def sample(self, x: np.ndarray, rng: np.random.Generator, t: int = 0) -> float:
        arrivals, free = self._rates(x)
        sojourn = rng.gamma(5.0, 1 / (5.0 * free))  # the mean of five exponential times in each queue
        return float((self._staff * x + self._wait * arrivals * sojourn / self._arrivals).sum())


class HeavyTails(Instance):
    """A distance that is not a sum over coordinates, with loud noise of Student's t with three degrees."""

    def __init__(self, dim: int, noise: float, seed: int):
        rng = np.random.default_rng(seed)
        self._turn = np.linalg.qr(rng.normal(size=(dim, dim)))[0] * np.geomspace(0.6, 2.0, dim)[:, None]
        self._point = rng.choice([-1, 1], dim) * rng.uniform(0.5, 1.3, dim)
        self._noise = noise
        self.start, self.radius = np.zeros(dim), np.full(dim, 0.25 * dim**0.5)

    def optimum(self, t: int = 0) -> np.ndarray:
        return self._point

    def f(self, x: np.ndarray, t: int = 0) -> float:
        return float(np.linalg.norm(self._turn @ (x - self._point)))

    def sample(self, x: np.ndarray, rng: np.random.Generator, t: int = 0) -> float:
        return self.f(x) + self._noise * float(rng.standard_t(3))


class Corner(Instance):
    """Doses that start at zero, their bound; a smooth interaction, and an optimum on some of the bounds."""

    def __init__(self, dim: int, noise: float, seed: int):
        rng = np.random.default_rng(seed)
        a = rng.normal(size=(dim, dim))
        self._h = a @ a.T / dim + 0.3 * np.eye(dim)
        self._wish, self._noise = rng.uniform(-0.3, 0.9, dim), noise
        self.start, self.radius = np.zeros(dim), np.full(dim, 0.1 * dim**0.5)
        self.bounds = (np.zeros(dim), np.ones(dim))

    def f(self, x: np.ndarray, t: int = 0) -> float:
        away = x - self._wish
        return float(np.logaddexp(0, away @ self._h @ away - 1))

    def sample(self, x: np.ndarray, rng: np.random.Generator, t: int = 0) -> float:
        return self.f(x) + self._noise * float(rng.normal())


class Campaigns(Instance):
    """Budgets with falling returns: Poisson conversions less what is spent."""

    priced = True

    def __init__(self, dim: int, seed: int):
        rng = np.random.default_rng(seed)
        self._returns, self._half = rng.lognormal(1.0, 0.6, dim), rng.uniform(0.5, 3.0, dim)
        self.start, self.radius = np.full(dim, 1.0), np.full(dim, 0.15 * dim**0.5)
        self.bounds = (np.zeros(dim), np.full(dim, 20.0))

    def _conversions(self, x: np.ndarray) -> float:
        return float((5 * self._returns * x / (self._half + x)).sum())

    def f(self, x: np.ndarray, t: int = 0) -> float:
        return float(x.sum()) - 0.5 * self._conversions(x)

    def sample(self, x: np.ndarray, rng: np.random.Generator, t: int = 0) -> float:
        return float(x.sum()) - 0.5 * float(rng.poisson(self._conversions(x)))


class Ridge(Instance):
    """Huber losses of 50 turned coordinates with lengths that differ by ten."""

    def __init__(self, dim: int, noise: float, seed: int):
        rng = np.random.default_rng(seed)
        self._turn = (
            np.linalg.qr(rng.normal(size=(dim, dim)))[0] * np.geomspace(0.3, 3.0, dim)[:, None] ** 0.5
        )
        self._point, self._noise = rng.normal(size=dim), noise
        self.start, self.radius = np.zeros(dim), np.full(dim, 0.25 * dim**0.5)

    def optimum(self, t: int = 0) -> np.ndarray:
        return self._point

    def f(self, x: np.ndarray, t: int = 0) -> float:
        away = abs(self._turn @ (x - self._point))
        return float(np.where(away < 0.5, away**2, away - 0.25).sum())

    def sample(self, x: np.ndarray, rng: np.random.Generator, t: int = 0) -> float:
        return self.f(x) + self._noise * float(rng.normal())


class Moving(Instance):
    """A smooth valley whose lowest point turns with the season, or jumps at a shock; noise grows uphill."""

    moving = True

    def __init__(self, dim: int, noise: float, seed: int, season: float = 0.0, shock: int | None = None):
        rng = np.random.default_rng(seed)
        self._point, self._other = rng.uniform(0.5, 1.2, (2, dim)) * rng.choice([-1, 1], (2, dim))
        self._weight, self._noise = rng.uniform(0.5, 2.0, dim), noise
        self._season, self.shock = season, shock
        self.start, self.radius = np.zeros(dim), np.full(dim, 0.25 * dim**0.5)

    def optimum(self, t: int = 0) -> np.ndarray:
        if self.shock is not None:
            return self._point if t < self.shock else self._other
        return self._point + 0.6 * np.sin(2 * np.pi * t * self._season) * self._other

    def f(self, x: np.ndarray, t: int = 0) -> float:
        away = x - self.optimum(t)
        return float((self._weight * (np.sqrt(1 + 4 * away**2) - 1)).sum())

    def sample(self, x: np.ndarray, rng: np.random.Generator, t: int = 0) -> float:
        loss = self.f(x, t)
        return loss + self._noise * (1 + 0.2 * loss) * float(rng.normal())


class WeeklyShop(Shop):
    """Demand falls in an S around what each product is worth, times cross effects of the other prices."""

    noise, grid = 0.15, 0.05

    def __init__(self, seed: int, dim: int = 6):
        rng = np.random.default_rng(seed)
        self.cost = np.round(rng.lognormal(1.4, 0.45, dim), 2)
        self._worth = self.cost * rng.uniform(1.9, 3.0, dim)
        self._width = self._worth * rng.uniform(0.1, 0.22, dim)
        self._base = rng.uniform(15, 70, dim)
        cross = rng.uniform(-0.1, 0.5, (dim, dim)) / 2
        np.fill_diagonal(cross, 0)
        self._cross = cross
        self._drift = rng.normal(0, 0.08, dim) / DAYS
        weekday = 1 + 0.25 * np.array([-0.8, -1.0, -0.4, 0.0, 0.7, 1.0, 0.5])
        self.weekday = np.roll(weekday, rng.integers(7)) + rng.normal(0, 0.03, 7)
        begin = int(rng.integers(30, 80))
        self.promotion, self.boost = range(begin, begin + 7), rng.uniform(1.2, 1.6)
        self.fixed = float(rng.uniform(40, 120))
        self.start = np.round(self._worth * rng.uniform(0.62, 0.95, dim) / 0.05) * 0.05
        self.bounds = (np.round(1.05 * self.cost, 2), np.round(2.0 * self._worth, 2))
        self.radius = 0.1 * self.start
        row = np.zeros(
            dim
        )  # a law: the first product's price is at most 1.15 times today's ratio to the second's
        row[0], row[1] = 1.0, -1.15 * self.start[0] / self.start[1]
        self.law = (row, 0.0)

    def units(self, x: np.ndarray, t: int) -> np.ndarray:
        worth = self._worth * (1 + self._drift * t)
        own = 1 / (1 + np.exp(np.clip((x - worth) / self._width, -50, 50)))
        return self._base * own * np.exp(np.clip(self._cross @ (x / self._worth - 0.85), -2, 2))


def instances() -> dict[str, Instance]:
    s = SEEDS
    made: dict[str, Instance] = {
        "logit prices, d = 3": LogitPrices(3, 150, s["logit prices, d = 3"]),
        "nested prices, d = 8": NestedPrices(8, 200.0, 3, s["nested prices, d = 8"]),
        "kinked prices, d = 5": KinkedPrices(5, s["kinked prices, d = 5"]),
        "nested prices, d = 20": NestedPrices(20, 300.0, 4, s["nested prices, d = 20"]),
        "lending, 1 applicant": Lending(1, s["lending, 1 applicant"]),
        "lending, 10 applicants": Lending(10, s["lending, 10 applicants"]),
        "lending, 100 applicants": Lending(100, s["lending, 100 applicants"]),
        "moving means, d = 8": MovingMeans(8, 0.4, s["moving means, d = 8"]),
        "stocks with displays, d = 6": DisplayedStocks(6, s["stocks with displays, d = 6"]),
        "prices and stocks, unlike scales, d = 4": PricesAndStocks(
            s["prices and stocks, unlike scales, d = 4"]
        ),
        "basins, d = 3": Basins(3, 0.15, s["basins, d = 3"]),
        "basins, d = 12": Basins(12, 0.15, s["basins, d = 12"]),
        "servers, d = 3": Servers(3, s["servers, d = 3"]),
        "servers, d = 6": Servers(6, s["servers, d = 6"]),
        "heavy tails, d = 2": HeavyTails(2, 0.5, s["heavy tails, d = 2"]),
        "heavy tails, d = 6": HeavyTails(6, 1.0, s["heavy tails, d = 6"]),
        "start in a corner, d = 5": Corner(5, 0.15, s["start in a corner, d = 5"]),
        "budgets of campaigns, d = 30": Campaigns(30, s["budgets of campaigns, d = 30"]),
        "rotated ridge, d = 50": Ridge(50, 4.0, s["rotated ridge, d = 50"]),
        "seasonal drift, d = 5": Moving(5, 0.4, s["seasonal drift, d = 5"], season=1 / 365),
        "shock at day 200, d = 6": Moving(6, 0.4, s["shock at day 200, d = 6"], shock=200),
    }
    assert made.keys() == SEEDS.keys()
    return made


def shops() -> list[Shop]:
    return [WeeklyShop(seed) for seed in SHOPS]
