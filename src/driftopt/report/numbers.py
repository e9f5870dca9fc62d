"""Numbers for people: a real minus sign, few digits, signs for infinity and NaN."""

import math

MINUS = "−"
NOTHING = "–"


def fixed(value: float | None, decimals: int = 4, *, sign: bool = False) -> str:
    """A number with this many decimals; with `sign`, also a plus.

    >>> fixed(-0.5), fixed(0.25, 1, sign=True), fixed(None), fixed(float("inf"))
    ('−0.5000', '+0.2', '–', '∞')
    """
    if (words := _not_finite(value)) is not None or value is None:
        return words or NOTHING
    rounded = round(value, decimals) + 0.0  # no "−0.0"
    return f"{rounded:{'+' if sign else ''}.{decimals}f}".replace("-", MINUS)


def significant(value: float | None, digits: int = 5) -> str:
    """A number with this many significant digits.

    >>> significant(-31.415926), significant(1e-7), significant(float("nan"))
    ('−31.416', '1e−07', '–')
    """
    if (words := _not_finite(value)) is not None or value is None:
        return words or NOTHING
    return f"{value:.{digits}g}".replace("-", MINUS)


def with_spread(mean: float, deviation: float) -> str:
    """mean ± deviation, four decimals each.

    >>> with_spread(-1, 0.25)
    '−1.0000 ± 0.2500'
    """
    return f"{fixed(mean)} ± {fixed(deviation)}"


def chance(p: float) -> str:
    """A p-value.

    >>> chance(0.031), chance(1e-9), chance(float("nan"))
    ('0.0310', '< 0.0001', '–')
    """
    return NOTHING if math.isnan(p) else "< 0.0001" if p < 1e-4 else f"{p:.4f}"


def counted(number: int, noun: str) -> str:
    """A number with its noun in singular or plural; small numbers in words.

    >>> counted(1, "method"), counted(7, "method"), counted(20, "run")
    ('one method', 'seven methods', '20 runs')
    """
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    shown = words[number] if number < len(words) else f"{number:,}"
    return f"{shown} {noun}{'' if number == 1 else 's'}"


def listed(words: list[str]) -> str:
    """Words in a row, the last after "and".

    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _not_finite(value: float | None) -> str | None:
    if value is None or math.isnan(value):
        return NOTHING
    return ("∞" if value > 0 else f"{MINUS}∞") if math.isinf(value) else None
