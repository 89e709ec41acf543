"""
Several groups, several directions
==================================

Wines from three cultivars and thirteen chemical measurements: which wines differ, in what, and do you need
one direction or two to separate them? Then handwritten digits: which pixels distinguish an 8 from a 3?

You will learn to compare more than two groups, use several directions, compare groups pairwise with adjusted
p-values, and plot the weights of a direction.
"""

# %%
# Three groups at once
# --------------------

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits, load_wine

import princdiff

wine = load_wine(as_frame=True)
table = wine.data.assign(cultivar=wine.target.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"}))
result = princdiff.compare(table, groups="cultivar", n_components=2, n_permutations=99)
print(result.summary().split("\n\n")[0])

# %%
# With several groups the divergence is an average over all pairs. The second direction is the best one
# orthogonal to the first. Which groups does each direction separate? Here are the divergences between each
# pair of groups along the first direction, and then along the second:

result.separation_frame(0).round(2)

# %%

result.separation_frame(1).round(2)

# %%
# You need both: the first direction separates Barbera from Barolo, the second separates Grignolino from the
# other two. The wines in the plane of both directions:

plane = princdiff.PDA(n_components=2, scale="pooled", random_state=0)
points = plane.fit_transform(wine.data, table["cultivar"])
figure, ax = plt.subplots(figsize=(6, 4.5))
for name, rows in table.reset_index(drop=True).groupby("cultivar"):
    ax.scatter(*points[rows.index].T, s=14, label=name)
ax.set(xlabel="first direction", ylabel="second direction")
ax.legend(frameon=False)

# %%
# The leading weights of both directions:

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
result.plot_weights(component=0, top=8, ax=axes[0])
result.plot_weights(component=1, top=8, ax=axes[1])

# %%
# How not to read it: p-values of the second and later directions are descriptive, because the first was found
# with the same labels. And the sign of a direction is arbitrary.
#
# Pairwise comparisons
# --------------------
#
# ``compare_groups`` compares every pair of groups and adjusts the p-values for the number of pairs (Holm):

pairs = princdiff.compare_groups(table, groups="cultivar", n_permutations=99)
pairs

# %%
# In which columns? Sizes are in standard deviations, on the same scale for every pair. A star marks a column
# that differs with the error rate controlled:

pairs.plot_columns(top=8)

# %%
# ``pairs.to_html("groups.html")`` writes everything to one page. ``pairs.results["Barbera", "Barolo"]`` is
# the result of a single comparison, as ``compare`` would return it.
#
# Pixels
# ------
#
# Images of 8 x 8 pixels have 64 columns. Take the digits 3 and 8. A sparse direction picks the pixels that
# matter most, and you can show its weights as an image:

digits = load_digits()
chosen = np.isin(digits.target, [3, 8])
X, y = digits.data[chosen], digits.target[chosen]
fit = princdiff.SPARDA(n_features=8, scale=None, random_state=0).fit(X, y)

figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
for ax, image, title in zip(
    axes,
    [X[y == 3].mean(axis=0), X[y == 8].mean(axis=0), fit.components_[0]],
    ["average 3", "average 8", "eight pixels that differ"],
    strict=True,
):
    limit = np.abs(image).max()
    colours = {"cmap": "gray_r"} if "average" in title else {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}
    ax.imshow(image.reshape(8, 8), **colours)
    ax.set_title(title)
    ax.set_axis_off()

# %%
# Red pixels are darker in an 8, whose left side is closed where a 3 is open. Blue pixels are darker in a 3,
# whose lower curve reaches further to the right. The digits along this direction:

values = fit.transform(X)[:, 0]
figure, ax = plt.subplots(figsize=(6, 3))
ax.hist([values[y == 3], values[y == 8]], bins=30, label=["3", "8"], histtype="stepfilled", alpha=0.6)
ax.set_xlabel("weighted sum of eight pixels")
ax.legend(frameon=False)

# %%
# A direction is chosen to separate *distributions*, not to classify rows. Here one serves the other. Where
# groups differ only in spread, a threshold on the projection classifies poorly, and a classifier would do
# better.

# sphinx_gallery_start_ignore
assert result.pvalue == 0.01
first, second = result.separation_frame(0), result.separation_frame(1)
assert first.loc["Barbera", "Barolo"] == first.to_numpy().max()
assert second.loc["Grignolino", ["Barolo", "Barbera"]].min() > second.loc["Barbera", "Barolo"]
assert (pairs.table["adjusted"] <= 0.05).all()
pixels = np.flatnonzero(fit.components_[0])
assert len(pixels) == 8 and np.mean(pixels % 8 < 4) >= 0.75, pixels % 8
assert pd.Series(values).groupby(y).median().diff().abs().iloc[-1] > 1
# sphinx_gallery_end_ignore
