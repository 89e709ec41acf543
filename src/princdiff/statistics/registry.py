"""What an adaptive test looks at, beside directions."""

from __future__ import annotations

from princdiff.statistics import column_cells, kernel_cells, pair_cells
from princdiff.statistics.protocol import Statistic

STATISTICS: tuple[Statistic, ...] = (
    column_cells.single_columns,
    column_cells.total,
    column_cells.many_columns,
    kernel_cells.kernels,
    column_cells.lengths,
    pair_cells.pairs,
    pair_cells.bends,
    column_cells.given_others,
    kernel_cells.whitened_kernels,
    column_cells.whitened_lengths,
)
RELATIONS: tuple[Statistic, ...] = (pair_cells.pairs, pair_cells.bends)
"""The same where the rows are ranks within the groups, so that single columns do not differ."""
