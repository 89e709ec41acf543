"""
A drift check in CI
===================

A model was trained on one month of orders. Each month a job checks whether new orders still look the same,
and fails if they do not. The table mixes numbers, categories, yes/no columns and missing values. One of the
changes is invisible to any check that looks at one column at a time.

You will learn to compare two tables, turn the answer into an exit code, choose the two thresholds of the
rule, and find out what changed.
"""

# %%
# Three months of orders
# ----------------------
#
# The model was trained on January. February is no different. In March the delivery service changed:
# expensive orders used to arrive sooner and now arrive later, although the distributions of prices and of
# delivery times stay the same. Card payments also became more frequent.

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import princdiff

rng = np.random.default_rng(1)


def month(n_orders=600, slope=-0.6, cards=0.45):
    price = rng.normal(size=n_orders)
    delay = slope * price + np.sqrt(1 - slope**2) * rng.normal(size=n_orders)
    others = (1 - cards) / 2
    return pd.DataFrame(
        {
            "price": np.exp(3.2 + 0.5 * price).round(2),
            "delivery_days": (4 + 1.2 * delay).round(1),
            "age": rng.normal(41, 12, n_orders).round(),
            "payment": rng.choice(["card", "invoice", "transfer"], n_orders, p=[cards, others, others]),
            "country": rng.choice(["AT", "CH", "DE", "FR"], n_orders, p=[0.2, 0.3, 0.4, 0.1]),
            "returned": rng.random(n_orders) < 0.08,
            "discount": np.where(rng.random(n_orders) < 0.3, np.nan, rng.gamma(2.0, 3.0, n_orders).round(1)),
        }
    )


january, february = month(), month()
march = month(slope=0.6, cards=0.58)
january.head(3)

# %%
# Compare
# -------
#
# Pass two tables. Columns are matched by name, and categories are compared by the shares of their levels.
# With ``missing="impute"`` missing values are filled in, and where they are missing is compared as well.

alike = princdiff.compare(january, february, missing="impute", n_permutations=199)
print(alike.summary().split("\n\n")[0])

# %%
# Data frames have no names, so the groups are called X and Y. With one table and a column of labels, the
# answer uses the labels:

both = pd.concat([january.assign(month="january"), march.assign(month="march")])
changed = princdiff.compare(both, groups="month", missing="impute", n_permutations=199)
print(changed)

# %%
# The payment method differs "alone": its own distribution changed. Price and delivery time differ only
# "together": each looks as before, but their correlation changed, and the pair is named.

# sphinx_gallery_start_ignore
assert alike.pvalue > 0.01, alike.pvalue
assert changed.pvalue == 1 / 200, changed.pvalue
assert "payment" in changed.selected_columns
assert {"price", "delivery_days"} <= set(changed.relations.iloc[0][["first", "second"]])
# sphinx_gallery_end_ignore

changed.plot_relations(top=3)

# %%

changed.plot_feature("payment")

# %%
# The check
# ---------
#
# A p-value alone makes a poor check: with enough rows any difference is significant, and the job would fail
# every month. So the rule has two parts: the difference is statistically significant **and** large enough to
# matter. In a shell:
#
# .. code-block:: sh
#
#    princdiff compare january.csv february.csv --missing impute \
#        --fail-below 0.01 --min-effect 0.2 --quiet
#    echo $?
#
# This page calls the same command from Python, with fewer permutations:

folder = Path(tempfile.mkdtemp())
january.to_csv(folder / "january.csv", index=False)
february.to_csv(folder / "february.csv", index=False)
march.to_csv(folder / "march.csv", index=False)

from princdiff.cli import main  # what the command `princdiff` calls

limits = ["--fail-below", "0.01", "--min-effect", "0.2"]
rule = ["--missing", "impute", "--n-permutations", "199", *limits, "--quiet"]
code = main(["compare", str(folder / "january.csv"), str(folder / "february.csv"), *rule])
print("exit code:", code)

# %%

code = main(["compare", str(folder / "january.csv"), str(folder / "march.csv"), *rule])
print("exit code:", code)

# %%
# 0 means that the check passed, 1 that the groups differ by the rule, and 2 that something is wrong with the
# job itself, such as a missing file. Treat 1 and 2 differently.
#
# Choosing the thresholds
# -----------------------
#
# ``--fail-below`` is the false alarm rate while nothing changes: one run in a hundred at 0.01. It needs
# ``--n-permutations`` of at least 100; a rule that no outcome could meet is refused.
#
# ``--min-effect`` is measured in standard deviations along the direction found. It is estimated on held-out
# rows and corrected for chance, so it is close to zero when nothing has changed. How close? Simulate pairs of
# months that do not differ:

usual = [princdiff.compare(month(), month(), missing="impute", n_permutations=0).effect for _ in range(8)]
print("no change:", np.round(np.sort(usual), 2))
print("march:    ", round(changed.effect, 2))

# %%
# Choose a threshold well above this range. More rows reduce the noise; more columns increase it.
#
# How not to use it
# -----------------
#
# - Do not update the reference with the data you are monitoring: slow drift would go unnoticed.
# - Do not read a passing job as "nothing changed". It means that no change exceeded your two thresholds.
# - Rows must be independent. If customers place several orders each, say so with ``blocks="customer"``.
#
# The how-to guide :doc:`/howto/drift` has a complete CI job and shows how to compare many batches at once and
# how to score a batch without refitting.

# sphinx_gallery_start_ignore
assert code == 1
assert max(usual) < changed.effect
# sphinx_gallery_end_ignore
