"""All that driftopt uses of JAX without a public name; where a version has it otherwise, plain ways serve."""

import sys
from collections.abc import Callable
from typing import Any

_own_client = False  # whether `synchronous_cpu` has started one, which JAX's list of backends does not have


def backends_started() -> bool:
    """Whether JAX has started its threads in this process; True for a loaded JAX that does not say."""
    if _own_client or "jax" not in sys.modules:
        return _own_client
    started = getattr(sys.modules.get("jax._src.xla_bridge"), "backends_are_initialized", None)
    return started is None or started()


def synchronous_cpu() -> Any:
    """A CPU device that runs what it is given immediately, in the calling thread; else JAX's own CPU.

    JAX's own hands every program of more than 1,000 operations to another thread.
    """
    global _own_client
    try:
        from jaxlib import xla_client

        device = xla_client.make_cpu_client(asynchronous=False).local_devices()[0]
    except (ImportError, AttributeError, TypeError, RuntimeError):
        import jax

        return jax.local_devices(backend="cpu")[0]
    _own_client = True
    return device


def straight_call(program: Any, count: int) -> Callable[..., Any] | None:
    """The function that JAX calls in the end for a compiled program of `count` arrays that gives one array.

    None if JAX has something to do before or after it. A version that has it otherwise raises an
    AttributeError, LookupError, TypeError or ValueError.
    """
    import jax

    launch = program._executable.unsafe_call
    effects = launch.ordered_effects or launch.has_unordered_effects or launch.has_host_callbacks
    whole = len(launch.kept_var_idx) == count and not launch.mut and not program._params.const_args
    watched = jax.config.jax_debug_nans or jax.config.jax_debug_infs  # pyright: ignore[reportAttributeAccessIssue]
    if effects or watched or not whole:
        return None
    execute, (handler,) = launch.xla_executable.execute_sharded, launch.out_handler.handlers
    handlers = [handler]

    def straight(*arguments: Any, held: Any = program) -> Any:  # as long as this may be called
        return execute(arguments).consume_with_handlers(handlers)[0]

    return straight
