"""From what was observed to what a posterior sees, and back.

    u = v, or ln v, or −ln(−v) where all v have one sign and the evidence says that effects multiply
    t = (u − median) / robust deviation;  for losses beyond 1, on the bad side, t → 1 + ln t

Details of bad regions do not matter and are noisy there, so losses are compressed. Outputs of an objective
are not: it needs them as they are.
"""

from dataclasses import dataclass

import numpy as np

ROBUST = 1.4826  # the standard deviation of a normal law over its median absolute deviation


@dataclass(frozen=True)
class Scale:
    """An invertible, rising map of an output."""

    middle: float
    spread: float
    compressed: bool
    sign: float = 0.0  # of all v where logarithms are taken; 0 without
    shift: float = 0.0  # added before logarithms, where counts may be 0

    @classmethod
    def of(cls, v: np.ndarray, *, sign: float = 0.0, compressed: bool = True) -> "Scale":
        """The map that suits some v."""
        shift = 0.5 if sign and (v == 0).any() else 0.0
        u = cls(0.0, 1.0, False, sign, shift)(v)
        if not len(u):
            return cls(0.0, 1.0, compressed, sign, shift)
        middle = float(np.median(u))
        spread = ROBUST * float(np.median(abs(u - middle))) or float(np.std(u)) or abs(middle) or 1.0
        spread = max(spread, 1e-12 * float(abs(u - middle).max()))  # so that no square overflows
        return cls(middle, spread, compressed, sign, shift)

    def __call__(self, v: np.ndarray) -> np.ndarray:
        u = self.sign * np.log(np.maximum(self.sign * v + self.shift, 1e-300)) if self.sign else v
        t = (u - self.middle) / self.spread
        return np.where(t > 1, 1 + np.log(np.maximum(t, 1)), t) if self.compressed else t

    def back(self, t: np.ndarray) -> np.ndarray:
        """The v of some t."""
        t = np.where(t > 1, np.exp(np.minimum(t, 700) - 1), t) if self.compressed else t
        u = self.middle + self.spread * t
        return self.sign * (np.exp(np.minimum(self.sign * u, 700)) - self.shift) if self.sign else u

    def bend(self, v: np.ndarray) -> float:
        """The logarithm of the map's Jacobian, which makes the evidence of two scales comparable."""
        plain = Scale(self.middle, self.spread, False, self.sign, self.shift)(v)
        compression = np.log(np.maximum(plain, 1)).sum() if self.compressed else 0.0
        logarithm = np.log(np.maximum(self.sign * v + self.shift, 1e-300)).sum() if self.sign else 0.0
        return float(-len(v) * np.log(self.spread) - compression - logarithm)


def sign_of(v: np.ndarray, *, counts: bool = False) -> float:
    """The one sign of all v, for which there are logarithms; 0 where there is none. Counts may be 0."""
    if (v > 0).all() or (counts and (v >= 0).all() and (v > 0).any() and (v == np.rint(v)).all()):
        return 1.0
    return -1.0 if (v < 0).all() else 0.0
