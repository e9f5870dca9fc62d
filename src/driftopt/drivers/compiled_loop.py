"""The compiled loop behind `simulate`: thousands of runs side by side, sharded over the local devices.

Lanes are runs: problem instances × seeds × configurations, laid out (…, K, S, C) so that the fastest axis
is the one XLA vectorises. A "row" is one sample at every queried point of every lane; a lane's method gets
its values when the rows of its batch are in. Random numbers belong to (instance, seed) and are shared by all
configurations of a seed: common random numbers, drawn in bulk for many rows. A run alone would draw
the same ones.
"""

import threading
from dataclasses import replace
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.sharding import Mesh, PartitionSpec

from driftopt.drivers.compiler_options import options
from driftopt.drivers.host import farthest
from driftopt.drivers.plan import RunPlan
from driftopt.drivers.traced import plain
from driftopt.method import Method
from driftopt.problem import Problem
from driftopt.rng import lane_keys
from driftopt.rng.seeds import query_key, run_words, wrapped
from driftopt.runtime import executable_cache, fingerprint
from driftopt.shapes import Float

AHEAD = 16  # iterations whose noise is drawn together, where each goes through its rows by itself
EVALUATED = 512  # exact evaluations together: each may need a temporary as large as the problem's data


def program(
    method: Method, problems: Problem, seeds: np.ndarray, start: Any, plan: RunPlan
) -> tuple[Array, Array]:
    """All lanes' runs: x as (d, K, S, C) and the objective along the way as (E, K, S, C).

    C is the plan's: the last configuration is repeated to fill it.
    """

    def fill(leaf: np.ndarray) -> np.ndarray:
        missing = plan.lanes[2] - leaf.shape[-1] if leaf.ndim else 0
        return np.pad(leaf, ((0, 0), (0, missing)), mode="edge") if missing else leaf

    # NumPy's arrays are divided among devices without a program for every shape.
    method, problems, start = jax.tree.map(np.asarray, (method, problems, start))
    arguments = (jax.tree.map(fill, method), problems, run_words(seeds), start)
    return executable_cache.call(partial(compiled, jax.default_backend(), plan.quick), arguments, plan)


def compiled(backend: str, quick: bool = False) -> Any:
    """The jitted program: one object for all threads, because each holds what was compiled through it."""
    with _COMPILING:
        return _compiled(backend, quick)


_COMPILING = threading.Lock()


@cache
def _compiled(backend: str, quick: bool) -> Any:
    lanes = partial(_program)
    # The name tells JAX's cache which version of the code it comes from.
    lanes.__name__ = f"lanes_{fingerprint.digest_of()[:12]}"  # pyright: ignore[reportAttributeAccessIssue]
    return jax.jit(lanes, static_argnames="plan", compiler_options=options(backend, quick))


def _program(method: Method, problems: Problem, keys: Any, start: Any, plan: RunPlan) -> tuple[Array, Array]:
    if plan.split is None:
        return _Lanes(method, problems, keys, start, plan).run()

    def axes(*lane_axes: int) -> PartitionSpec:
        """The layout of an array whose axes are these lane axes (−1: none of them)."""
        return PartitionSpec(*("lanes" if axis == plan.split else None for axis in lane_axes))

    local = list(plan.lanes)
    local[plan.split] //= plan.devices
    own = replace(plan, lanes=tuple(local), split=None)
    layout = (
        jax.tree.map(lambda leaf: axes(0, 2) if jnp.ndim(leaf) else axes(), method),
        jax.tree.map(lambda _: axes(0), problems),
        (axes(0, 1), axes(0, 1)),
        axes(),
    )
    return jax.shard_map(
        lambda method, problems, keys, start: _Lanes(method, problems, keys, start, own).run(),
        mesh=Mesh(np.array(jax.local_devices()[: plan.devices]), ("lanes",)),
        in_specs=layout,
        out_specs=(axes(-1, 0, 1, 2), axes(-1, 0, 1, 2)),
        check_vma=False,
    )(method, problems, keys, start)


def _where(condition: Array, new: Any, old: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)


