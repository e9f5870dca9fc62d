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
    seen: dict = {}  # noqa: RUF012  # of `auto`: how often its rarer rules had their say, and `bowl`


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


def auto_1(x0, noise, values, *, radius, budget):
    """The rules at the head of methods/auto_1.py, pair by pair, with plain numbers."""
    pairs, dim = max(1, budget // 2), len(x0)
    x = mean = np.array(x0)
    square, shrink, around, cost, slope = 0.0, 1.0, [], 0.0, 0.0
    points, iterates = [], [x]
    for told, (u, h) in enumerate(zip(noise, values, strict=True)):
        t, length = told + 1, shrink * radius
        if told % 8 == 7:  # a pair at x itself: what do trials around it cost?
            points.append([x, x])
            if told < pairs:
                here = (h[0] + h[1]) / 2
                cost += min(1, 2 * 8 / t) * ((np.mean(around) - here) / length - cost)
                around, moved = [], x
        else:
            points.append([x + length * u, x - length * u])
            if told < pairs:
                difference = h[0] - h[1]
                around.append((h[0] + h[1]) / 2)
                square += max(1 / t, min(20 / pairs, 0.1)) * (difference**2 - square)
                back = mean - x
                size = np.linalg.norm(back)
                uphill = back @ u / size if size > 0 else 0.0
                slope += min(1, 2 / t) * (dim / 2 * difference * uphill / length - slope)
                moved = None
        if told < pairs:
            deviation = np.sqrt(square) if square > 0 else 1.0
            worth = (0.1 * dim + 1) * deviation / np.sqrt(t) + 0.75 * length * max(slope, 0)
            excess = cost * length / worth - 1
            if moved is None:
                step = 2 / np.sqrt(pairs) * length * (1 + 0.5 * np.clip(-excess, 0, 1))
                x = x - step * difference / deviation * u
            mean = mean + 9 / (t + 8) * (x - mean)
            if t > dim:
                shrink = min(shrink * np.exp(-np.clip(excess, -1, 1) / t), 1)
        iterates.append(x)
    return Run(np.array(points), np.array(iterates), mean)


def _bounded(square, most, mean):
    return min(square, most**2 * mean) if mean > 0 else square


def _scale(three, t, missed):
    """v: the median of the three running means, or the largest while that says nothing."""
    median, alone = sorted(three)[1], missed and min(three[1:]) == 0
    return median if median > 0 and t > 2 and not alone else max(three)


def _feed(three, told, instead, square, most, n, missed):
    """One of the three means after one square more; `instead` of which another may count."""
    t, turn = told + 1, told % 3
    known = _scale(three, t, missed) if missed else sorted(three)[1]
    fed = _bounded(square, most, known if t > 3 else 0.0) if instead is None else instead
    rate = max(1 / np.ceil(t / 3), min(330 / n, 0.3))
    three[turn] += (1 if missed and three[turn] == 0 else rate) * (fed - three[turn])


def _at_x(mean, clipped, rate, most, told, slip, wild, missed):
    """A mean square of pairs at x after one more, which may show that the very first was wild."""
    rate = 1 if missed and mean == 0 else rate
    square = _bounded(clipped**2, most, mean)
    anew = slip or (told == 3 and mean > (20 * clipped) ** 2)
    after = mean + (1 if anew else rate) * (square - mean)
    return min(after, (1 + 7 * rate) * mean) if wild else after


def _slipped(first, others, off, third):
    """Whether the first pair differs far more than the next three, and two means say so too."""
    return first > 3 * others and abs(off - first / 2) < first / 4 and abs(third - first / 2) < first / 3


def _nearer(answers, expected):
    return min(answers, key=lambda answer: abs(answer - expected))


class _Bowl:
    """The rules at the head of methods/auto_evenness.py."""

    def __init__(self):
        self.late, self.all = np.zeros(2), np.zeros(2)  # means of c δ² and of δ⁴
        self.bowl = 0.0

    def see(self, cost, length, t, still, around):
        fed = np.array([cost * length**2, length**4])
        self.late = self.late + min(1, 4 / t) * (fed - self.late)
        self.all = self.all + (fed - self.all) / t
        even = 0.0
        if self.late[0] > 0 and self.all[0] > 0:
            curvature_late, curvature_all = self.late[0] / self.late[1], self.all[0] / self.all[1]
            rho = np.log(curvature_late / curvature_all)
            squared_error = (max(still, around) + 8 * still) / 4 / (t / 2)  # of a mean of c over t/4 pairs
            epsilon = min(np.sqrt(squared_error / self.late[1]) / curvature_late, 10)
            even = np.exp(-(rho**2) / (0.07**2 + epsilon**2)) / (1 + (epsilon / 0.07) ** 2)
            even *= np.clip(np.log((self.all[1] / self.late[1]) ** 0.25) / 0.4, 0, 1)
            even *= np.clip((t - 20) / 20, 0, 1)
        self.bowl += min(1, 8 / t) * (even - self.bowl)


class _Level:
    """The rules at the head of methods/auto_retreat.py."""

    def __init__(self):
        self.first, self.late, self.since = 0.0, 0.0, 0

    def lost(self, value, at_x, slip, measured, still, astray):
        """Whether the walk goes back, with the `at_x`-th value said of x."""
        if slip:  # what was said before is forgotten
            self.first, self.late, self.since = value, value, 1
            return False
        self.since += 1
        if self.since <= 2:
            self.first += (value - self.first) / self.since
        self.late += max(0.35, 1 / self.since) * (value - self.late)
        error = np.sqrt(max(0.35 / 1.65, 1 / self.since) * measured / 4 + still / 8)
        risen = self.late - self.first > (2.5 + np.log(at_x)) * error
        lost = astray and at_x > 3 and self.since >= 3 and risen
        if lost:
            self.late, self.since = 0.0, 0
        return lost


def _believed(walk, n, told, lambdas, three, calm, rough, at_x, rise, cost, seen, missed):
    """κ, by the rules at the head of methods/auto_doubt.py; `rise`: how far values at x have risen."""
    d, v = len(walk), _scale(three, min(told, n), missed)
    b = np.clip((20 + 16 * min(d / 10, 1) - n / d) / (16 + 8 * min(d / 10, 1)), 0, 1)
    if not walk.any() or b == 0:
        return 1.0
    still = v + at_x / (at_x + 0.7) * (min(calm, v) - v) if v > 0 else 1.0
    changes = min(rough, v)
    loud = np.clip((changes / v - 0.5) / 0.4, 0, 1)
    noise = still * (max(changes, still) / still) ** loud * np.clip(max(three) / (2 * v), 1, 2)
    by_noise = noise * lambdas / np.sum(walk**2)
    beyond = np.clip(1 - b * (1 + np.sqrt(1 / (2 * d))) * by_noise, 0, 1)
    errors = rise / np.sqrt(3 * still / 8)
    risen = np.clip((errors - 0.5) / 1.5, 0, 1)
    fallen = np.clip((-errors - 2) / 4, 0, 1)
    seen["fallen"] += 0 < fallen < 1
    for name, factor in (
        ("fallen by itself", cost / np.sqrt(still)),
        ("fallen with a short walk", 3 - 2 * by_noise),
        ("fallen where tails are heavy", 2 - max(three) / (4 * v)),
    ):
        seen[name] += fallen > 0 and factor < 1
        fallen *= np.clip(factor, 0, 1)
    seen["louder at trials"] += loud > 0
    seen["heavy tails"] += max(three) > 2 * v
    seen["risen"] += risen > 0
    doubted = beyond * (1 - b * d / (d + 3) * risen)
    return doubted + (1 - doubted) * fallen


def auto(x0, noise, values, *, radius, budget, max_radius=np.inf, directions=1):
    """The rules at the head of methods/auto.py, pair by pair, with plain numbers."""
    n, d = max(1, budget // (2 * directions) * directions), len(x0)
    most = max(0.3 * np.sqrt(n), 1.5)
    x = mean = np.array(x0)
    delta, three, calm, rough = min(radius, max_radius), [0.0, 0.0, 0.0], 0.0, 0.0
    quiet = 0.0  # calm over all pairs at x
    here = fallen = last = gained = cost = fall = width = wandered = lambdas = 0.0
    bowl, level, seen_branches = _Bowl(), _Level(), Counter()
    at_x, taken, points, iterates = 0, 0, [], [x]
    lines, pairs = np.reshape(noise, (-1, d)), np.reshape(values, (-1, 2))
    for told, (u, h) in enumerate(zip(lines, pairs, strict=True)):
        if told % directions == 0:  # as many pairs are asked here and now
            asked, asked_delta, fell = x, delta, 0.0
            points.append([])
        t, a, m = told + 1, h[0] - h[1], (h[0] + h[1]) / 2
        centre, ends = told in (0, 3) or t % 8 == 0, t % directions == 0
        points[-1] += [asked, asked] if centre else [asked + asked_delta * u, asked - asked_delta * u]
        at_x += centre and told < n
        if told >= n or np.isnan(a):  # where answers were taken back the pair is counted, and nothing else
            iterates += [x] * ends
            continue
        missed, taken = taken < told, taken + 1
        blind = missed and level.since == 0 and quiet == 0
        expected = here - fallen
        off, apart, largest = m - expected, abs(a), np.sqrt(max(*three, calm))
        longer = max(delta / width, 1) ** 4 if width > 0 else 1.0
        bar = largest * (5 if centre else max(400 ** (1 / np.clip(told, 1, 3)), 12, most) * longer)
        wild = told > 0 and 0 < bar < apart and abs(abs(off) - apart / 2) < apart / 4 and not blind
        third = np.sign(off) * (last - expected - gained)
        slip = told == 3 and _slipped(np.sqrt(calm), max(apart, np.sqrt(max(three[1:]))), abs(off), third)
        said = m
        m = _nearer(h, expected) if centre and wild else m
        off = m - expected
        # Where one of the first two answers was wild, all that it said is forgotten.
        three[0] = min((three[1] + three[2]) / 2, three[0]) if slip else three[0]
        cost, delta = (0.0, min(delta, 2 * radius)) if slip else (cost, delta)

        if not centre or t == 1:  # the scale of a
            _feed(three, told, 8 * largest**2 if wild else None, a * a, most, n, missed)
        v = _scale(three, t, missed)
        unit = v if v > 0 else 1.0
        bound = most * np.sqrt(unit)
        clipped = np.clip(a, -bound, bound)

        if centre:  # the noise at x
            seen_branches["anew"] += told == 3 and calm > (20 * clipped) ** 2 and not slip
            calm = _at_x(calm, clipped, max(1 / at_x, min(880 / n, 0.3)), most, told, slip, wild, missed)
            quiet = _at_x(quiet, clipped, 1 / at_x, most, told, slip, wild, missed)
        jump = min(_bounded(2 * (m - last + gained) ** 2, most, rough), most**2 * v)
        rate = max(min(1, 11 / t), min(110 / n, 0.1)) if rough > 0 else 1.0
        alone = missed and width == 0
        rough += (0 if centre or wild or t <= 3 or alone else rate) * (jump - rough)  # the noise around it
        still = v + at_x / (at_x + 0.7) * (min(calm, v) - v) if v > 0 else 1.0
        around = min(rough, v)
        louder = max(around / still, 1) if around > v / 2 else 1.0
        share = still / unit
        delta = min(delta, width) if wild and not centre and width > 0 else delta
        seen_branches["wild"] += wild
        seen_branches["slip"] += slip

        if centre:
            # What is far from all that was known of x is not believed, unless the last trials say it too.
            far, too_far = told > 0 and abs(off) > 20 * np.sqrt(unit), abs(m - last) > 20 * np.sqrt(unit)
            here = expected if far and too_far and not slip and not blind else m
            cost, fallen = 0.0 if far and not too_far else cost, 0.0
            seen_branches["misled"] += far and not too_far
            seen_branches["disbelieved"] += far and too_far and not slip and not blind
        elif not wild:
            back, recent = mean - x, min(1, 4 / t)
            size = np.linalg.norm(back)
            uphill = back @ u / size if size > 0 else 0.0
            above = 0.0 if blind else np.clip(off, -bound, bound)
            seen_branches["blind"] += blind
            cost += recent * (above - cost)
            fall += recent * (d / 2 * clipped * uphill - fall)
            width += recent * (asked_delta - width)
            bowl.see(above, min(asked_delta / radius, 1e6), t, still, around)
            present, seen = delta / width, min(d, t)
            theta = (0.47 * seen * (seen / 10) ** 0.25 + 1.5) * np.sqrt(still / t)
            theta = (theta + 0.9 * max(fall, 0) * present) / louder
            noise_at_x = v + at_x / (at_x + 0.7) * (min(quiet, v) - v) if v > 0 else 1.0
            surely = max(around / noise_at_x / (1 + 3 * np.sqrt(2 / at_x)), 1) if around > v / 2 else 1.0
            theta *= np.exp(1.4 * bowl.bowl) / surely ** (9 * at_x / (at_x + 300))
            excess, tau = cost * present / theta - 1, t / n
            push = 1.4 * min(excess, 3) if excess > 0 else (5.5 + 4 * share) * max(excess, -1)
            push = max(tau**0.45 * push, -2.5 / np.sqrt(min(d / 10, 1)))
            before = delta
            delta = min(delta * np.exp(-push / (t + 1)), 2 * asked_delta, max_radius)
            stride = tau**0.8 / (tau + 0.13) * (d / 10) ** 0.125
            stride *= (1 + 0.75 * (1 - share)) / (1 + 6 * d / n * share)
            beyond = np.sum((x - x0) ** 2)
            evident = max(1 - (1 + np.sqrt(1 / (2 * d))) * wandered / beyond, 0) if beyond > 0 else 1.0
            stride *= 1 - 0.9 * d / (d + 3) / (1 + (16 * d / n) ** 2) * (1 - evident)
            boost = 0.8 + 1 / (1 + (n / (6 * d)) ** 2)
            step = delta / np.sqrt(n) * (1 + boost * np.clip(-excess, 0, 1)) * stride / np.sqrt(unit)
            tail = max(2.5, n / 350) * np.sqrt(unit)
            seen_branches["in the tail"] += abs(clipped) > tail
            x = x - step * np.clip(clipped, -tail, tail) * u
            fell += step * (clipped**2 - max(still, around)) / (2 * asked_delta) if v > 0 else 0.0
            gained, last = 0.0, m  # the next pair of this iteration was asked at the same place
            curved = max(cost - np.sqrt(still / t), 0) / width**2
            stays = (1 - min(4 * step * before * curved / d, 1)) ** 2
            wandered = stays * wandered + (step * clipped) ** 2 * max(still, around) / unit
            lambdas = stays * lambdas + (step**2 if v > 0 else 0.0)
        power = 14 * (1 / 7) ** bowl.bowl
        mean = mean + (power + 1) / (t + power) * (x - mean)

        loudest = max(still, around, v)
        allowed = 2.5 * np.sqrt(loudest)
        value = here if told <= 3 or blind else expected + np.clip(said - expected, -allowed, allowed)
        beyond = np.sum((x - x0) ** 2)
        astray = beyond > 0 and 1 - (1 + np.sqrt(1 / (2 * d))) * wandered / beyond < 0.9
        astray = astray and max_radius == np.inf  # a promised radius promises no jumps
        # The walk begins again.
        measured = min(max(calm, quiet), loudest)
        if centre and level.lost(value, at_x, slip, measured, max(still, quiet), astray):
            x, mean, delta = np.array(x0), np.array(x0), min(delta / 4, radius)
            here, cost, fall, fell, wandered, lambdas = level.first, 0.0, 0.0, 0.0, 0.0, 0.0
            bowl.late[0] = 0.0
            seen_branches["lost"] += 1
        if ends:
            fallen, gained = fallen + fell, gained + fell
            iterates.append(x)
    rise = here - level.first if level.since >= 2 else 0.0
    missed = taken < min(len(pairs), n)
    kappa = _believed(
        mean - x0, n, len(pairs), lambdas, three, calm, rough, at_x, rise, cost, seen_branches, missed
    )
    report = x0 + kappa * (mean - x0)
    # XLA's own powers and exponentials agree with NumPy's to a few units of the last place.
    return Run(np.array(points), np.array(iterates), report, 1e-11, {**seen_branches, "bowl": bowl.bowl})


TRANSCRIPTIONS = {
    "auto": auto,
    "auto-1": auto_1,
    "zo-o2nc-2pt": o2nc(_two_sided, two_point_sphere, warmup=False),
    "zo-o2nc-1pt": o2nc(_one_sided, residual, warmup=True),
    "zo-co": sgd(_two_sided, coordinate),
    "zo-sph": sgd(_two_sided, two_point_sphere),
    "zo-ga": sgd(_two_sided, two_point_gaussian),
    "zo-og": sgd(_one_sided, one_point),
    "zo-sgd": sgd(_two_sided, two_point_sphere, default_output="random-block"),
}
