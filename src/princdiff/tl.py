"""Tools for AnnData: compute, and write the results into the object."""

from princdiff.singlecell.depth import thin_counts
from princdiff.singlecell.genesets import pda_gene_sets
from princdiff.singlecell.tools import pda

__all__ = ["pda", "pda_gene_sets", "thin_counts"]
