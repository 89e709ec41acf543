"""
Two groups of patients
======================

569 tumours, 30 measurements of each, a diagnosis. Do malignant and benign tumours differ, in which
measurements, and how sure is that? And does anything differ that is not just size?

You will learn to run a comparison, to read its answer, to draw it, and to ask the same question with
something held fixed. It takes a minute.
"""

# %%
# The data
# --------
#
# They come with scikit-learn. A comparison takes one table with a column that tells the groups, or two
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
# One call does everything: it finds the direction on which the groups are furthest apart, tests whether
# that could be chance, and names the columns that differ, with control of the error. We ask for 199
# relabellings; the default of 999 allows smaller p-values and takes five times as long.

result = princdiff.compare(table, groups="diagnosis", n_permutations=199)
print(result)

# %%
# How to read it:
#
# - **p** is the share of relabellings, the real labelling included, that look as different as the real one.
#   With 199 of them it cannot be below 0.005. It says that there is a difference, not how large it is.
# - **The columns** are named under one guarantee for the whole list: the chance that it holds any column
#   that does not differ is at most 5 %. "alone" means that the column's own distribution differs.
# - **Pairs** that go together differently are differences too, even where each of the two columns looks the
#   same in both groups.
# - **The direction** is a weighted sum of the scaled columns. Its size, in standard deviations, is the
#   effect: how far apart the groups are, however many rows there are.
#
# How not to read it: that a column is *not* listed does not show that it is equal in both groups; and
# nothing here says what causes what.

# %%
# Pictures
# --------
#
# The groups along the direction. The grey band at the foot lies between the quantiles of the two groups:
# its mean squared width is what was made as large as possible.

result.plot_projection()

# %%
# The columns that differ most, in their own standard deviations, and from what to what:

result.plot_columns(top=10)

# %%
# One column. The spread changes as well as the mean; a t-test would see only the second:

result.plot_feature("worst area")

# %%
# Everything as numbers is in data frames:

result.to_frame()[["feature", "weight", "share", "effect", "pvalue"]].head(5).round(3)

# %%
# Few measurements instead of many
# --------------------------------
#
# Thirty columns that all say "larger" are hard to use. Which three together tell the groups apart best?

few = princdiff.SPARDA(n_features=3, scale="pooled", random_state=0).fit(tumours.data, table["diagnosis"])
weights = pd.Series(few.components_[0], index=tumours.data.columns)
weights[weights != 0].round(2)

# %%
# The support of a sparse direction carries no error control: it is the best summary with three columns, and
# near duplicates (radius, perimeter, area) can replace each other. Names to rely on are those of
# ``compare``.
#
# What differs besides size?
# --------------------------
#
# Malignant tumours are larger, and most columns grow with size. ``covariates`` takes the linear effect of
# the mean radius out of every column before the groups are compared:

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
# Differences remain at equal radius: contour (concave points, concavity) and texture. The bars and means
# are those of the columns as they were measured; which columns are named is decided at equal radius. The
# test is then approximate (Freedman and Lane's), and effects of size that are not straight lines stay in.
#
# Keep it, share it, use it
# -------------------------
#
# A result can be saved as JSON and loaded again; a report is one HTML file that works without a network
# (``result.to_html("report.html")``). And new patients can be placed on the direction:

result.score(table.head(20).drop(columns="diagnosis"))

# %%
# The first twenty rows of the table are mostly malignant, and the table says so. This is a description, not
# a diagnosis: to predict, train a classifier and hold rows out.

# sphinx_gallery_start_ignore
assert result.pvalue == 1 / 200 and adjusted.pvalue < 0.05
assert "worst area" in result.selected
assert (weights != 0).sum() == 3
assert 0 < len(adjusted.selected) < len(shape) + 1
assert (table["diagnosis"].head(20) == "malignant").mean() > 0.5
# sphinx_gallery_end_ignore
