"""The second compiled loop: methods that see more than values, worlds with memory, batches that grow.

One run is one function from its keys to its curve, written plainly and mapped over all runs: simple rather
than fastest. Seeds, the numbers of queries and the evaluations are those of `compiled_loop`, so a method of
values takes the same path through either loop.
"""

from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from driftopt import checks
from driftopt.answers import Beside
from driftopt.drivers.compiler_options import options
from driftopt.drivers.host import farthest
from driftopt.drivers.plan import QUICK, ObservedPlan, affordable, first_step, numbers_of_a_query
from driftopt.method import Method
from driftopt.oracle import Observed, Sight, WithBeside, mean_over
from driftopt.problem import Problem
from driftopt.rng.seeds import query_key, run_words, wrapped
from driftopt.runtime import executable_cache, fingerprint

WORLD = np.uint32(2**32 - 1)  # the number of the world's own key: no query has it


def needed(method: Method, problem: Problem, settle: int) -> bool:
    """Whether a run needs this loop; a problem that cannot show what the method sees is refused here.

    Raises:
        ValueError: saying what the method sees and what is missing.
    """
    name = type(method).__name__
    if method.sees is Sight.MODEL and problem.model() is None:
        raise ValueError(
            f"{name} sees {method.sees.words}: {type(problem).__name__} has none; define model() on the "
            'problem, or give the method a family of its own (plug-in: model="linear")'
        )
    if method.sees is Sight.SAME_SAMPLE and problem.remembers:
        raise ValueError(
            f"{name} sees {method.sees.words}, which a world with memory cannot show: it has moved on after "
            "the first; choose a method that sees values"
        )
    if method.sees is Sight.BESIDE:
        if problem.remembers:
            raise ValueError(
                f"{name} sees {method.sees.words}, which a world with memory does not tell: "
                "choose a method that sees values"
            )
        dim = jax.eval_shape(lambda p: jax.vmap(lambda q: q.x0)(p), problem).shape[1]

        def first(problems: Problem, key: Array) -> Any:
            one = jax.tree.map(lambda leaf: leaf[0], problems)
            look = _Look(method, one, key, ObservedPlan(dim, method.points(dim), 1, 1, 1, 1))
            return look.first_state(key, one.x0.astype(jnp.float32))

        jax.eval_shape(first, problem, jax.random.key(0))  # the method names what it misses
    values = method.sees in (Sight.VALUES, Sight.MEMORY) and not method.scheduled
    return not values or problem.remembers or settle > 1


