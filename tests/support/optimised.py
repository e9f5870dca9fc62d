"""`jax.jit` for statistics over many samples, which compute longer than they compile."""

from functools import partial

import jax

optimised = partial(jax.jit, compiler_options={"xla_backend_optimization_level": 1})
