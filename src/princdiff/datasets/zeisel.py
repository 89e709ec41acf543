"""The mouse brain cells of Zeisel et al. (2015): from a local file or from GEO."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.datasets import get_data_home
from sklearn.utils import Bunch

from princdiff.datasets.downloads import PathLike, download_file, find_local, read_npz, save_npz

_GEO_SERIES = "https://ftp.ncbi.nlm.nih.gov/geo/series/GSE60nnn/GSE60361"
_GEO_COUNTS_URL = f"{_GEO_SERIES}/suppl/GSE60361_C1-3005-Expression.txt.gz"
_GEO_CELLS_URL = f"{_GEO_SERIES}/matrix/GSE60361_series_matrix.txt.gz"
_ZEISEL_REQUIRED = ("data", "indices", "indptr", "shape", "genes", "tissue", "total_mRNA_mol")
_ZEISEL_OPTIONAL = ("level1class", "level2class", "cell_id", "sex", "age", "diameter")
_GEO_CHARACTERISTICS = ("level1class", "level2class", "sex", "age", "diameter")


def load_zeisel(
    path: PathLike | None = None,
    *,
    normalize: bool = True,
    download: bool = False,
    data_home: PathLike | None = None,
) -> Bunch:
    """Load the mouse brain single cells of Zeisel et al. (2015), GEO accession GSE60361.

    Counts of messenger RNA molecules (UMI) in 3005 cells, of which 1691 are from the
    somatosensory cortex (``sscortex``) and 1314 from the hippocampus (``ca1hippocampus``).

    Parameters
    ----------
    path : path-like or None, default=None
        The file ``zeisel.npz``, or the directory that holds it. None means the directory
        named by the environment variable ``PRINCDIFF_DATA``.
    normalize : bool, default=True
        Whether ``data`` is log2(1 + counts per million), see `log2_cpm`; otherwise ``data`` is
        the counts.
    download : bool, default=False
        Fetch the data from GEO where no local file is found: the complete matrix of about 20,000
        genes, and the cells' annotations (text, as GEO writes them).
    data_home : path-like or None, default=None
        Where downloads are kept; None means scikit-learn's data directory.

    Returns
    -------
    Bunch
        - ``data`` : CSR matrix of shape (n_cells, n_genes), float64 if normalised, else ``counts``
        - ``target`` : ndarray of shape (n_cells,), the tissue
        - ``feature_names``, ``genes`` : ndarray of shape (n_genes,), unique names
        - ``counts`` : CSR matrix of shape (n_cells, n_genes), int32
        - ``tissue`` : ndarray of shape (n_cells,)
        - ``total_mRNA_mol`` : ndarray of shape (n_cells,), the molecules of the cell over all
          genes, also those that the file does not hold
        - ``level1class``, ``level2class``, ``cell_id``, ``sex``, ``age``, ``diameter`` : ndarray
          of shape (n_cells,), each only where the source has it

    Raises
    ------
    FileNotFoundError
        If there is no local file and `download` is False, or if `path` does not exist.
    ValueError
        If the file lacks an array or its shapes do not fit.

    Examples
    --------
    >>> from princdiff.datasets import load_zeisel
    >>> zeisel = load_zeisel("path/to/data")  # doctest: +SKIP
    >>> zeisel.data.shape[0], zeisel.level1class[0]  # doctest: +SKIP
    (3005, 'interneurons')
    """
    local = find_local(path, "zeisel.npz", download=download)
    return _read_zeisel(_fetch_zeisel(data_home) if local is None else local, normalize=normalize)


def log2_cpm(counts: sp.spmatrix, total: ArrayLike) -> sp.csr_matrix:
    """Log2 of one plus the counts per million, still sparse.

    Parameters
    ----------
    counts : sparse matrix of shape (n_cells, n_genes)
        Counts of molecules.
    total : array-like of shape (n_cells,)
        Molecules of each cell over all genes; where `counts` is only a part of the genes, its
        row sums are not that.

    Returns
    -------
    csr_matrix of shape (n_cells, n_genes)
        log2(1 + 1e6 * counts / total), float64, zero exactly where the count is zero.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from princdiff.datasets import log2_cpm
    >>> log2_cpm(sp.csr_matrix([[0, 3], [1, 0]]), [1_000_000, 1_000_000]).toarray()
    array([[0., 2.],
           [1., 0.]])
    """
    result = sp.csr_matrix(counts, dtype=np.float64, copy=True)
    per_cell = np.asarray(total, dtype=np.float64)
    if per_cell.shape != (result.shape[0],):
        raise ValueError(
            f"total must have one value per row of counts, {result.shape[0]}; its shape is {per_cell.shape}"
        )
    if not np.all(per_cell > 0):
        raise ValueError("total must be positive for every row")
    result.data *= np.repeat(1e6 / per_cell, np.diff(result.indptr))
    np.log1p(result.data, out=result.data)
    result.data /= np.log(2.0)
    return result


def _read_zeisel(path: Path, *, normalize: bool) -> Bunch:
    arrays = read_npz(path, _ZEISEL_REQUIRED, _ZEISEL_OPTIONAL)
    counts = _build_counts(path, arrays)
    n_cells, n_genes = counts.shape
    _check_length(path, arrays, ["genes"], n_genes)
    per_cell = [name for name in ("tissue", "total_mRNA_mol", *_ZEISEL_OPTIONAL) if name in arrays]
    _check_length(path, arrays, per_cell, n_cells)
    return Bunch(
        data=log2_cpm(counts, arrays["total_mRNA_mol"]) if normalize else counts,
        target=arrays["tissue"],
        feature_names=arrays["genes"],
        genes=arrays["genes"],
        counts=counts,
        **{name: arrays[name] for name in per_cell},
    )


def _build_counts(path: Path, arrays: dict[str, np.ndarray]) -> sp.csr_matrix:
    parts = (arrays["data"].astype(np.int32), arrays["indices"], arrays["indptr"])
    try:
        counts = sp.csr_matrix(parts, shape=tuple(int(size) for size in arrays["shape"]))
        counts.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{path}: data, indices, indptr and shape do not make a sparse matrix: {error}"
        ) from error
    return counts


def _check_length(path: Path, arrays: dict[str, np.ndarray], names: Iterable[str], length: int) -> None:
    for name in names:
        if arrays[name].shape != (length,):
            raise ValueError(
                f"{path}: {name} has shape {arrays[name].shape}, expected ({length},) to fit the counts"
            )


def _fetch_zeisel(data_home: PathLike | None) -> Path:
    """Path of the parsed download; fetched and parsed at the first call only."""
    home = Path(get_data_home(data_home)) / "princdiff"
    parsed = home / "zeisel-geo.npz"
    if not parsed.exists():
        home.mkdir(parents=True, exist_ok=True)
        sources = [download_file(url, home) for url in (_GEO_COUNTS_URL, _GEO_CELLS_URL)]
        save_npz(parsed, _parse_geo(*sources))
    return parsed


def _parse_geo(counts_path: Path, cells_path: Path) -> dict[str, np.ndarray]:
    """GEO's two text files as the arrays of ``zeisel.npz``."""
    counts, genes, cell_id = _parse_geo_counts(counts_path)
    return {
        "data": counts.data,
        "indices": counts.indices,
        "indptr": counts.indptr,
        "shape": np.array(counts.shape),
        "genes": genes,
        "cell_id": cell_id,
        # The table holds every gene, so here the row sums are the library sizes.
        "total_mRNA_mol": np.asarray(counts.sum(axis=1)).ravel(),
        **_parse_geo_cells(cells_path, cell_id),
    }


