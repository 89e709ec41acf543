"""Counts of cells thinned to equal sequencing depth."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from princdiff.data import parameters, validate
from princdiff.data.parameters import Data, Either, Text
from princdiff.data.shared_docs import with_shared_docs
from princdiff.singlecell.anndata_input import check_anndata, obs_column, take_matrix
from princdiff.tables.counts import cell_counts


@with_shared_docs
def thin_counts(
    adata: Any,
    groupby: str,
    *,
    layer: str | None = None,
    key_added: str = "thinned",
    random_state: Any = 0,
) -> None:
    """Thin counts at random until the groups have the same median depth.

    Where one group was sequenced deeper, more of its genes are seen in more of its cells, before and after
    normalisation. Thinned counts are what shallower sequencing of the same cells would have given.

    Parameters
    ----------
    {adata}
    groupby : str
        Column of ``obs`` that holds the groups.
    layer : str, optional
        Layer with counts or log-normalised values; default ``X``.
    key_added : str, default="thinned"
        Layer that the thinned counts are written to; normalise them and take logarithms before comparing.
    random_state : int, RandomState, Generator or None, default=0
        Seed.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> from princdiff.tl import thin_counts
    >>> rng = np.random.default_rng(0)
    >>> depth = np.repeat([1.0, 3.0], 50)
    >>> cells = anndata.AnnData(rng.poisson(5 * depth[:, None], (100, 40)).astype(float))
    >>> cells.obs["batch"] = np.repeat(["a", "b"], 50)
    >>> thin_counts(cells, "batch")
    >>> [round(float(cells.layers["thinned"][start : start + 50].sum()) / 10_000) for start in (0, 50)]
    [1, 1]
    """
    check_anndata(adata)
    parameters.check(
        locals(),
        adata=Data(),
        groupby=Data(),
        layer=Either(Text(), None),
        key_added=Text(),
    )
    groups = obs_column(adata, groupby, "groupby").astype(str).to_numpy()
    matrix = take_matrix(adata, layer, None, None)
    counts = cell_counts(matrix.values).counts.copy()
    if not np.array_equal(counts.data, np.rint(counts.data)):
        raise ValueError(
            f"{matrix.label} holds neither counts nor log-normalised counts; name a layer that does: layer="
        )
    totals = np.asarray(counts.sum(axis=1)).ravel()
    medians = {name: np.median(totals[groups == name]) for name in np.unique(groups)}
    shallow = min(medians.values())
    keep = np.array([shallow / medians[name] for name in groups])
    draws = validate.generator(random_state)
    counts.data = draws.binomial(counts.data.astype(np.int64), np.repeat(keep, np.diff(counts.indptr)))
    counts.eliminate_zeros()
    adata.layers[key_added] = sp.csr_matrix(counts, dtype=np.float32)
