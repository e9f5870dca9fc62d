# %% [markdown]
# # Tune an instrument
#
# A beam line has four magnets. Each measurement of the brightness is noisy
# and takes a minute. Which currents are best after 150 minutes? We compare
# with Nelder–Mead, which many people reach for first.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy import optimize

import driftopt

best = np.array([0.6, -0.3, 0.2, -0.5])
mix = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]


def brightness(currents):
    off = mix @ (np.asarray(currents) - best)
    return float(np.exp(-(off**2 / [0.3, 0.5, 0.8, 1.2]).sum()))


def instrument(seed):
    """A measurement: the negative brightness, to be minimised."""
    rng = np.random.default_rng(seed)
    seen = []

    def measure(currents):
        seen.append(brightness(currents))
        return -seen[-1] + rng.normal(scale=0.1)

    return measure, seen


# %%
setting = {"x0": np.zeros(4), "bounds": [(-1, 1)] * 4}
measure, ours = instrument(1)
result = driftopt.minimize(measure, **setting, budget=150, rng=1)

measure, theirs = instrument(1)
simplex = np.vstack([np.zeros(4), 0.3 * np.eye(4)])
options = {"maxfev": 150, "initial_simplex": simplex}
options |= {"xatol": 0, "fatol": 0}
other = optimize.minimize(
    measure, **setting, method="Nelder-Mead", options=options
)

print(f"at the start  {brightness(np.zeros(4)):.2f}")
print(f"Nelder-Mead   {brightness(other.x):.2f}")
print(f"driftopt      {brightness(result.x):.2f}, best possible 1.00")

# %%
figure, axis = plt.subplots(figsize=(5, 3.4), constrained_layout=True)
axis.plot(ours, ".", color="#d55e00", label="driftopt")
axis.plot(theirs, "x", color="#0072b2", ms=4, label="Nelder-Mead")
axis.set(xlabel="minute", ylabel="true brightness", ylim=(0, 1.02))
axis.legend(frameon=False)

# %% [markdown]
# A simplex trusts every comparison of two noisy values. driftopt weighs all
# of them.
