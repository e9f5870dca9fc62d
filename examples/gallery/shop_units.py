# %% [markdown]
# # A shop that counts units
#
# A shop sells four products and changes prices every day. It knows what it
# sold of each. Does it help to report units instead of the day's profit? We
# run the same 20 days both ways.

# %%
import matplotlib.pyplot as plt
import numpy as np

from driftopt import Study

cost = np.array([1.0, 2.0, 0.8, 3.0])
today = np.array([2.0, 4.0, 1.5, 5.0])


def expected(prices):
    """Units sold a day, on average; dearer tea sells more coffee."""
    weights = np.exp(2.2 * np.log(today / prices) + [0.9, 1.2, 0.3, 1.0])
    return 400 * weights / (6 + weights.sum())


def profit(prices):
    return float((prices - cost) @ expected(prices))


# %% [markdown]
# One run asks for prices, draws what people buy, and reports either the
# profit or the units. The margin is known, so driftopt computes the profit
# from units itself.


# %%
def run(units, days=20):
    people = np.random.default_rng(7)
    names = ["tea", "coffee", "cake", "lunch"]
    margin = {"outputs": names, "objective": {"margin": {"cost": cost}}}
    study = Study.create(
        "sqlite://",
        "shop",
        x0=today,
        names=names,
        bounds=[(1.1 * c, 2.5 * p) for c, p in zip(cost, today, strict=True)],
        direction="maximize",
        rng=1,
        **(margin if units else {}),
    )
    earned = []
    for _ in range(days):
        trial = study.ask()
        sold = people.poisson(expected(trial.x))
        earned.append(profit(trial.x))
        if units:
            outputs = dict(zip(names, sold, strict=True))
            study.tell(trial.id, outputs=outputs)
        else:
            study.tell(trial.id, float((trial.x - cost) @ sold))
    return study.recommend().x, earned


by_profit, profit_days = run(units=False)
by_units, units_days = run(units=True)
print("profit of a day    meanwhile   at the end")
print(f"today's prices     {profit(today):9.0f}   {profit(today):10.0f}")
for name, days, prices in (
    ("reporting profits", profit_days, by_profit),
    ("reporting units", units_days, by_units),
):
    print(f"{name:<18} {np.mean(days):9.0f}   {profit(prices):10.0f}")

# %%
figure, axis = plt.subplots(figsize=(5, 3.4), constrained_layout=True)
axis.plot(units_days, color="#d55e00", lw=3, label="units reported")
axis.plot(
    profit_days, color="#0072b2", lw=1.5, ls="--", label="profit reported"
)
axis.axhline(profit(today), color="#222222", ls=":", label="today's prices")
axis.set(xlabel="day", ylabel="expected profit of the day")
axis.legend(frameon=False)

# %% [markdown]
# Units say more than their sum: four curves instead of one number. The guide
# on units has the details.
