"""What an analysis needs of an AnnData object: a matrix, its features, and which cells to compare.

Nothing here imports anndata: whoever holds an AnnData object has it installed. A sparse matrix stays sparse,
and only the cells and genes that take part are copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.sparse_structure import check_sparse
from princdiff.tables.frames import listed, suggestion

REST = "rest"
# Whole numbers up to here are exact in single precision, which takes half of the memory.
_EXACT_IN_SINGLE = 2**24


@dataclass(frozen=True)
class CellComparison:
    """Cells that are compared with each other.

    Attributes
    ----------
    group, reference : str
        What is compared with what; "all" with "each other" where the groups are compared jointly.
    cells : bool array of shape (n_cells,)
        Cells that take part.
    codes : uint8 array of shape (n_cells that take part,)
        Group of each of them: 0 is ``group``, 1 is ``reference``; or a number for each of the joint groups.
    names : tuple of str
        Names of the codes.
    joint : bool
        Whether several groups are compared at once, none of them being the reference.
    """

    group: str
    reference: str
    cells: NDArray[np.bool_]
    codes: NDArray[np.uint8]
    names: tuple[str, ...]
    joint: bool = False


@dataclass(frozen=True)
class Matrix:
    """Cells by features, and where they came from.

    Attributes
    ----------
    values : array or CSR matrix of shape (n_cells, n_features)
        Floating-point numbers; only the features that take part.
    features : array of str of shape (n_features,)
        Their names.
    used : bool array of shape (n_vars,) or None
        Which variables they are; None where they are columns of ``obsm``.
    label : str
        What messages call it.
    """

    values: NDArray | sp.csr_matrix
    features: NDArray
    used: NDArray[np.bool_] | None
    label: str


def check_anndata(adata: Any) -> None:
    """Refuse what is not an AnnData object, in one sentence."""
    if not all(hasattr(adata, name) for name in ("obs", "var", "uns", "obsm", "varm", "layers")):
        raise TypeError(
            f"adata must be an AnnData object, got {type(adata).__name__}; "
            "for tables and arrays use princdiff.compare"
        )


def unknown(parameter: str, name: Any, where: str, known: Iterable[Any]) -> ValueError:
    """The error for a name that is not there, with those that are."""
    names = [str(one) for one in known]
    return ValueError(
        f"{parameter}={name!r} is not in {where}, which has {listed(names) if names else 'nothing'}"
        f"{suggestion(str(name), names)}"
    )


def obs_column(adata: Any, name: Any, parameter: str) -> pd.Series:
    """A column of ``obs`` without missing values."""
    if not isinstance(name, str) or name not in adata.obs.columns:
        raise unknown(parameter, name, "adata.obs", adata.obs.columns)
    column = adata.obs[name]
    missing = int(column.isna().sum())
    if missing:
        raise ValueError(
            f"adata.obs[{name!r}] is missing (NaN) for {missing} of {len(column)} cells; leave them out: "
            f"adata = adata[adata.obs[{name!r}].notna()].copy()"
        )
    return column


def find_comparisons(
    adata: Any, groupby: str, groups: Sequence[str] | str | None, reference: str | None
) -> list[CellComparison]:
    """Which cells to compare, from the arguments that scanpy's users know.

    Parameters
    ----------
    adata : AnnData
        Cells.
    groupby : str
        Column of ``obs``.
    groups : str or sequence of str, optional
        Groups of interest; default all that have cells.
    reference : str or None
        "rest", a group, or None: all groups jointly.

    Returns
    -------
    list of CellComparison
        Two groups and "rest" are one comparison, not two mirror images.
    """
    column = obs_column(adata, groupby, "groupby")
    labels, levels = _labels_and_levels(column, groupby)
    if groups is None:
        wanted = levels
    else:
        wanted = [str(groups)] if np.ndim(groups) == 0 else [str(name) for name in groups]
    for name in [*wanted, *([] if reference in (None, REST) else [str(reference)])]:
        _refuse_unknown(name, levels, groupby)
    if len(set(wanted)) < len(wanted):
        raise ValueError(f"groups names a group twice: {listed(wanted)}")
    if len(levels) < 2:
        raise ValueError(f"adata.obs[{groupby!r}] has only one group, {levels[0]!r}: nothing to compare with")
    if reference is None:
        return [_joint(labels, wanted)]
    if reference == REST:
        if REST in levels:
            raise ValueError(
                f"adata.obs[{groupby!r}] has a group called {REST!r}, so reference={REST!r} could mean that "
                "group or all other cells; rename the group, or give another reference"
            )
        if len(levels) == 2 and groups is None:
            wanted = wanted[:1]
        pairs = [(name, next(iter(set(levels) - {name})) if len(levels) == 2 else REST) for name in wanted]
    else:
        pairs = [(name, str(reference)) for name in wanted if name != str(reference)]
        if not pairs:
            raise ValueError(f"groups has nothing but the reference {reference!r}; name another group")
    return [_pair(labels, group, other, groupby) for group, other in pairs]


def _labels_and_levels(column: pd.Series, groupby: str) -> tuple[NDArray, list[str]]:
    """Group names as text, and those present in the order of their categories."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        present = column.cat.remove_unused_categories().cat.categories
    else:
        if column.dtype.kind == "f":
            raise ValueError(
                f"adata.obs[{groupby!r}] holds decimal numbers, not groups; cut it into categories first"
            )
        present = pd.Index(column.unique()).sort_values()
    levels = [str(level) for level in present]
    if len(set(levels)) < len(levels):
        raise ValueError(f"adata.obs[{groupby!r}] has groups of the same name but of different types")
    return np.asarray(column.astype(object).map(str), dtype=object), levels


