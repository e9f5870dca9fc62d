"""The methods of others once more, in plain NumPy and in their papers' order; see numpy_transcription.

For each iteration a transcription gets the mean values, the ξ behind them (`seen[t].xi[i]`, those of point i)
and the formula F with its gradient. The names of arguments are the registry's.
"""

import numpy as np
from scipy.optimize import root

from support.numpy_transcription import Run, _report


def ogvr(recorded):
    """Hikima and Takeda (2025), Algorithm 1, iteration k = 0, 1, …; `recorded` is the variant for values."""

    def run(x0, noise, seen, *, radius, step, decay, shrink, smallest, batch, growth, first, trust, window):
        x, mu, control = np.array(x0), radius, seen[0].values[0]
        points, iterates, past = [[x]], [x], []
        for k, (z, now) in enumerate(zip(noise[1:], seen[1:], strict=True)):
            z = z[0]
            points.append([x + mu * z])
            assert len(now.xi[0]) == batch + growth * k
            mean = np.mean([now.loss(x + mu * z, xi) for xi in now.xi[0]])
            past.append((x + mu * z, now.xi[0], mean))
            x = x - step * decay ** (k + 1) * (mean - control) / mu * z
            mu = max(shrink * mu, smallest)
            weights, losses = [], []
            for point, xis, value in past[-window:]:
                weights.append(1 / (trust * np.sum((x - point) ** 2) + 1 / len(xis)))
                losses.append(value if recorded else np.mean([now.loss(x, xi) for xi in xis]))
            control = np.dot(weights, losses) / np.sum(weights)
            iterates.append(x)
        return Run(np.array(points), np.array(iterates), x)

    return run


def two_point_scheduled(x0, noise, seen, *, radius, step, decay, shrink, smallest, batch, growth):
    """The companion, Algorithm 2: zo-ga with one direction and the schedule of Algorithm 1."""
    x, mu, points = np.array(x0), radius, []
    iterates = [x]
    for k, (z, now) in enumerate(zip(noise, seen, strict=True)):
        points.append([x + mu * z[0], x - mu * z[0]])
        assert [len(xi) for xi in now.xi] == [batch + growth * k] * 2
        x = x - step * decay ** (k + 1) * (now.values[0] - now.values[1]) / (2 * mu) * z[0]
        mu = max(shrink * mu, smallest)
        iterates.append(x)
    return Run(np.array(points), np.array(iterates), x)


def _unit(v):
    length = np.linalg.norm(v)
    return v / length if length > 0 else v


def guided(new):
    """GZO-NS (`new`) and GZO-HS: in NS every other answer is the guide's."""

    def run(
        x0, noise, seen, *, radius, step, decay, shrink, smallest, batch, growth, free, trust, window=None
    ):
        x, mu, alpha, guide, past, k = np.array(x0), radius, free, np.zeros(len(x0)), [], 0
        points, iterates = [], [x]
        for t, (draw, now) in enumerate(zip(noise, seen, strict=True)):
            if new and t % 2 == 0:
                points.append([x, x])
                assert [len(xi) for xi in now.xi] == [batch + growth * k, 0]
                guide = _unit(np.mean([now.gradient(x, xi) for xi in now.xi[0]], axis=0))
                iterates.append(x)
                continue
            w = np.sqrt(alpha / len(x)) * draw.z[0] + np.sqrt(1 - alpha) * draw.s * guide
            points.append([x + mu * w, x - mu * w])
            x = x - step * decay**k * (now.values[0] - now.values[1]) / (2 * mu) * w
            mu, alpha, k = max(shrink * mu, smallest), 1 - trust * (1 - alpha), k + 1
            if not new:
                past.append(np.concatenate(now.xi))
                kept = np.concatenate(past[-window:])
                guide = _unit(np.mean([now.gradient(x, xi) for xi in kept], axis=0))
            iterates.append(x)
        return Run(np.array(points), np.array(iterates[1:] if new else iterates), x)

    return run


def dfo(x0, noise, seen, *, radius, step, forget, mixing, hold, step_power, radius_power):
    """Liu, Li and Wai (2024), Algorithm 1: stages k of τ_k deployments along one direction."""
    hold = 2 / np.log(1 / max(mixing, forget)) if hold is None else hold
    theta, points, t, k = np.array(x0), [], 0, 0
    iterates = [theta]
    while t < len(seen):
        delta, eta = radius / (1 + k) ** radius_power, step / (1 + k) ** step_power
        tau = max(1, int(np.floor(hold * np.log(1 + k) + 1e-4)))
        u = noise[t][0]
        for m in range(1, tau + 1):
            if t == len(seen):
                break
            points.append([theta + delta * u])
            theta = theta - eta * forget ** (tau - m) * len(theta) / delta * seen[t].values[0] * u
            iterates.append(theta)
            t += 1
        k += 1
    return Run(np.array(points), np.array(iterates), theta)


def epochs(x0, noise, seen, *, radius, step, hold, low, high):
    """Ray et al. (2022): hold x + δu for n deployments, use the last value."""
    x, points, iterates = np.array(x0), [], [np.array(x0)]
    for t, now in enumerate(seen):
        if t % hold == 0:
            u = noise[t][0]
        points.append([x + radius * u])
        if t % hold == hold - 1:
            x = np.clip(x - step * len(x) / radius * now.values[0] * u, low, high)
        iterates.append(x)
    return Run(np.array(points), np.array(iterates), x)


