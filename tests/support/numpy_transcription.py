"""Every algorithm once more, in plain NumPy and in the paper's order, to hold the JAX methods to.

A transcription gets the start, the random numbers of each iteration (`noise[t]`, drawn by the method) and the
recorded values of the oracle (`values[t]`), and returns the points it would have queried, its iterates
x_0 … x_T and the decision it reports. It shares no code with driftopt. Longer than 300 lines for all
methods of the paper, and for the rules of `auto`.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np


class Run(NamedTuple):
    points: np.ndarray  # (answers, p, d)
    iterates: np.ndarray  # (T + 1, d)
    report: np.ndarray  # (d,)
    close: float = 1e-12  # float64, sums of a few terms in another order; more where a search is inside
    seen: dict = {}  # noqa: RUF012  # of `auto`: how often its rarer rules had their say


def _report(rule, x, ys, picks, block, x0):
    """Brute force: keep every block's mean, then choose."""
    if rule == "final":
        return x
    means = [np.mean(ys[k * block : (k + 1) * block], axis=0) for k in range(len(ys) // block)]
    if rule == "last-block":
        return means[-1] if means else x0
    chosen = x0
    for k, mean in enumerate(means, start=1):
        if picks[k * block - 1] < 1 / k:
            chosen = mean
    return chosen


def _two_sided(y, us, radius):
    return np.array([y + radius * u for u in us] + [y - radius * u for u in us])


def two_point_sphere(values, us, radius, previous):
    n, d = us.shape
    return sum(d / (2 * radius) * (values[j] - values[n + j]) * us[j] for j in range(n)) / n


def two_point_gaussian(values, us, radius, previous):
    n = len(us)
    return sum(1 / (2 * radius) * (values[j] - values[n + j]) * us[j] for j in range(n)) / n


def one_point(values, us, radius, previous):
    n, d = us.shape
    return sum(d / radius * values[j] * us[j] for j in range(n)) / n


def residual(values, us, radius, previous):
    return one_point(values - previous, us, radius, None)


def coordinate(values, us, radius, previous):
    d = len(us)
    return np.array([(values[i] - values[d + i]) / (2 * radius) for i in range(d)])


def _one_sided(y, us, radius):
    return np.array([y + radius * u for u in us])


def o2nc(place, estimate, warmup):
    """Algorithm 2; with `warmup`, its Option II, whose h_0 is queried around y_0 = x_0."""

    def run(x0, noise, values, *, radius, step=None, block=10, output="final", **_):
        reach, x, points, previous = radius / block, np.array(x0), [], None
        if warmup:
            points.append(place(x, noise[0].directions, radius))
            previous = values[0].mean()
            noise, values = noise[1:], values[1:]
        iterates, ys, squares = [x], [], 0.0
        for t in range(1, len(values) + 1):
            draw, h = noise[t - 1], values[t - 1]
            if (t - 1) % block == 0:
                increment = np.zeros_like(x)
            y = x + draw.mix * increment
            x = x + increment
            points.append(place(y, draw.directions, radius))
            g = estimate(h, draw.directions, radius, previous)
            previous = h.mean()
            squares += np.dot(g, g)
            k = (t - 1) // block + 1
            rate = reach * np.sqrt(k / squares) if step is None else step
            increment = increment - rate * g
            length = np.linalg.norm(increment)
            if length > reach:
                increment = increment * (reach / length)
            iterates.append(x)
            ys.append(y)
        picks = [draw.pick for draw in noise]
        return Run(np.array(points), np.array(iterates), _report(output, x, ys, picks, block, x0))

    return run


def sgd(place, estimate, default_output="final"):
    """x_{t+1} = x_t − η g_t."""

    def run(x0, noise, values, *, radius, step, block=1, output=default_output, **_):
        x, points = np.array(x0), []
        iterates = [x]
        for draw, h in zip(noise, values, strict=True):
            points.append(place(x, draw.directions, radius))
            x = x - step * estimate(h, draw.directions, radius, None)
            iterates.append(x)
        picks = [draw.pick for draw in noise]
        return Run(np.array(points), np.array(iterates), _report(output, x, iterates[:-1], picks, block, x0))

    return run


def auto(x0, noise, values, *, radius, budget, max_radius=np.inf, directions=1, low=-np.inf, high=np.inf):
    """The rule at the head of methods/walk.py, pair by pair, with plain numbers."""
    n, d = max(1, budget // (2 * directions) * directions), len(x0)
    most = max(0.3 * np.sqrt(n), 2.5)
    x = mean = np.array(x0)
    p, h, delta, taken = np.zeros(d), 1.0, min(radius, max_radius), 0
    v = s2 = rough = before = gained = here = fallen = cost = g = width = 0.0
    points, iterates, seen = [], [x], Counter()
    lines, pairs = np.reshape(noise, (-1, d)), np.reshape(values, (-1, 2))
    for told, (u, values_) in enumerate(zip(lines, pairs, strict=True)):
        if told % directions == 0:  # as many pairs are asked here and now
            asked, asked_delta, fell = x, delta, 0.0
            points.append([])
        centre, last = told % 8 == 0, (told + 1) % directions == 0
        apart = 0 * u if centre else asked_delta * u
        points[-1] += [np.clip(asked + apart, low, high), np.clip(asked - apart, low, high)]
        a, m = values_[0] - values_[1], values_.mean()
        if told < n and not np.isnan(a):
            taken += 1
            t, tau, looks = taken, (told + 1) / n, np.ceil(taken / 8)
            if centre:
                s2 += (2 / (looks + 1) if s2 else 1) * (_most(a, most, s2) - s2)
            else:
                v += (2 / (t + 1) if v else 1) * (_most(a, most, v) - v)
                jump = min(2 * (m - before + gained) ** 2, most**2 * v)
                rough += min(1, 4 / t) * (t > 3) * (jump - rough)
            unit = np.sqrt(v or s2 or 1)
            off = np.clip(m - here + fallen, -most * unit, most * unit) if t > 1 else 0.0
            if centre or t == 1:
                here, fallen = (here - fallen + off if t > 1 else m), 0.0
            if not centre:
                recent = min(1, 4 / t)
                back = mean - x
                uphill = back @ u / max(np.linalg.norm(back), asked_delta / np.sqrt(n))
                cost += recent * (off - cost)
                g += recent * (d / 2 * np.clip(a, -most * unit, most * unit) * uphill - g)
                width += recent * (asked_delta - width)
                calm = (v + looks * min(s2, v)) / (1 + looks) if v > 0 else 1.0
                theta = 0.47 * (min(d, t) + 3) * np.sqrt(calm / t) + 0.9 * max(g, 0) * delta / width
                louder = max(min(rough, v) / (calm * (1 + 3 * np.sqrt(2 / looks))), 1)
                theta /= louder**2
                excess = cost * delta / width / max(theta, 1e-6 * unit) - 1
                usual = recent / (2 - recent) * (1 + np.sqrt(2 / d))
                if max_radius == np.inf:
                    h = np.clip(h * np.exp(2 * (min(p @ p / usual, 2) - 1) / t), 1, np.sqrt(n))
                between = np.clip(asked + asked_delta * u, low, high) - np.clip(
                    asked - asked_delta * u, low, high
                )
                clipped = 1 - between @ between / (2 * asked_delta) ** 2
                clipped *= np.isfinite(low).any() or np.isfinite(high).any()
                change = min(excess, 4) if excess > 0 else 5 * max(excess, -1) * (1 - clipped)
                change = tau**0.45 * (change + 4 * clipped)
                widest = np.max(np.subtract(high, low)) / 2 * np.sqrt(d)
                delta = min(delta * np.exp(-change / t), 2 * asked_delta, max_radius, widest)
                step = h * delta / np.sqrt(n) * tau / (tau + 0.13) * (1 + np.clip(-excess, 0, 1))
                to = np.clip(x - step * np.clip(a / unit, -2.5, 2.5) * u, low, high)
                before, gained = m, (x - to) @ u * (a - min(s2, v) / (a or 1)) / (2 * asked_delta)
                fell += gained
                p = p + recent * ((x - to) / step - p)
                x = to
                seen["hasty"] += h > 1
                seen["costly"] += excess > 0
                seen["louder"] += louder > 1
            mean = mean + 9 / (t + 8) * (x - mean)
        if last:
            fallen += fell
            iterates.append(x)
    return Run(np.array(points), np.array(iterates), mean, 1e-11, seen)


def _most(a, deviations, mean):
    """a², or that of so many deviations where their mean square is known and less."""
    return min(a * a, deviations**2 * mean) if mean > 0 else a * a


TRANSCRIPTIONS = {
    "walk": auto,
    "zo-o2nc-2pt": o2nc(_two_sided, two_point_sphere, warmup=False),
    "zo-o2nc-1pt": o2nc(_one_sided, residual, warmup=True),
    "zo-co": sgd(_two_sided, coordinate),
    "zo-sph": sgd(_two_sided, two_point_sphere),
    "zo-ga": sgd(_two_sided, two_point_gaussian),
    "zo-og": sgd(_one_sided, one_point),
    "zo-sgd": sgd(_two_sided, two_point_sphere, default_output="random-block"),
}
