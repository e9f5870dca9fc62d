# %% [markdown]
# # A website with two kinds of visitors
#
# A website sets the price of a subscription. Visitors on phones accept less
# than visitors on desktops. One study with a context learns both prices, and
# shares what they have in common.

# %%
import matplotlib.pyplot as plt
import numpy as np

from driftopt import Study

visitors = np.random.default_rng(3)
worth = {"phone": 6.0, "desktop": 11.0}


def rate(device, price):
    """The share of visitors who subscribe."""
    return 0.3 / (1 + np.exp(1.2 * (price - worth[device])))


# %% [markdown]
# Every hour one price is in force for one kind of visitors: 2,000 visits. The
# value is the revenue of 1,000 visits.

# %%
study = Study.create(
    "sqlite://",
    "subscription",
    names=["price"],
    x0=[8.0],
    bounds=[(3, 15)],
    grid=0.5,
    direction="maximize",
    contexts={"device": list(worth)},
    rng=1,
)
tried = {device: [] for device in worth}
for hour in range(80):
    device = "phone" if hour % 2 else "desktop"
    trial = study.ask(context={"device": device})
    price = float(trial.x[0])
    buyers = visitors.binomial(2000, rate(device, price))
    study.tell(trial.id, price * buyers / 2)
    tried[device].append(price)

print("price and revenue of 1,000 visits")
for device in worth:
    price = float(study.recommend(context={"device": device}).x[0])
    before, after = (1000 * p * rate(device, p) for p in (8.0, price))
    print(f"{device:<8} {price:4.1f}: {before:5.0f} -> {after:5.0f}")

# %%
figure, axis = plt.subplots(figsize=(5, 3.4), constrained_layout=True)
for device, colour, mark in (
    ("desktop", "#d55e00", "o-"),
    ("phone", "#0072b2", "^-"),
):
    axis.plot(tried[device], mark, color=colour, lw=0.8, label=device)
axis.set(xlabel="hour of this device", ylabel="price tried")
axis.legend(frameon=False)

# %% [markdown]
# Had the two kinds of visitors been alike, they would have shared all
# results. The guide on contexts says more.
