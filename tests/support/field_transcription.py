"""The methods of others once more, in plain NumPy and in their papers' order; see numpy_transcription.

For each iteration a transcription gets the mean values, the ξ behind them (`seen[t].xi[i]`, those of point i)
and the formula F with its gradient. The names of arguments are the registry's.
"""

import itertools

import jax
import numpy as np
from scipy.optimize import root

from driftopt.rng.threefry import normal
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


def perfgd(x0, noise, seen, *, step, batch, window, low, high):
    """Izzo, Ying and Zou (2021): retraining's gradient, and after d steps the part through Ξ too."""
    x, past = np.array(x0), []
    iterates = [x]
    for now in seen:
        xis = now.xi[0]
        mean = xis.mean(axis=0)
        past.insert(0, (x, mean))
        g = np.mean([now.gradient(x, xi) for xi in xis], axis=0)
        if len(past) > len(x):
            moved = np.array([a - x for a, _ in past[1 : window + 1]]).T
            shifted = np.array([b - mean for _, b in past[1 : window + 1]]).T
            slope = shifted @ np.linalg.pinv(moved, rcond=1e-3)
            covariance = np.cov(xis.T, ddof=0)
            size = len(covariance)
            covariance = covariance + (1e-6 * np.trace(covariance) / size + 1e-12) * np.eye(size)
            scores = [now.loss(x, xi) * np.linalg.solve(covariance, xi - mean) for xi in xis]
            g = g + slope.T @ np.mean(scores, axis=0)
        x = np.clip(x - step * g, low, high)
        iterates.append(x)
    return Run(np.array(iterates[:-1])[:, None], np.array(iterates), x, close=1e-8)


def _lines(x, y):
    """b and A of y ≈ b + A x."""
    solution = np.linalg.lstsq(np.column_stack([np.ones(len(x)), x]), y, rcond=None)[0]
    return solution[0], solution[1:].T


def two_stage(x0, noise, seen, *, radius, budget, iterations, low, high):
    """Miller, Perdomo and Zrnic (2021), for a location family."""
    x, points, iterates = np.array(x0), [], [np.array(x0)]
    for draw, now in zip(noise, seen, strict=True):
        asked = np.concatenate([x + radius * draw, np.tile(x, (budget - len(draw), 1))])
        points.append(asked)
        xis, half = np.concatenate(now.xi), budget // 2
        _, shift = _lines(asked[:half] - x, xis[:half])

        def slope(z, x=x, base=xis[half:], shift=shift, now=now):
            moved = base + shift @ (z - x)
            parts = [now.gradient(z, xi) + shift.T @ now.data_gradient(z, xi) for xi in moved]
            return np.mean(parts, axis=0)

        x = np.clip(root(slope, x, tol=1e-12).x, low, high)
        iterates.append(x)
    return Run(np.array(points), np.array(iterates), x, close=1e-5)


def plug_in(x0, noise, seen, *, radius, model, budget, draws, iterations, low, high):
    """Lin and Zrnic (2024) with ξ ~ N(b + Ax, Σ); the draws' standard normal numbers are the method's own."""
    x, points, iterates = np.array(x0), [], [np.array(x0)]
    keys = jax.random.split(jax.random.fold_in(jax.random.key(3), np.uint32(2**32 - 1)), draws)
    z = np.asarray(jax.vmap(lambda key: normal(key, (len(x),)))(keys), np.float64)
    for draw, now in zip(noise, seen, strict=True):
        asked = x + radius * draw
        points.append(asked)
        xis = np.concatenate(now.xi)
        base, shift = _lines(asked, xis)
        rest = xis - base - asked @ shift.T
        covariance = rest.T @ rest / len(rest)
        covariance += (1e-6 * np.trace(covariance) / len(x) + 1e-12) * np.eye(len(x))
        around = z @ np.linalg.cholesky(covariance).T

        def slope(w, base=base, shift=shift, around=around, now=now):
            drawn = base + shift @ w + around
            return np.mean([now.gradient(w, xi) + shift.T @ now.data_gradient(w, xi) for xi in drawn], axis=0)

        x = np.clip(root(slope, x, tol=1e-12).x, low, high)
        iterates.append(x)
    return Run(np.array(points), np.array(iterates), x, close=1e-5)


def confidence(x0, noise, seen, *, low, high, sensitivity, complexity, tolerance, batch, grid, budget):
    """Jagadeesan, Zrnic and Mendler-Dünner (2022), Algorithm 1, on a grid.

    The net grows as it is deployed.
    """
    axis = np.linspace(low, high, grid)
    decisions = np.array(list(itertools.product(axis, repeat=len(x0))))
    here = int(np.argmin(np.sum((decisions - x0) ** 2, axis=1)))
    active, phase, best = np.ones(len(decisions), bool), 0, decisions[here]
    covered, deployed, kept = np.zeros(len(decisions), bool), [], []
    points, iterates = [], [decisions[here]]
    for draw, now in zip(noise, seen, strict=True):
        points.append([decisions[here]])
        kept.append(now.xi[0])
        gamma = tolerance / 2**phase
        wanted = np.ceil((2 * complexity + 3 * np.sqrt(np.log(budget))) ** 2 / (gamma**2 * batch))
        if len(kept) >= wanted:
            away = sensitivity * np.linalg.norm(decisions - decisions[here], axis=1)
            means = [[np.mean([now.loss(x, xi) for xi in xis]) for x in decisions] for xis in kept]
            deployed.append((np.mean(means, axis=0), away))
            upper = np.min([risk + far for risk, far in deployed], axis=0)
            lower = np.max([risk - far for risk, far in deployed], axis=0)
            winner = int(np.argmin(np.where(active, upper, np.inf)))
            active &= (lower <= upper.min() + 2 * gamma) | (np.arange(len(active)) == winner)
            covered |= away <= gamma
            best = decisions[winner]
            if not (active & ~covered).any():
                phase, covered, deployed = phase + 1, np.zeros(len(decisions), bool), []
            here, kept = int(np.argmax(np.where(active & ~covered, draw, -1))), []
        iterates.append(decisions[here])
    return Run(np.array(points), np.array(iterates), best)


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
    "perfgd": perfgd,
    "two-stage": two_stage,
    "plug-in": plug_in,
    "pcb": confidence,
}
