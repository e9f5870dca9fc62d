# %% [markdown]
# # For users of Optuna
#
# You know ask and tell from Optuna. Here is the same noisy problem with both.
# The difference is in the result: the best trial, or the decision with the
# best expected value.

# %%
import matplotlib.pyplot as plt
import numpy as np
import optuna

from driftopt import Study

optuna.logging.set_verbosity(optuna.logging.ERROR)
names, goal = ["tea", "coffee", "cake"], np.array([3.0, 4.5, 2.5])


def profit(prices):
    return 100 - 8 * float(((np.asarray(prices) - goal) ** 2).sum())


# %% [markdown]
# Optuna, 60 trials:

# %%
noise = np.random.default_rng(5)
sampler = optuna.samplers.TPESampler(seed=1)
theirs = optuna.create_study(direction="maximize", sampler=sampler)
theirs.enqueue_trial(dict.fromkeys(names, 2.0))
tpe = []
for _ in range(60):
    trial = theirs.ask()
    prices = [trial.suggest_float(name, 1, 6) for name in names]
    tpe.append(profit(prices))
    theirs.tell(trial, tpe[-1] + noise.normal(scale=8))
best = [theirs.best_params[name] for name in names]

# %% [markdown]
# driftopt, 60 trials:

# %%
noise = np.random.default_rng(5)
study = Study.create(
    "sqlite://",
    "prices",
    names=names,
    x0=[2.0, 2.0, 2.0],
    bounds=[(1, 6)] * 3,
    direction="maximize",
    rng=1,
)
ours = []
for _ in range(60):
    trial = study.ask()
    ours.append(profit(trial.x))
    study.tell(trial.id, ours[-1] + noise.normal(scale=8))
found = study.recommend().x

# %%
print("                 mean of the trials   result   best trial claimed")
print(
    f"Optuna TPE       {np.mean(tpe):18.1f}   {profit(best):6.1f}"
    f"   {theirs.best_value:18.1f}"
)
print(f"driftopt         {np.mean(ours):18.1f}   {profit(found):6.1f}")

# %%
figure, axis = plt.subplots(figsize=(5, 3.4), constrained_layout=True)
axis.plot(ours, ".-", color="#d55e00", lw=0.8, label="driftopt")
axis.plot(tpe, "x", color="#0072b2", ms=4, label="Optuna TPE")
axis.axhline(100, color="#222222", ls=":", label="best possible")
axis.set(xlabel="trial", ylabel="true profit of the trial")
axis.legend(frameon=False)

# %% [markdown]
# Optuna explores the whole range, which is right when trials are cheap. On a
# live system, bad trials cost money.
