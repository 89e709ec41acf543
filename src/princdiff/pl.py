"""Pictures of results in AnnData: each function takes and returns matplotlib Axes."""

from princdiff.singlecell.gene_pictures import pda_cell_types, volcano
from princdiff.singlecell.pictures import pda, pda_gene, pda_gene_sets, pda_genes, pda_heatmap, pda_scatter

__all__ = [
    "pda",
    "pda_cell_types",
    "pda_gene",
    "pda_gene_sets",
    "pda_genes",
    "pda_heatmap",
    "pda_scatter",
    "volcano",
]