def _pairs(x, us, radius):
    return [x + radius * u for u in us] + [x - radius * u for u in us]


def _pair_gradient(values, us, radius):
    n, d = us.shape
    return sum(d / (2 * radius) * (values[j] - values[n + j]) * us[j] for j in range(n)) / n


def gfm(x0, noise, seen, *, radius, step, directions, batch, block, output):
    """Lin, Zheng and Jordan (2022): SGD on f_δ."""
    x, points = np.array(x0), []
    iterates = [x]
    for draw, now in zip(noise, seen, strict=True):
        points.append(_pairs(x, draw.directions, radius))
        x = x - step * _pair_gradient(now.values, draw.directions, radius)
        iterates.append(x)
    picks = [draw.pick for draw in noise]
    return Run(np.array(points), np.array(iterates), _report(output, x, iterates[:-1], picks, block, x0))


def gfm_plus(x0, noise, seen, *, radius, step, period, pairs, fresh_pairs, output):
    """Chen, Xu and Luo (2023), Algorithm 2."""
    fresh_pairs = period * pairs if fresh_pairs is None else fresh_pairs
    x, points, before, v = np.array(x0), [], None, None
    iterates, most = [x], max(2 * fresh_pairs, 4 * pairs)
    for t, (draw, now) in enumerate(zip(noise, seen, strict=True)):
        if t % period == 0:
            us = draw.directions[:fresh_pairs]
            asked = _pairs(x, us, radius)
            v = _pair_gradient(now.values, us, radius)
        else:
            us = draw.directions[:pairs]
            asked = _pairs(x, us, radius) + _pairs(before, us, radius)
            here, there = now.values[: 2 * pairs], now.values[2 * pairs : 4 * pairs]
            v = v + _pair_gradient(here, us, radius) - _pair_gradient(there, us, radius)
        assert [len(xi) for xi in now.xi] == [1] * len(asked) + [0] * (most - len(asked))
        points.append(asked + [asked[0]] * (most - len(asked)))  # the others rest
        before, x = x, x - step * v
        iterates.append(x)
    picks = [draw.pick for draw in noise]
    return Run(np.array(points), np.array(iterates), _report(output, x, iterates[:-1], picks, 1, x0))


def same_sample(x0, noise, seen, *, radius, step, block, reach, batch, output, directions):
    """Kornowski and Shamir (2024): the increment is carried over from block to block."""
    reach = radius / block if reach is None else reach
    x, increment, points, ys, squares = np.array(x0), np.zeros(len(x0)), [], [], 0.0
    iterates = [x]
    for t, (draw, now) in enumerate(zip(noise, seen, strict=True)):
        y = x + draw.mix * increment
        x = x + increment
        points.append(_pairs(y, draw.directions, radius))
        g = _pair_gradient(now.values, draw.directions, radius)
        squares += g @ g
        rate = reach * np.sqrt((t // block + 1) / squares) if step is None else step
        increment = increment - rate * g
        length = np.linalg.norm(increment)
        increment = increment * reach / length if length > reach else increment
        iterates.append(x)
        ys.append(y)
    picks = [draw.pick for draw in noise]
    return Run(np.array(points), np.array(iterates), _report(output, x, ys, picks, block, x0))


def hlf(x0, noise, seen, *, radius, step, filter, momentum, batch):
    """Chen, Tang and Li (2022), eq. (11), after h_0."""
    x, before, zeta, h = np.array(x0), np.array(x0), 0.0, seen[0].values[0]
    points, iterates = [[x + radius * noise[0][0]]], [x]
    for u, now in zip(noise[1:], seen[1:], strict=True):
        points.append([x + radius * u[0]])
        zeta = (1 - filter) * zeta + now.values[0] - h
        h = now.values[0]
        x, before = x - step * len(x) / radius * zeta * u[0] + momentum * (x - before), x
        iterates.append(x)
    return Run(np.array(points), np.array(iterates), x)


def rgd(x0, noise, seen, *, step, batch, low, high):
    """Repeated gradient descent."""
    x = np.array(x0)
    iterates = [x]
    for now in seen:
        x = np.clip(x - step * np.mean([now.gradient(x, xi) for xi in now.xi[0]], axis=0), low, high)
        iterates.append(x)
    return Run(np.array(iterates[:-1])[:, None], np.array(iterates), x)


def rrm(x0, noise, seen, *, batch, iterations, low, high):
    """Repeated risk minimisation: the mean gradient's root, from where the search begins, by SciPy."""
    x = np.array(x0)
    iterates = [x]
    for now in seen:
        xis = now.xi[0]
        slope = root(
            lambda z, xis=xis, now=now: np.mean([now.gradient(z, xi) for xi in xis], axis=0), x, tol=1e-12
        )
        x = np.clip(slope.x, low, high)
        iterates.append(x)
    return Run(np.array(iterates[:-1])[:, None], np.array(iterates), x, close=1e-6)


FIELD = {
    "zo-ogvr": ogvr(recorded=False),
    "zo-ogvr-v": ogvr(recorded=True),
    "zo-ga-scheduled": two_point_scheduled,
    "gzo-ns": guided(new=True),
    "gzo-hs": guided(new=False),
    "dfo": dfo,
    "zo-epoch": epochs,
    "gfm": gfm,
    "gfm+": gfm_plus,
    "zo-o2nc-same": same_sample,
    "hlf-szo": hlf,
    "rgd": rgd,
    "rrm": rrm,
}
