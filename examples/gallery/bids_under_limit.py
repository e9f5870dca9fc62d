# %% [markdown]
# # Bids under a limit on complaints
#
# An online shop bids for clicks in search and on social media. Higher bids
# bring profit at first, and complaints about too many ads. The team accepts
# 20 complaints a day on average, not more.

# %%
import matplotlib.pyplot as plt
import numpy as np

from driftopt import Study

rng = np.random.default_rng(4)
LIMIT = 20.0


def day(bids):
    """Mean profit and mean complaints of a day."""
    search, social = bids
    clicks = 300 * (1 - np.exp(-search)) + 250 * (1 - np.exp(-0.7 * social))
    profit = 1.6 * clicks - 60 * search - 45 * social
    complaints = 4 + 4 * search + 9 * social
    return profit, complaints


# %% [markdown]
# Each day reports the profit as the value, and the complaints as a metric
# with a limit.

# %%
study = Study.create(
    "sqlite://",
    "bids",
    names=["search", "social"],
    x0=[0.5, 0.5],
    bounds=[(0.1, 4), (0.1, 4)],
    direction="maximize",
    limits={"complaints": {"max": LIMIT}},
    rng=1,
)
days = []
for _ in range(50):
    trial = study.ask()
    profit, complaints = day(trial.x)
    days.append((*trial.x, complaints))
    seen = {"complaints": float(rng.poisson(complaints))}
    study.tell(trial.id, profit + rng.normal(scale=20), metrics=seen)

found = study.recommend()
before, after = day(study.spec.x0), day(found.x)
print(f"bids       {np.round(found.x, 2)}")
print(f"profit     {before[0]:.0f} -> {after[0]:.0f}")
print(f"complaints {before[1]:.1f} -> {after[1]:.1f}, limit {LIMIT:.0f}")

# %%
days = np.array(days)
over = days[:, 2] > LIMIT
grid = np.linspace(0.1, 4, 60)
figure, axis = plt.subplots(figsize=(5, 3.4), constrained_layout=True)
profits = [[day((a, b))[0] for a in grid] for b in grid]
axis.contour(grid, grid, profits, levels=12, colors="#8f8f8f", linewidths=0.7)
axis.plot(grid, (LIMIT - 4 - 4 * grid) / 9, color="#0072b2", label="limit")
axis.plot(*days[~over, :2].T, ".", color="#222222", label="days")
axis.plot(*days[over, :2].T, "x", color="#222222", label="days above")
axis.plot(*found.x, "*", color="#d55e00", ms=16, label="recommended")
axis.set(xlabel="search bid", ylabel="social bid", ylim=(0.1, 4))
axis.legend(frameon=False, loc="upper right")

# %% [markdown]
# driftopt learns two models, and tries only bids that probably keep the
# limit.
