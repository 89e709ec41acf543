"""The data of the paper's experiments.

Every claim about the method is checked on the data the paper used, so these are part of the
library: the simulated pairs of supplement S1, where the truth is known, and the two real
examples, MADELON and the mouse brain cells of Zeisel et al. The real data are not shipped. The
loaders read a local file, or fetch the public one when asked to; nothing here goes to the network
unless ``download=True``.
"""

from __future__ import annotations

from princdiff.datasets.madelon import load_madelon
from princdiff.datasets.simulated import make_block_gaussians, make_gaussian_pair
from princdiff.datasets.zeisel import load_zeisel, log2_cpm

__all__ = [
    "load_madelon",
    "load_zeisel",
    "log2_cpm",
    "make_block_gaussians",
    "make_gaussian_pair",
]