def _without_rest(length: int, most: int) -> int:
    """The largest divisor of `length` up to `most`, or `most` if that divisor is below an eighth of it.

    A remainder would be evaluated by a second copy of all operations, to be traced and compiled too.

    >>> _without_rest(25, 8), _without_rest(13, 6), _without_rest(100_003, 512)
    (5, 1, 512)
    """
    found = next(some for some in range(min(most, length), 0, -1) if length % some == 0)
    return found if 8 * found >= most else most


class _Lanes:
    """One device's lanes. Numbers of the method are scalars or (K, C); the problems' leaves begin with K.

    `ask`, `observe` and `tell` are the method's and the problem's for all lanes together: states, points and
    values are (…, K, S, C). Noise is (K, S, …) on CPUs, the order in which it is drawn fastest, and
    (…, K, S) on accelerators, where a transposition within the loop takes long to compile; where lanes differ
    in their batch, the method's noise is (…, K, S, C).
    """

    def __init__(self, method: Method, problems: Problem, keys: Any, start: Any, plan: RunPlan):
        self.method, self.problems, self.start, self.plan = method, problems, start, plan
        # Lowered sooner, but XLA for CPUs then fuses more hashes, and compiles up to twice as long.
        self.method_keys, self.oracle_keys = map(wrapped if plan.cpu else lane_keys.wrapped, keys)
        # A lane whose batch differs from its neighbours' is at another iteration, so it needs its own noise.
        self.mixed = jnp.ndim(method.batch) > 0 and not plan.single
        # Accelerators ask the host before each pass of a loop whose length they do not know.
        self.nested = plan.cpu and not plan.single and not self.mixed
        self.ahead = min(AHEAD, plan.chunk)
        self.batch: Any = method.batch[:, None] if self.mixed else method.batch  # pyright: ignore
        self.numbers = jax.tree.map(lambda leaf: -1 if jnp.ndim(leaf) else None, method)
        broadcasts = method.broadcasts and problems.broadcasts
        self.ask, self._observed, self.tell = self._broadcast() if broadcasts else self._vmapped()

    def run(self) -> tuple[Float[Array, "d K S C"], Float[Array, "E K S C"]]:
        plan = self.plan
        state = self._over_lanes(self._begin, "key")(self.method, self.problems, self.method_keys)
        total = jnp.zeros((plan.points, *plan.lanes), jnp.float32)
        # Arrays for the noise of several iterations, which the first of them draws.
        shapes = (jax.eval_shape(self._draw_ahead, jnp.int32(0)),) if self.nested else ()
        ahead = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
        begin = ((state, total, *ahead), self._recommend(state))
        (_, x), curve = lax.scan(self._segment, begin, jnp.arange(plan.segments))
        return x, curve

    def observe(self, answered: Any, points: Float[Array, "p d K S C"]) -> Float[Array, "p K S C"]:
        """The values of a row, in the precision of the run: a problem's own may be whole numbers."""
        values = self._observed(answered, points).astype(jnp.float32)
        return jnp.broadcast_to(values, (self.plan.points, *self.plan.lanes))

    def _segment(self, carry: Any, index: Array) -> tuple[Any, Array]:
        """Run to the next evaluation; each run reports its last decision before it diverged."""
        carry, reported = carry
        first, chunk = index * self.plan.segment, self.plan.chunk
        chunks = self.plan.segment // chunk
        carry = lax.fori_loop(0, chunks, lambda i, c: self._chunk(first + i * chunk, c), carry)
        x = self._recommend(carry[0])
        sound = (jnp.abs(x) <= farthest(jnp.float32)).all(axis=0)  # NaN is not
        values = jnp.where(sound, self._evaluate(x), jnp.inf)
        return (carry, jnp.where(sound, x, reported)), values

    def _chunk(self, first: Array, carry: Any) -> Any:
        """Draw the oracle's noise of several rows, then go through them."""

        def answered(problem: Problem, key: Array, row: Array) -> Any:
            queries = row * self.plan.points + jnp.arange(self.plan.points)
            return jax.vmap(plain(lambda query: problem.noise(query_key(key, query))))(queries)

        def asked(method: Method, _: Problem, key: Array, row: Array) -> Any:
            return method.noise(key, row // method.batch, self.plan.dim)

        def draw_answered(row: Array) -> Any:
            return self._over_keys(answered)(self.problems, self.oracle_keys, row)

        def draw_asked(row: Array) -> Any:
            """The method's noise of a row; where batches differ, each lane may be at another iteration."""
            if self.mixed:
                drawn = self._over_lanes(asked, "key", "all")
                return drawn(self.method, self.problems, self.method_keys, row)
            return self._draw_iteration(row if self.plan.single else row // self.batch)

        rows = first + jnp.arange(self.plan.chunk)
        for_oracle = jax.vmap(draw_answered)(rows)
        if self.nested:
            return self._by_iteration(first, for_oracle, carry)
        for_method = jax.vmap(draw_asked)(rows)
        return lax.scan(lambda c, row: (self._row(c, *row), None), carry, (rows, for_method, for_oracle))[0]

    def _row(self, carry: Any, row: Array, asked: Any, answered: Any) -> Any:
        """A sample at every point, and the tell where the last of a lane's repeats is in."""
        state, total = carry
        paid = row < self.plan.rows  # the last segment may be longer than the budget
        points = self.ask(state, asked)
        if self.plan.cpu:
            # A branch, because XLA would fuse the values with the tell and compute them anew for each
            # coordinate. (Accelerators ask the host which branch to take.)
            unpaid = jnp.zeros_like(total)
            values = lax.cond(paid, self.observe, lambda answered, points: unpaid, answered, points)
        else:
            values = self.observe(answered, points)
        if self.plan.single:
            told = self.tell(state, values, asked)
            # Where every row is paid the guard is for CPUs alone, which take a fifth longer without it.
            guarded = self.plan.cpu or self.plan.rows % self.plan.segment
            return _where(paid, told, state) if guarded else told, total
        total = total + values
        told = (self.tell(state, total / self.batch, asked), jnp.zeros_like(total))
        return _where(((row + 1) % self.batch == 0) & paid, told, (state, total))

    def _by_iteration(self, first: Array, answered: Any, carry: Any) -> Any:
        """The rows of a chunk where all lanes have one batch: ask once, add up the rows, tell once."""
        end = jnp.minimum(first + self.plan.chunk, self.plan.rows)
        batch = jnp.asarray(self.batch, jnp.int32)

        def iteration(loop: Any) -> Any:
            # An iteration may begin in an earlier chunk and end in a later one.
            row, state, total, drawn = loop
            count = lax.div(row, batch)
            place = lax.rem(count, self.ahead)
            used_up = (place == 0) & (row == count * batch)
            # A loop of one pass or none: a branch would copy what it leaves alone. Without its own number in
            # what it does XLA would do that before every iteration, and once more.
            drawn = lax.fori_loop(
                0, used_up.astype(jnp.int32), lambda i, _: self._draw_ahead(count + i), drawn
            )
            asked = jax.tree.map(lambda leaf: leaf[place], drawn)
            points = self.ask(state, asked)
            whole = (count + 1) * batch
            stop = jnp.minimum(whole, end)

            def add(row: Array, total: Array) -> Array:
                return total + self.observe(jax.tree.map(lambda leaf: leaf[row - first], answered), points)

            total = lax.fori_loop(row, stop, add, total)
            told = (self.tell(state, total / self.batch, asked), jnp.zeros_like(total))
            return stop, *_where(stop == whole, told, (state, total)), drawn

        return lax.while_loop(lambda loop: loop[0] < end, iteration, (first, *carry))[1:]

    def _draw_ahead(self, count: Array) -> Any:
        """The method's noise of the iterations from this one on."""
        return jax.vmap(self._draw_iteration)(count + jnp.arange(self.ahead))

    def _draw_iteration(self, count: Array) -> Any:
        """The method's noise of an iteration, the same for all configurations."""
        drawn = self._over_keys(lambda _, key, count: self.method.noise(key, count, self.plan.dim))
        return drawn(self.problems, self.method_keys, count)

    def _broadcast(self) -> tuple[Any, Any, Any]:
        """One call for all lanes: numbers (K, 1, C), leaves of problems (…, K, 1, 1), noise (…, K, S, 1)."""
        method = jax.tree.map(lambda leaf: leaf[:, None] if leaf.ndim else leaf, self.method)
        problems = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, -1)[..., None, None], self.problems)

        def lane_last(leaf: Array) -> Array:
            return jnp.moveaxis(leaf, (0, 1), (-2, -1)) if self.plan.cpu else leaf

        def shared(noise: Any) -> Any:
            return jax.tree.map(lambda leaf: lane_last(leaf)[..., None], noise)

        own = (lambda noise: noise) if self.mixed else shared
        return (
            lambda state, asked: method.ask(state, own(asked)),
            lambda answered, points: jax.vmap(plain(problems.observe))(shared(answered), points),
            lambda state, values, asked: method.tell(state, values, own(asked)),
        )

    def _vmapped(self) -> tuple[Any, Any, Any]:
        """`ask`, `observe` and `tell` written for one lane and mapped."""
        noise = "lane" if self.mixed else "key"

        def ask(method: Method, _: Problem, state: Any, asked: Any) -> Array:
            return method.ask(state, asked)

        def observe(_: Method, problem: Problem, answered: Any, points: Array) -> Array:
            return jax.vmap(plain(problem.observe))(answered, points)

        def tell(method: Method, _: Problem, state: Any, values: Array, asked: Any) -> Any:
            return method.tell(state, values, asked)

        def mapped(fun: Any, *kinds: str) -> Any:
            return partial(self._over_lanes(fun, *kinds), self.method, self.problems)

        return mapped(ask, "lane", noise), mapped(observe, "key", "lane"), mapped(tell, "lane", "lane", noise)

    def _over_keys(self, fun: Any) -> Any:
        """fun(problem, key, row) over (K, S)."""
        fun = plain(fun)
        if self.plan.cpu:
            return jax.vmap(jax.vmap(fun, (None, 0, None)), (0, 0, None))
        return jax.vmap(jax.vmap(fun, (0, -1, None), -1), (None, -1, None), -1)

    def _over_lanes(self, fun: Any, *kinds: str) -> Any:
        """fun(method, problem, …) over (K, S, C), lanes last; each further argument has one of these kinds:

        "lane": its own for every lane · "key": for every (instance, seed) · "all": one for all.
        """
        key = (0, 1, None) if self.plan.cpu else (-1, -1, None)
        axis = {"all": (None, None, None), "key": key, "lane": (-1, -1, -1)}
        instance, seed, configuration = zip(*(axis[kind] for kind in kinds), strict=True)
        fun = jax.vmap(plain(fun), (self.numbers, 0, *instance), -1)
        fun = jax.vmap(fun, (None, None, *seed), -1)
        return jax.vmap(fun, (self.numbers, None, *configuration), -1, axis_size=self.plan.lanes[2])

    def _begin(self, method: Method, problem: Problem, key: Array) -> Any:
        return method.init(key, problem.x0.astype(jnp.float32) if self.start is None else self.start)

    def _recommend(self, state: Any) -> Float[Array, "d K S C"]:
        return self._over_lanes(lambda m, _, s: m.recommend(s), "lane")(self.method, self.problems, state)

    def _evaluate(self, x: Float[Array, "d K S C"]) -> Float[Array, "K S C"]:
        """f at (d, K, S, C), some seeds at a time to bound the memory; a diverged run is infinitely bad."""

        def exact(problem: Problem, x: Array) -> Array:
            value = problem.objective(x)
            return jnp.where(jnp.isfinite(value), value, jnp.inf)

        by_seed = jax.vmap(jax.vmap(plain(exact), (0, -1), -1), (None, -1), -1)
        instances, seeds, configurations = self.plan.lanes
        several = max(1, EVALUATED // (instances * configurations))
        if not self.plan.cpu:
            several = _without_rest(seeds, several)
        values = lax.map(lambda x: by_seed(self.problems, x), jnp.moveaxis(x, 2, 0), batch_size=several)
        return jnp.moveaxis(values, 0, 1)