def run(
    method: Method,
    problems: Problem,
    seeds: np.ndarray,
    start: Any,
    budget: int,
    evaluate_every: int | None,
    dim: int,
    settle: int,
    width: int,
    times: int,
    code: str,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A trace's arrays: x, its objective, the queries spent, and the last two along the run."""
    numbers = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (len(seeds), width)), method)
    each = [jax.tree.map(lambda leaf, at=at: leaf[at], numbers) for at in np.ndindex(len(seeds), width)]
    checks.budget(budget, settle * max(first_step(one, dim) for one in each))
    most = max(affordable(one, dim, budget // settle).most for one in each)
    every = budget if evaluate_every is None else int(checks.count("evaluate_every", evaluate_every))
    backend = jax.default_backend()
    work = times * budget * seeds.size * width * numbers_of_a_query(problems)
    quick = backend == "cpu" and work < QUICK
    plan = ObservedPlan(dim, method.points(dim), most, budget, min(every, budget), settle, quick, code=code)
    program = partial(_compiled, backend, quick)
    arguments = jax.tree.map(np.asarray, (numbers, problems, run_words(seeds), start))
    x, curve, at = map(np.asarray, executable_cache.call(program, arguments, plan, results=3))
    return x, curve[..., -1], at[..., -1], at, curve


@cache
def _compiled(backend: str, quick: bool) -> Any:
    def lanes(method: Any, problems: Any, keys: Any, start: Any, plan: ObservedPlan) -> Any:
        run = partial(_run, start=start, plan=plan)
        run = _along(run, (0, None, None))  # configurations
        run = _along(run, (None, None, 0))  # seeds
        return _along(run, (0, 0, 0))(method, problems, keys)  # instances

    lanes.__name__ = f"observed_{fingerprint.digest_of()[:12]}"
    return jax.jit(lanes, static_argnames="plan", compiler_options=options(backend, quick))


def _along(run: Any, axes: tuple[int | None, ...]) -> Any:
    """jax.vmap(run, axes); where there is only one lane, the run itself, which compiles in half the time."""

    def lanes(*given: Any) -> Any:
        mapped = [one for one, axis in zip(given, axes, strict=True) if axis == 0]
        if jax.tree.leaves(mapped)[0].shape[0] > 1:
            return jax.vmap(run, axes)(*given)
        only = [
            one if axis is None else jax.tree.map(lambda leaf: leaf[0], one)
            for one, axis in zip(given, axes, strict=True)
        ]
        return jax.tree.map(lambda leaf: leaf[None], run(*only))

    return lanes


def _run(
    method: Method, problem: Problem, keys: Any, start: Any, plan: ObservedPlan
) -> tuple[Array, Array, Array]:
    """One run from its keys: the decision reported, the curve of exact objectives, and its queries."""
    method_key, oracle = map(wrapped, keys)
    look = _Look(method, problem, oracle, plan)
    x0 = problem.x0.astype(jnp.float32) if start is None else start
    state = look.first_state(method_key, x0)
    world = problem.begin(query_key(oracle, WORLD))

    def cost(state: Any) -> Array:
        return (plan.settle * jnp.sum(method.samples(state.told, plan.dim))).astype(jnp.int32)

    def iterate(carry: Any) -> Any:
        state, world, spent = carry
        noise = method.noise(method_key, state.told, plan.dim)
        points = method.ask(state, noise)
        world, seen = look(state.told, points, world, spent)
        return method.tell(state, seen, noise), world, spent + cost(state)

    def segment(carry: Any, limit: Array) -> Any:
        """Run to the next evaluation; each run reports its last decision before it diverged."""
        carry, reported = carry
        carry = lax.while_loop(lambda c: c[2] + cost(c[0]) <= limit, iterate, carry)
        x = method.recommend(carry[0])
        sound = (jnp.abs(x) <= farthest(jnp.float32)).all()  # NaN is not
        value = problem.objective(x)
        value = jnp.where(sound & jnp.isfinite(value), value, jnp.inf)
        return (carry, jnp.where(sound, x, reported)), (value, carry[2])

    limits = jnp.minimum((jnp.arange(plan.segments) + 1) * plan.every, plan.budget)
    begin = ((state, world, jnp.zeros((), jnp.int32)), method.recommend(state))
    (_, x), (curve, at) = lax.scan(segment, begin, limits)
    return x, curve, at


class _Look:
    """An iteration's queries: their effect on the world, and the observations that the method gets."""

    def __init__(self, method: Method, problem: Problem, oracle: Array, plan: ObservedPlan):
        self.method, self.problem, self.oracle, self.plan = method, problem, oracle, plan

    def __call__(self, count: Array, points: Array, world: Any, spent: Array) -> tuple[Any, Any]:
        samples = jnp.asarray(self.method.samples(count, self.plan.dim))
        taken = jnp.arange(self.plan.most)[None, :] < samples[:, None]
        numbers = spent + self.plan.settle * self._places(count, samples)
        if self.problem.remembers:
            world, xi = self._one_after_the_other(world, numbers, points, taken)
        else:
            # The values of a world without memory are independent: of the deployments of a decision only the
            # last is computed, and the others are paid for.
            noise = self._noise(numbers + self.plan.settle - 1)
            if not self.method.sees.observes:
                each = _each(self.problem.observe, (0, None))(noise, points)
                if self.method.sees is Sight.BESIDE:
                    return world, WithBeside(each.T.astype(jnp.float32), taken.T, self._beside(noise, points))
                return world, _means(taken, each)
            xi = _each(self.problem.respond, (0, None))(noise, points)
        values = _means(taken, _each(self.problem.value, (None, 0))(points, xi))
        return world, self._observed(values, points, xi, taken) if self.method.sees.observes else values

    def _beside(self, noise: Any, points: Array) -> Beside:
        """The side information of each sample; each number is (m, p)."""

        def turned(number: Array) -> Array:
            return number.T.astype(jnp.float32)

        told = jax.tree.map(turned, _each(self.problem.beside, (0, None))(noise, points))
        known = _each(self.problem.covariates, (0,))(noise)
        if known is None:
            return told
        names = self.problem.covariate_names
        return told._replace(covariates={name: turned(known[..., i]) for i, name in enumerate(names)})

    def first_state(self, key: Array, x0: Array) -> Any:
        """The method's state before the first query, with arrays for its observations."""
        if self.method.sees is Sight.BESIDE:
            points = jnp.zeros((self.plan.points, self.plan.dim), jnp.float32)
            taken = jnp.ones((self.plan.most, self.plan.points), bool)
            noise = self._noise(jnp.zeros(taken.T.shape, jnp.int32))
            like = WithBeside(taken.astype(jnp.float32), taken, self._beside(noise, points))
            return self.method.init(key, x0, like)  # pyright: ignore[reportCallIssue]
        if not self.method.sees.observes:
            return self.method.init(key, x0)
        points = jnp.zeros((self.plan.points, self.plan.dim), jnp.float32)
        taken = jnp.zeros((self.plan.points, self.plan.most), bool)
        one = jax.eval_shape(self.problem.draw, query_key(self.oracle, 0), x0)
        xi = jax.tree.map(lambda leaf: jnp.zeros(taken.shape + leaf.shape, leaf.dtype), one)
        return self.method.init(key, x0, self._observed(points[:, 0], points, xi, taken))  # pyright: ignore[reportCallIssue]

    def _observed(self, values: Array, points: Array, xi: Any, taken: Array) -> Observed:
        value = self.problem.value
        return Observed(values, points, xi, taken, value, jax.grad(value), self.problem.model())

    def _places(self, count: Array, samples: Array) -> Array:
        """(p, m): the place of every sample among those of its iteration.

        Every point once, m times over, as in `query_key`; where points differ in their samples, one point's
        samples after the other's.
        """
        streams = jnp.asarray(self.method.streams(count, self.plan.dim))
        repeat = jnp.arange(self.plan.most)
        if self.method.scheduled:
            return (jnp.cumsum(samples) - samples)[streams][:, None] + repeat
        return streams[:, None] + repeat * self.plan.points

    def _noise(self, numbers: Array) -> Any:
        return _each(lambda number: self.problem.noise(query_key(self.oracle, number)), (0,))(numbers)

    def _one_after_the_other(
        self, world: Any, numbers: Array, points: Array, taken: Array
    ) -> tuple[Any, Any]:
        """Deploy in the order of the numbers.

        Each point held for `settle` deployments, the last one is seen.
        """

        def deploy(world: Any, order: Array) -> tuple[Any, Any]:
            number, there, x = numbers.ravel()[order], taken.ravel()[order], points[order // self.plan.most]

            def once(later: Array, carry: Any) -> Any:
                noise = self.problem.noise(query_key(self.oracle, number + later))
                return self.problem.advance(carry[0], noise, x)

            first = self.problem.advance(world, self.problem.noise(query_key(self.oracle, number)), x)
            after, xi = lax.fori_loop(1, self.plan.settle, once, first)
            return jax.tree.map(lambda new, old: jnp.where(there, new, old), after, world), xi

        order = jnp.argsort(jnp.where(taken, numbers, jnp.iinfo(jnp.int32).max).ravel())
        world, xi = lax.scan(deploy, world, order)
        back = jnp.argsort(order)
        return world, jax.tree.map(lambda leaf: leaf[back].reshape(*taken.shape, *leaf.shape[1:]), xi)


def _each(fun: Any, inner: tuple[int | None, ...]) -> Any:
    """fun over all points and, where `inner` has a 0, over all samples of a point."""
    return jax.vmap(jax.vmap(fun, inner))


def _means(taken: Array, values: Array) -> Array:
    """(p,) the mean value at each point, in the precision of the run: a problem's may be whole numbers."""
    return jax.vmap(mean_over)(taken, values.astype(jnp.float32))
