"""The kind of device that programs are made for: they differ in what is quick there."""

import jax

_other: str | None = None


def kind() -> str:
    """JAX's default backend (cpu, gpu, …), or another that this process only writes programs down for."""
    return _other or jax.default_backend()


def make_for(other: str) -> None:
    """Write programs down for this kind from now on; none of them can run here."""
    global _other
    _other = other
