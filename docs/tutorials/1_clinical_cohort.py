"""
Two groups of patients
======================

569 breast tumours, 30 measurements of each, and a diagnosis. Do malignant and benign tumours differ? In
which measurements? How sure can we be? And does anything differ besides size?

You will learn to run a comparison, read and plot the answer, and adjust for a covariate. The code runs in
under a minute.
"""

# %%
# The data
# --------
#
# The data ship with scikit-learn. A comparison takes either one table with a column of group labels or two
# tables.

import pandas as pd
from sklearn.datasets import load_breast_cancer

import princdiff

tumours = load_breast_cancer(as_frame=True)
table = tumours.data.assign(diagnosis=tumours.target.map({0: "malignant", 1: "benign"}))
table.iloc[:4, [0, 1, 2, 3, -1]]

# %%
# The comparison
# --------------
#
# One call does everything: it finds the direction that separates the groups most, tests whether a difference
# this large could arise by chance, and names the columns that differ with the error rate controlled. We use
# 199 permutations here; the default of 999 allows smaller p-values and takes about five times as long.

result = princdiff.compare(table, groups="diagnosis", n_permutations=199)
print(result)

# %%
# How to read it:
#
# - **p** is the proportion of labellings, counting the real one, under which the groups look at least as
#   different as they really do. With 199 permutations it cannot fall below 0.005. It tells you that there
#   is a difference, not how large it is.
# - **The columns** carry one guarantee for the whole list: the probability that it contains any column that
#   does not differ is at most 5 %.
# - **Pairs** whose correlation changes are differences too, even when each of the two columns has the same
#   distribution in both groups.
# - **The direction** is a weighted sum of the scaled columns. The distance between the groups along it, in
#   standard deviations, is the effect size. Unlike p, it does not depend on the number of rows.
#
# How not to read it: a column that is *not* listed may still differ, and nothing here says what causes what.

# %%
# Plots
# -----
#
# The two groups along the direction. The grey band at the bottom lies between their quantile functions; its
# mean squared width is the quantity that the direction maximises.

result.plot_projection()

# %%
# The columns that differ most, in standard deviations of each column, and how they change:

result.plot_columns(top=10)

# %%
# A single column. Its spread changes as well as its mean; a t-test would see only the mean:

result.plot_feature("worst area")

# %%
# All numbers are available as data frames:

result.to_frame()[["feature", "weight", "share", "effect", "pvalue"]].head(5).round(3)

# %%
# A few measurements instead of many
# ----------------------------------
#
# Thirty columns that all say "larger" are hard to use. Which three together separate the groups best?

few = princdiff.SPARDA(n_features=3, scale="pooled", random_state=0).fit(tumours.data, table["diagnosis"])
weights = pd.Series(few.components_[0], index=tumours.data.columns)
weights[weights != 0].round(2)

# %%
# The choice of columns in a sparse direction carries no error control. It is the best summary with three
# columns, and near-duplicates (radius, perimeter, area) can stand in for each other. To claim that a column
# differs, rely on ``compare``.
#
# What differs besides size?
# --------------------------
#
# Malignant tumours are larger, and most measurements grow with size. ``covariates`` removes the linear effect
# of the mean radius from every column before the groups are compared:

shape = [name for name in tumours.data if not any(word in name for word in ("radius", "perimeter", "area"))]
adjusted = princdiff.compare(
    table[[*shape, "mean radius", "diagnosis"]],
    groups="diagnosis",
    covariates="mean radius",
    n_permutations=199,
)
print(adjusted.summary().split("\n\n")[0])

# %%

adjusted.plot_columns(top=10)

# %%
# After adjusting for the radius, differences remain in contour (concave points, concavity) and texture. The
# bars and means describe the columns as measured; which columns are named is decided after the adjustment.
# The test is approximate with covariates, and nonlinear effects of size are not removed.
#
# Save, share and reuse the result
# --------------------------------
#
# ``result.save("result.json")`` stores a result and ``princdiff.load`` reads it back.
# ``result.to_html("report.html")`` writes a report, a single file that works offline. You can also score new
# patients along the direction:

result.score(table.head(20).drop(columns="diagnosis"))

# %%
# The first twenty rows are mostly malignant tumours, and the score agrees. This is a description, not a
# diagnosis: to predict, train a classifier and evaluate it on held-out rows.

# sphinx_gallery_start_ignore
assert result.pvalue == 1 / 200 and adjusted.pvalue < 0.05
assert "worst area" in result.selected
assert (weights != 0).sum() == 3
assert 0 < len(adjusted.selected) < len(shape) + 1
assert (table["diagnosis"].head(20) == "malignant").mean() > 0.5
# sphinx_gallery_end_ignore
