"""Exact numbers for the theorems: decimals as fractions, irrational ones to 100 digits."""

from decimal import Context, Decimal
from fractions import Fraction
from math import isfinite, isqrt
from numbers import Real
from typing import Any

from driftopt import checks

_DIGITS = Context(prec=100)
_PI = Decimal(
    "3.1415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170680"
)
_LARGEST = 10**9  # with every constant in [1/_LARGEST, _LARGEST], 100 digits settle every ceiling
ROOT_2PI = Fraction(_DIGITS.sqrt(_DIGITS.multiply(_PI, Decimal(2))))


def exact(name: str, value: Any, zero: bool = False) -> Fraction:
    """The decimal the user wrote, as a fraction; `zero` says whether 0 is allowed."""
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise ValueError(f"{name} must be a number, got {checks.brief(value)}")
    try:
        number = Fraction(str(value)) if isfinite(value) else Fraction(-1)
    except OverflowError:  # a whole number beyond every float
        number = Fraction(-1)
    if not ((zero and number == 0) or Fraction(1, _LARGEST) <= number <= _LARGEST):
        raise ValueError(
            f"{name} must be between 1e-9 and 1e9{', or 0' if zero else ''}; got {checks.brief(value)}"
        )
    return number


def dimension(value: Any) -> int:
    """d, a whole number."""
    number = exact("dim", value)
    if number.denominator != 1:
        raise ValueError(f"dim must be a whole number, got {checks.brief(value)}")
    return int(number)


def root(number: Fraction) -> Fraction:
    """√number: exact where it is rational, else to 100 digits."""
    top, bottom = isqrt(number.numerator), isqrt(number.denominator)
    if top * top == number.numerator and bottom * bottom == number.denominator:
        return Fraction(top, bottom)
    return Fraction(_DIGITS.sqrt(_DIGITS.divide(Decimal(number.numerator), Decimal(number.denominator))))


def table(rows: list[tuple[str, ...]]) -> str:
    """Rows of words as aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
