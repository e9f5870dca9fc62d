"""The shapes of arrays as types, for readers of the code, for pyright, and for a test that checks them.

| letter | meaning |
|---|---|
| d | coordinates of a decision |
| n | directions of one gradient estimate |
| p | points of one query |
| *lanes | runs side by side: none on the host, (K, S, C) in the compiled loop; # allows 1 for any of them |

At run time they are all `jax.Array`, and nothing is checked or loaded. With DRIFTOPT_CHECK_SHAPES set they
are jaxtyping's types, and a test checks every call against them.
"""

import os
from typing import TYPE_CHECKING, Any

from jax import Array

if TYPE_CHECKING or os.environ.get("DRIFTOPT_CHECK_SHAPES"):
    from jaxtyping import Float, Real
else:

    class Float:
        """An array of floating-point numbers: `Float[Array, "p d"]`."""

        def __class_getitem__(cls, _: Any) -> type[Array]:
            return Array

    Real = Float

Decision = Float[Array, "d *#lanes"]
Points = Float[Array, "p d *#lanes"]
Values = Float[Array, "p *#lanes"]
Directions = Float[Array, "n d *#lanes"]
Slopes = Float[Array, "n *#lanes"]
Number = Real[Array, "*#lanes"]