def _refuse_unknown(name: str, levels: list[str], groupby: str) -> None:
    if name not in levels:
        raise ValueError(
            f"no cell of adata.obs[{groupby!r}] is in group {name!r}; its groups are {listed(levels)}"
            f"{suggestion(name, levels)}"
        )


def _pair(labels: NDArray, group: str, reference: str, groupby: str) -> CellComparison:
    inside = labels == group
    cells = np.ones(len(labels), dtype=bool) if reference == REST else inside | (labels == reference)
    codes = (~inside[cells]).astype(np.uint8)
    for code, name in enumerate((group, reference)):
        if (codes == code).sum() < 2:
            raise ValueError(
                f"group {name!r} of adata.obs[{groupby!r}] has fewer than two cells; leave it out: groups="
            )
    return CellComparison(group, reference, cells, codes, (group, reference))


def _joint(labels: NDArray, wanted: list[str]) -> CellComparison:
    if len(wanted) < 2:
        raise ValueError(
            f"reference=None compares groups with each other; groups has one only, {wanted[0]!r}"
        )
    cells = np.isin(labels, wanted)
    codes = np.array([wanted.index(label) for label in labels[cells]])
    if len(wanted) > 200:
        raise ValueError(f"{len(wanted)} groups are too many to compare jointly; name some with groups=")
    return CellComparison("all", "each other", cells, codes.astype(np.uint8), tuple(wanted), joint=True)


def take_matrix(adata: Any, layer: str | None, obsm: str | None, mask_var: Any) -> Matrix:
    """The numbers to compare: ``X``, a layer, or coordinates in ``obsm``; in memory, sparse if they were."""
    if layer is not None and obsm is not None:
        raise ValueError(f"give layer or obsm, not both (got {layer!r} and {obsm!r})")
    if obsm is not None:
        if mask_var is not None:
            raise ValueError("mask_var chooses genes, and obsm has none; leave one of them out")
        return _coordinates(adata, obsm)
    if not adata.var_names.is_unique:
        twice = adata.var_names[adata.var_names.duplicated()]
        raise ValueError(
            f"adata.var_names has {len(set(twice))} name(s) more than once, such as {str(twice[0])!r}; "
            "call adata.var_names_make_unique() first"
        )
    if layer is not None and layer not in adata.layers:
        raise unknown("layer", layer, "adata.layers", adata.layers)
    source = adata.X if layer is None else adata.layers[layer]
    label = "adata.X" if layer is None else f"adata.layers[{layer!r}]"
    if source is None:
        raise ValueError("adata.X is empty (None); name the matrix to compare with layer=")
    used = _mask(adata, mask_var)
    values = in_memory(source)
    if not used.all():
        values = values[:, used]
    return Matrix(_floats(values), np.asarray(adata.var_names, dtype=str)[used], used, label)


def _coordinates(adata: Any, obsm: str) -> Matrix:
    if obsm not in adata.obsm:
        raise unknown("obsm", obsm, "adata.obsm", adata.obsm)
    source = adata.obsm[obsm]
    if isinstance(source, pd.DataFrame):
        names = [str(name) for name in source.columns]
        values: Any = source.to_numpy()
    else:
        values = in_memory(source)
        names = [f"{obsm} {column + 1}" for column in range(values.shape[1])]
    return Matrix(_floats(values), np.array(names, dtype=str), None, f"adata.obsm[{obsm!r}]")


def in_memory(source: Any) -> NDArray | sp.csr_matrix:
    """An array or CSR matrix, plain and in memory, of what AnnData may hold (views, backed files, Dask)."""
    if hasattr(source, "compute"):
        source = source.compute()
    if hasattr(source, "to_memory"):
        source = source.to_memory()
    if sp.issparse(source):
        check_sparse(source, "the matrix of this AnnData")
        return sp.csr_matrix(source)
    # HDF5 and zarr arrays are read by indexing; views of AnnData are subclasses of arrays.
    return np.asarray(source[()] if hasattr(source, "chunks") and hasattr(source, "file") else source)


def _floats(values: Any) -> NDArray | sp.csr_matrix:
    numbers = values.data if sp.issparse(values) else values
    if numbers.dtype.kind == "f":
        return values if numbers.dtype.itemsize >= 4 else values.astype(np.float32)
    if numbers.dtype.kind not in "biu":
        raise ValueError(f"the matrix to compare must hold numbers, got {numbers.dtype}")
    largest = max(abs(int(numbers.max())), abs(int(numbers.min()))) if numbers.size else 0
    small = largest < _EXACT_IN_SINGLE
    return values.astype(np.float32 if small else np.float64)


def _mask(adata: Any, mask_var: Any) -> NDArray[np.bool_]:
    if mask_var is None:
        return np.ones(adata.n_vars, dtype=bool)
    if isinstance(mask_var, str):
        if mask_var not in adata.var.columns:
            raise unknown("mask_var", mask_var, "adata.var", adata.var.columns)
        mask_var = adata.var[mask_var]
    mask = np.asarray(mask_var)
    if mask.dtype != bool or mask.shape != (adata.n_vars,):
        raise ValueError(
            f"mask_var must be True or False for each of the {adata.n_vars} genes, got {mask.dtype} of shape "
            f"{mask.shape}"
        )
    if not mask.any():
        raise ValueError("mask_var leaves no gene to compare")
    return mask
