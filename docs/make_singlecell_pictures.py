"""Draw the pictures of docs/howto/singlecell.md, with the cells that come with scanpy (it must be installed).

Run it from anywhere: python docs/make_singlecell_pictures.py
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import princdiff
from princdiff.show.plot_style import COLOURS

IMAGES = Path(__file__).parent / "images"
CELLS_OF_A_DONOR = 6


def draw_blocks() -> None:
    """What changes sides: whole donors, or the cells inside each donor."""
    rng = np.random.default_rng(1)
    figure, axes = plt.subplots(2, 2, figsize=(9.6, 4.6), layout="constrained")
    nested = np.repeat([0, 1, 0, 1, 1, 0], CELLS_OF_A_DONOR).reshape(6, -1)
    crossed = np.tile(np.arange(CELLS_OF_A_DONOR) % 2, (6, 1))
    draw_cells(axes[0, 0], nested, 'permute="whole"', "as measured: a donor belongs to one group")
    draw_cells(axes[0, 1], nested[[1, 0, 2, 3, 5, 4]], "", "relabelled: all cells of a donor change together")
    draw_cells(axes[1, 0], crossed, 'permute="within"', "as measured: every donor is in both groups")
    draw_cells(
        axes[1, 1], rng.permuted(crossed, axis=1), "", "relabelled: cells change places inside their donor"
    )
    figure.savefig(IMAGES / "blocks.png", dpi=130)


def draw_cells(ax: plt.Axes, groups: np.ndarray, label: str, title: str) -> None:
    for donor, cells in enumerate(groups):
        box = plt.Rectangle((donor - 0.42, -0.6), 0.84, 3.2, fill=False, edgecolor="0.6", linewidth=1.2)
        ax.add_patch(box)
        for place, group in enumerate(cells):
            ax.plot(donor - 0.18 + 0.36 * (place % 2), place // 2, "o", color=COLOURS[group], markersize=11)
        ax.text(donor, -1.05, f"donor {donor + 1}", ha="center", va="center", fontsize="small")
    ax.set_xlim(-0.6, len(groups) - 0.4)
    ax.set_ylim(-1.4, 2.8)
    ax.set_title(title, fontsize="medium")
    ax.set_ylabel(label, fontsize="large", family="monospace")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)


def draw_blood() -> None:
    import scanpy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        blood = scanpy.datasets.pbmc68k_reduced().raw.to_adata()
        princdiff.tl.pda(
            blood, "bulk_labels", groups="CD14+ Monocyte", reference="Dendritic", n_permutations=199, n_jobs=2
        )
    print(princdiff.get.pda_statistics(blood).T.to_string())
    print(princdiff.get.pda_df(blood, top=8).to_string())
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    princdiff.pl.pda(blood, ax=axes[0])
    princdiff.pl.pda_genes(blood, top=12, ax=axes[1])
    figure.savefig(IMAGES / "blood-direction.png", dpi=120)
    large = blood.obs["bulk_labels"].value_counts()
    groups = large.index[large >= 40].tolist()
    princdiff.tl.pda(blood, "bulk_labels", groups=groups, n_features=10, n_permutations=0, key_added="kinds")
    print(princdiff.get.pda_df(blood, "kinds", top=3)[["group", "gene", "weight"]].to_string())
    princdiff.pl.pda_heatmap(blood, "kinds", top=4).figure.savefig(IMAGES / "blood-heatmap.png", dpi=120)
    ax = princdiff.pl.pda_scatter(blood, "bulk_labels", "kinds", group=("CD14+ Monocyte", "CD19+ B"))
    ax.figure.savefig(IMAGES / "blood-scatter.png", dpi=120)
    # Sets of your own come from a GMT file; these are a few textbook ones.
    sets = {
        "antigen presentation": [
            "HLA-DRA",
            "HLA-DRB1",
            "HLA-DPA1",
            "HLA-DPB1",
            "HLA-DQA1",
            "HLA-DQB1",
            "CD74",
        ],
        "monocytes": ["CD14", "LYZ", "S100A8", "S100A9", "FCN1", "VCAN", "S100A12", "CST3", "FCGR3A", "LST1"],
        "cytotoxic": ["NKG7", "GNLY", "PRF1", "GZMA", "GZMB", "GZMH", "CCL5", "CTSW", "FGFBP2", "KLRD1"],
        "B cells": ["CD79A", "CD79B", "MS4A1", "TCL1A", "CD37", "BANK1", "VPREB3", "LINC00926"],
        "ribosome": [name for name in blood.var_names if name.startswith(("RPL", "RPS"))],
    }
    princdiff.tl.pda_gene_sets(blood, sets, n_top=40, min_size=3)
    print(princdiff.get.pda_gene_sets_df(blood).drop(columns="genes").to_string())
    princdiff.pl.pda_gene_sets(blood).figure.savefig(IMAGES / "blood-gene-sets.png", dpi=120)


if __name__ == "__main__":
    draw_blocks()
    draw_blood()
