"""Read results from AnnData, as tables."""

from princdiff.singlecell.getters import (
    pda_cell_types_df,
    pda_df,
    pda_gene_sets_df,
    pda_statistics,
    rank_genes_groups_df,
)

__all__ = ["pda_cell_types_df", "pda_df", "pda_gene_sets_df", "pda_statistics", "rank_genes_groups_df"]
