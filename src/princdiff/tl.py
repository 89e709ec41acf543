"""Tools for AnnData: compute, and write the results into the object."""

from princdiff.singlecell.tools import pda, pda_gene_sets

__all__ = ["pda", "pda_gene_sets"]
