"""A function as plain operations: the same numbers, and nothing in it that a map would write down again."""

import jax
import jax.numpy as jnp
import numpy as np

from driftopt.drivers.traced import plain


@jax.custom_jvp
def doubled(x):
    return 2 * x


doubled.defjvp(lambda primals, tangents: (doubled(*primals), 2 * tangents[0]))


def everything(state, x):
    """Jitted functions, loops, branches, a derivative rule, what is closed over, and nested results."""
    scale = jnp.where(x > 0, jnp.clip(x, 0, 3), state["low"])
    total, _ = jax.lax.scan(
        lambda t, one: (t + jnp.sum(one * scale), one), 0.0, jnp.arange(6.0).reshape(2, 3)
    )
    chosen = jax.lax.cond(total > 1, lambda t: jnp.sqrt(t), lambda t: -t, total)
    return {"sum": (total, jax.jit(lambda a: jnp.logaddexp(a, 1.0))(chosen)), "twice": doubled(scale)}, 7


def test_the_same_results_mapped_or_not():
    state, x = {"low": jnp.float32(-1.5)}, jnp.array([[1.0, -2.0, 5.0], [0.5, 0.1, -9.0]])
    for one in (lambda f: f, jax.jit, lambda f: jax.vmap(f, (None, 0)), jax.vmap):
        given = ({"low": jnp.array([-1.5, 2.0])}, x) if one is jax.vmap else (state, x)
        ours, theirs = one(plain(everything))(*given), one(everything)(*given)
        assert jax.tree.structure(ours) == jax.tree.structure(theirs)
        for mine, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
            np.testing.assert_array_equal(mine, other)
            assert jnp.asarray(mine).dtype == jnp.asarray(other).dtype
