"""All that a session knows, for comparison with another one."""

from typing import Any

import jax
import numpy as np


def plain(thing: Any) -> Any:
    """Anything that a session holds, in lists, tuples, numbers and texts."""
    if isinstance(thing, dict):
        return [(plain(key), plain(value)) for key, value in thing.items()]
    if isinstance(thing, list | tuple):
        return [plain(one) for one in thing]
    if isinstance(thing, set | frozenset):
        return sorted(thing)
    if isinstance(thing, np.ndarray | np.generic):
        return thing.dtype.str, thing.shape, thing.tobytes()
    if isinstance(thing, jax.Array):
        keys = jax.numpy.issubdtype(thing.dtype, jax.dtypes.prng_key)
        return plain(np.asarray(jax.random.key_data(thing) if keys else thing))
    if hasattr(thing, "__dict__"):
        return plain(vars(thing))
    return thing


def of_progress(progress: Any) -> Any:
    """What the log tells, by any way in which it was read."""
    unlike = ("_spec", "_hard", "restarts")
    return plain({name: value for name, value in vars(progress).items() if name not in unlike})


def known(session: Any) -> Any:
    """What the log tells, the method's state after it, and what would be asked and recommended."""
    state = session.state()
    draw = 0 if session.progress.open is None else session.progress.open.draw + 1
    points = [state.recommendation(), state.decisions(draw)]
    return of_progress(session.progress), plain(jax.tree.leaves(state.state)), state.told, plain(points)
