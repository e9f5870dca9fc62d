"""XLA's options for compiled programs: how hard to optimise, by backend and by the length of the runs."""

from functools import cache
from typing import Any

import jax

# On CPUs LLVM's first level is enough: higher ones unroll these short loops until they are slower, and
# compile four times longer. YNNPACK's sums over a few coordinates take ten times as long as XLA's own.
# On GPUs trying out matrix products costs seconds, and only the rare exact evaluation has one; a loop whose
# body is there twice launches its kernels in half as many passes. From three kernels on, a pass is launched
# as one graph: the default of five leaves out the methods whose whole step is two.
OPTIONS: dict[str, dict[str, Any]] = {
    "cpu": {"xla_backend_optimization_level": 1, "xla_cpu_experimental_ynn_fusion_type": ""},
    "gpu": {
        "xla_gpu_autotune_level": 0,
        "xla_gpu_enable_while_loop_unrolling": "WHILE_LOOP_UNROLLING_DOUBLE_BUFFER",
        "xla_gpu_graph_min_graph_size": 3,
    },
}
# For short runs: see QUICK in `plan`.
QUICKER = {"xla_cpu_use_fusion_emitters": False}


def options(backend: str, quick: bool) -> dict[str, Any]:
    """The compiler's options for a backend that this version knows."""
    return known(OPTIONS.get(backend, {}) | (QUICKER if quick else {}))


def compiled_with(lowered: Any, asked: dict[str, Any]) -> Any:
    """A lowered program, compiled with the options of these that this version knows.

    All are tried first: a look beforehand takes one compilation more, and starts JAX's own client.
    """
    try:
        return lowered.compile(compiler_options=asked)
    except jax.errors.JaxRuntimeError:
        if (fewer := known(asked)) == asked:
            raise
        return lowered.compile(compiler_options=fewer)


def known(asked: dict[str, Any]) -> dict[str, Any]:
    """The options, of these, that this version of XLA has."""
    if _known(tuple(asked.items())):  # together, for each look is a small compilation
        return dict(asked)
    return {name: value for name, value in asked.items() if _known(((name, value),))}


@cache
def _known(asked: tuple[tuple[str, Any], ...]) -> bool:
    try:
        jax.jit(lambda: 0, compiler_options=dict(asked)).lower().compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True