def _parse_geo_counts(
    path: Path, *, rows_at_once: int = 1000
) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray]:
    """Read GEO's table, a gene per row and a cell per column, as cells x genes.

    It is read in pieces, since the dense table would take half a gigabyte.
    """
    genes: list[str] = []
    pieces: list[sp.csr_matrix] = []
    cell_id = np.array([])
    # Without keep_default_na=False a gene called "NA" would lose its name.
    with pd.read_csv(path, sep="\t", index_col=0, chunksize=rows_at_once, keep_default_na=False) as reader:
        for piece in reader:
            cell_id = np.array([str(name) for name in piece.columns])
            genes.extend(str(name) for name in piece.index)
            pieces.append(sp.csr_matrix(_integer_values(path, piece)))
    if not pieces:
        raise ValueError(f"{path}: the table of counts has no rows")
    return sp.vstack(pieces).T.tocsr(), np.array(_unique_names(genes)), cell_id


def _integer_values(path: Path, piece: pd.DataFrame) -> NDArray[np.int32]:
    bad = [str(name) for name, kind in piece.dtypes.items() if kind.kind not in "iu"]
    if bad:
        raise ValueError(f"{path}: the counts of cell {bad[0]} are not all integers")
    return piece.to_numpy(dtype=np.int32)


def _unique_names(names: Sequence[str]) -> list[str]:
    """Number the repetitions of a name: ``a, b, a`` becomes ``a, b, a.1``.

    A spreadsheet turned some gene symbols of the published table into dates, so that different
    genes share a name: they must not be merged.
    """
    seen: dict[str, int] = {}
    taken = set(names)
    unique = []
    for name in names:
        repetition = seen.get(name, 0)
        label = name
        while repetition and label in taken:
            label = f"{name}.{repetition}"
            repetition += 1
        seen[name] = max(repetition, 1)
        taken.add(label)
        unique.append(label)
    return unique


def _parse_geo_cells(path: Path, cell_id: np.ndarray) -> dict[str, np.ndarray]:
    """Tissue, and what else GEO says of each cell, in the order of `cell_id`."""
    lines = _sample_lines(path)
    order = _order_of_cells(path, lines, cell_id)
    sources = [values for field, values in lines if field == "source_name_ch1"]
    if not sources:
        raise ValueError(f"{path}: no line !Sample_source_name_ch1, which names the tissue")
    found = {"tissue": np.array(sources[0])[order]}
    # A value is "key: value", and a line may mix keys, so each value is asked for its own.
    annotations: dict[str, list[str]] = {}
    for field, values in lines:
        if field != "characteristics_ch1":
            continue
        for cell, value in enumerate(values):
            key, _, text = value.partition(":")
            key = key.lower().replace(" ", "")
            if key in _GEO_CHARACTERISTICS:
                annotations.setdefault(key, [""] * len(values))[cell] = text.strip()
    return found | {key: np.array(values)[order] for key, values in annotations.items()}


def _sample_lines(path: Path) -> list[tuple[str, list[str]]]:
    """The ``!Sample_`` lines of a series matrix: field and one value per sample."""
    prefix = "!Sample_"
    lines = []
    with _open_text(path) as stream:
        for line in stream:
            if line.startswith(prefix):
                field, *values = line.rstrip("\r\n").split("\t")
                lines.append((field.removeprefix(prefix), [value.strip('"') for value in values]))
    return lines


def _order_of_cells(path: Path, lines: list[tuple[str, list[str]]], cell_id: np.ndarray) -> list[int]:
    # Searched for rather than named: GEO leaves it to the submitter which field holds the ids.
    for _, values in lines:
        position = {value: number for number, value in enumerate(values)}
        if all(name in position for name in cell_id):
            return [position[name] for name in cell_id]
    raise ValueError(f"{path}: no !Sample_ line names the cells of the table of counts")


def _open_text(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")
