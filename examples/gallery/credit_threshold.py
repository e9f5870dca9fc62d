# %% [markdown]
# # A credit threshold that people react to
#
# A bank approves applicants above a score. Once the threshold is public,
# applicants just below it raise their score, at some cost, without becoming
# safer. A bank that keeps retraining on the data it sees ends up at the wrong
# threshold.

# %%
import matplotlib.pyplot as plt
import numpy as np

import driftopt

people = np.random.default_rng(0)
EFFORT = 0.12  # how far people move their score to pass


def applicants(threshold, count):
    """Scores as the bank sees them, and who would pay back."""
    true = people.beta(2, 2, count)
    pays = people.random(count) < 0.15 + 0.8 * true
    moves = (true < threshold) & (true > threshold - EFFORT)
    return np.where(moves, threshold, true), pays


def losses(score, pays, threshold):
    """Of each applicant: −1 for a good loan, 1.5 for a bad one."""
    return np.where(score >= threshold, np.where(pays, -1.0, 1.5), 0.0)


def deploy(x, count=300):
    score, pays = applicants(x[0], count)
    return losses(score, pays, x[0]).mean()


# %% [markdown]
# Retraining: publish a threshold, collect 3,000 applicants, and take the best
# threshold *on those data*. Repeat.

# %%
grid = np.linspace(0.3, 0.95, 131)
threshold, path = 0.55, [0.55]
for _ in range(12):
    score, pays = applicants(threshold, 3000)
    threshold = min(grid, key=lambda t: losses(score, pays, t).mean())
    path.append(float(threshold))

# %% [markdown]
# driftopt sees the mean loss of 300 applicants for each threshold it tries,
# 60 times.

# %%
result = driftopt.minimize(
    deploy, x0=[0.55], bounds=[(0.3, 0.95)], budget=60, rng=1
)


def profit(threshold):
    return -1000 * deploy([threshold], 400_000)


print("profit of 1,000 applicants")
for name, x in (
    ("start", 0.55),
    ("retraining", path[-1]),
    ("driftopt", result.x[0]),
):
    print(f"{name:<11} threshold {x:.2f}: {profit(x):4.0f}")

# %%
curve = [profit(t) for t in grid[::5]]
figure, axis = plt.subplots(figsize=(5, 3.4), constrained_layout=True)
axis.plot(grid[::5], curve, color="#222222")
for x, mark, colour, name in (
    (path[-1], "s", "#0072b2", "retraining"),
    (result.x[0], "*", "#d55e00", "driftopt"),
):
    axis.plot(x, profit(x), mark, color=colour, ms=15, label=name)
axis.set(xlabel="published threshold", ylabel="profit of 1,000 applicants")
axis.legend(frameon=False)

# %% [markdown]
# Retraining believes the scores it sees. driftopt only compares results of
# thresholds that were in force, so the reaction is part of what it measures.
