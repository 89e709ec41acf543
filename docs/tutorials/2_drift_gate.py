"""
A gate against drift in CI
==========================

A model was trained on one month of orders. Each month a job must say whether new orders still look alike,
and fail if not. The table is mixed: numbers, categories, yes and no, missing values. One of the changes is
of a kind that no check of single columns can see.

You will learn to compare two tables, to turn the answer into an exit code, to choose the two numbers of the
rule, and to see what changed.
"""

# %%
# Three months of orders
# ----------------------
#
# January is what the model was trained on. February is alike. In March the delivery service changed:
# expensive orders used to arrive sooner, and now they arrive later, while neither prices nor delivery times
# changed as such; and payment by card became more frequent.

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
# Two tables go in; columns are matched by name, levels of categories become shares, missing values are
# filled and the fact that they were missing is compared too (``missing="impute"``).

alike = princdiff.compare(january, february, missing="impute", n_permutations=199)
print(alike.summary().split("\n\n")[0])

# %%
# Tables have no names, so the groups are called X and Y. With one table and a column that tells the groups
# they are called what they are:

both = pd.concat([january.assign(month="january"), march.assign(month="march")])
changed = princdiff.compare(both, groups="month", missing="impute", n_permutations=199)
print(changed)

# %%
# "Alone" are columns whose own distribution changed, here the way of payment. Price and delivery time each
# look as before; what changed is how they go together, and the pair is named.

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
# The gate
# --------
#
# A p-value alone is a poor gate: with enough rows any difference is significant, and the job would fail
# every month. So the rule has two parts: the difference is not chance, **and** it is large enough to
# matter. On the command line:

folder = Path(tempfile.mkdtemp())
january.to_csv(folder / "january.csv", index=False)
february.to_csv(folder / "february.csv", index=False)
march.to_csv(folder / "march.csv", index=False)

from princdiff.cli import main  # what the command `princdiff` calls

rule = [
    "--missing",
    "impute",
    "--n-permutations",
    "199",
    "--fail-below",
    "0.01",
    "--min-effect",
    "0.2",
    "--quiet",
]
code = main(["compare", str(folder / "january.csv"), str(folder / "february.csv"), *rule])
print("exit code:", code)

# %%

code = main(["compare", str(folder / "january.csv"), str(folder / "march.csv"), *rule])
print("exit code:", code)

# %%
# 0 lets the job pass, 1 says "the groups differ by the rule", 2 says that something is wrong with the job
# itself (a file is missing, a rule cannot be decided): keep 1 and 2 apart.
#
# Choosing the two numbers
# ------------------------
#
# ``--fail-below`` is the rate of false alarms while nothing changes: one run in a hundred at 0.01. It needs
# at least 100 ``--n-permutations``, and a rule that no outcome could fulfil is refused.
#
# ``--min-effect`` is in standard deviations along the direction found. That direction is the one that shows
# most, so the effect is above zero even where nothing changed. What do months give that are alike?

usual = [
    princdiff.compare(month(), month(), missing="impute", n_permutations=0, select=False).effect
    for _ in range(8)
]
print("alike: ", np.round(np.sort(usual), 2))
print("march: ", round(changed.effect, 2))

# %%
# Stay well above what alike months give. More rows lower that noise; more columns raise it.
#
# How not to use it
# -----------------
#
# - Do not refit the reference on the data you are watching: drift that comes slowly would never be seen.
# - Do not read a green job as "nothing changed": it means that nothing above your two numbers was seen.
# - Rows must be independent. If orders come in batches of one customer, name them: ``blocks="customer"``.
#
# The how-to :doc:`/howto/drift` has the job as a file, many batches at once, and how to judge single batches
# without refitting.

# sphinx_gallery_start_ignore
assert code == 1
assert max(usual) < changed.effect
# sphinx_gallery_end_ignore
