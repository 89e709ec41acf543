"""The data of the paper's experiments.

Every claim about the method is checked on the data the paper used, so these are part of the
library: the simulated pairs of supplement S1, where the truth is known, and the two real
examples, MADELON and the mouse brain cells of Zeisel et al. The real data are not shipped. The
loaders read a local file, or fetch the public one when told to; nothing here goes to the network
unless ``download=True``.
"""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
import urllib.request
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from typing import IO, Literal

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.datasets import fetch_openml, get_data_home
from sklearn.utils import Bunch

__all__ = [
    "load_madelon",
    "load_zeisel",
    "log2_cpm",
    "make_block_gaussians",
    "make_gaussian_pair",
]

Seed = int | np.random.SeedSequence | np.random.Generator | np.random.RandomState | None
PathLike = str | os.PathLike[str]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

DATA_VARIABLE = "PRINCDIFF_DATA"

# Supplement S1, the distributions of Fig. 1a.
_PAIR_COVARIANCE_FIRST = np.array([[1.0, 0.2, 0.4], [0.2, 1.0, 0.0], [0.4, 0.0, 1.0]])
_PAIR_COVARIANCE_SECOND = np.array([[1.0, -0.9, 0.0], [-0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])

_BLOCK = 3

_MADELON_FEATURES = 500
_MADELON_TRAIN_ROWS = 2000
_MADELON_VALID_ROWS = 600
# OpenML names the classes 1 and 2; by the challenge's own labels, 2 is the negative one.
_MADELON_OPENML_CLASSES = {"1": 1, "2": -1}
_MADELON_TRAIN_START = (485, 477, 537, 479)
_MADELON_VALID_START = (483, 454, 513, 495)
_MADELON_RELEVANT = (
    *(28, 48, 64, 105, 128, 153, 241, 281, 318, 336),
    *(338, 378, 433, 442, 451, 453, 455, 472, 475, 493),
)

_GEO_SERIES = "https://ftp.ncbi.nlm.nih.gov/geo/series/GSE60nnn/GSE60361"
_GEO_COUNTS_URL = f"{_GEO_SERIES}/suppl/GSE60361_C1-3005-Expression.txt.gz"
_GEO_CELLS_URL = f"{_GEO_SERIES}/matrix/GSE60361_series_matrix.txt.gz"
_ZEISEL_REQUIRED = ("data", "indices", "indptr", "shape", "genes", "tissue", "total_mRNA_mol")
_ZEISEL_OPTIONAL = ("level1class", "level2class", "cell_id", "sex", "age", "diameter")
_GEO_CHARACTERISTICS = ("level1class", "level2class", "sex", "age", "diameter")


# --------------------------------------------------------------------------------------
# Simulated data
# --------------------------------------------------------------------------------------


def make_gaussian_pair(n_samples: int = 1000, *, random_state: Seed = None) -> tuple[FloatArray, IntArray]:
    """Draw the two 3-dimensional Gaussians of the paper's Fig. 1a.

    Both have mean zero and unit variances; only the correlations differ, so no single feature
    separates the groups. The divergence over directions has a poor local optimum into which a
    search from one random start often falls.

    Parameters
    ----------
    n_samples : int, default=1000
        Rows in each group.
    random_state : int, Generator, RandomState, SeedSequence or None, default=None
        Source of randomness; the same int gives the same data.

    Returns
    -------
    X : ndarray of shape (2 * n_samples, 3)
        Pooled rows, the first group first.
    y : ndarray of shape (2 * n_samples,)
        0 for the first group (the paper's X), 1 for the second (Y).

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff.datasets import make_gaussian_pair
    >>> X, y = make_gaussian_pair(500, random_state=0)
    >>> X.shape
    (1000, 3)
    >>> [bool(abs(np.corrcoef(X[y == g, 0], X[y == g, 1])[0, 1]) > 0.8) for g in (0, 1)]
    [False, True]
    """
    n_samples = _check_count(n_samples, "n_samples")
    seeds = _seed_sequence(random_state).spawn(2)
    covariances = (_PAIR_COVARIANCE_FIRST, _PAIR_COVARIANCE_SECOND)
    groups = [
        np.random.default_rng(seed).standard_normal((n_samples, 3)) @ np.linalg.cholesky(cov).T
        for seed, cov in zip(seeds, covariances, strict=True)
    ]
    return np.concatenate(groups), _group_labels(n_samples, n_samples)


def make_block_gaussians(
    n_features: int = 60,
    n_samples: int = 100,
    *,
    n_samples_second: int | None = None,
    null: bool = False,
    random_state: Seed = None,
) -> tuple[FloatArray, IntArray]:
    """Draw the block-Gaussian pairs of the paper's Fig. 1c.

    The features come in independent blocks of three with mean zero. The covariance of a block is
    drawn from the Wishart distribution with identity scale and 3 degrees of freedom, and is the
    same in both groups, except in the first block, where each group has its own: all differences
    lie in the first three features.

    Parameters
    ----------
    n_features : int, default=60
        Number of features, a multiple of 3.
    n_samples : int, default=100
        Rows in the first group.
    n_samples_second : int or None, default=None
        Rows in the second group; None means as many as in the first.
    null : bool, default=False
        Share the covariance of the first block too, so that the groups do not differ. The first
        group stays the same.
    random_state : int, Generator, RandomState, SeedSequence or None, default=None
        Source of randomness. For the same int, more features means more columns appended: the
        smaller data set is the first columns of the larger, as in the paper's experiment.

    Returns
    -------
    X : ndarray of shape (n_samples + n_samples_second, n_features)
        Pooled rows, the first group first.
    y : ndarray of shape (n_samples + n_samples_second,)
        0 for the first group, 1 for the second.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff.datasets import make_block_gaussians
    >>> X, y = make_block_gaussians(6, 50, n_samples_second=80, random_state=0)
    >>> X.shape
    (130, 6)
    >>> wider, _ = make_block_gaussians(60, 50, n_samples_second=80, random_state=0)
    >>> bool(np.array_equal(X, wider[:, :6]))
    True
    """
    n_features = _check_count(n_features, "n_features")
    if n_features % _BLOCK:
        raise ValueError(f"n_features must be a multiple of {_BLOCK}, got {n_features}")
    n_first = _check_count(n_samples, "n_samples")
    n_second = n_first if n_samples_second is None else _check_count(n_samples_second, "n_samples_second")
    seeds = _seed_sequence(random_state).spawn(n_features // _BLOCK)
    blocks = [
        _draw_block(seed, n_first, n_second, shared=null or number > 0) for number, seed in enumerate(seeds)
    ]
    return np.concatenate(blocks, axis=1), _group_labels(n_first, n_second)


def _draw_block(seed: np.random.SeedSequence, n_first: int, n_second: int, *, shared: bool) -> FloatArray:
    """Rows of both groups for one block of features, shape (n_first + n_second, 3).

    Each quantity has its own stream, so that changing a sample size, or `shared`, changes
    nothing else.
    """
    factor_first, factor_second, rows_first, rows_second = (
        np.random.default_rng(child) for child in seed.spawn(4)
    )
    # A standard normal matrix A with 3 columns makes A A' a Wishart(I, 3) covariance, and
    # A times a standard normal vector has that covariance.
    first = factor_first.standard_normal((_BLOCK, _BLOCK))
    second = first if shared else factor_second.standard_normal((_BLOCK, _BLOCK))
    return np.concatenate(
        [
            rows_first.standard_normal((n_first, _BLOCK)) @ first.T,
            rows_second.standard_normal((n_second, _BLOCK)) @ second.T,
        ]
    )


def _group_labels(n_first: int, n_second: int) -> IntArray:
    return np.repeat(np.arange(2, dtype=np.int64), [n_first, n_second])


def _check_count(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
    return int(value)


def _seed_sequence(random_state: Seed) -> np.random.SeedSequence:
    if isinstance(random_state, np.random.SeedSequence):
        # Spawning counts up inside the sequence: a copy gives the same data at every call.
        return np.random.SeedSequence(
            random_state.entropy, spawn_key=random_state.spawn_key, pool_size=random_state.pool_size
        )
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(2**32, size=4).tolist())
    if isinstance(random_state, np.random.RandomState):
        words = random_state.randint(2**32, size=4, dtype=np.uint32)
        return np.random.SeedSequence(words.tolist())
    return np.random.SeedSequence(random_state)


# --------------------------------------------------------------------------------------
# MADELON
# --------------------------------------------------------------------------------------


def load_madelon(
    path: PathLike | None = None,
    *,
    subset: Literal["train", "valid", "test"] = "train",
    download: bool = False,
    data_home: PathLike | None = None,
) -> Bunch:
    """Load MADELON, of the NIPS 2003 feature selection challenge.

    Two groups of points on the vertices of a five-dimensional hypercube: 5 features, 15 noisy
    linear combinations of them, and 480 features that say nothing. All values are integers, so
    there are ties.

    Parameters
    ----------
    path : path-like or None, default=None
        The file ``madelon.npz``, or the directory that holds it. None means the directory
        named by the environment variable ``PRINCDIFF_DATA``.
    subset : {"train", "valid", "test"}, default="train"
        Which rows: 2000 for training, 600 for validation, 1800 for testing (without labels).
    download : bool, default=False
        Fetch the data from OpenML (name ``madelon``, version 1) where no local file is found. It
        serves the 2600 rows of the training and validation sets, not the test set.
    data_home : path-like or None, default=None
        Where downloads are kept; None means scikit-learn's data directory.

    Returns
    -------
    Bunch
        - ``data`` : ndarray of shape (n_rows, 500), float64
        - ``target`` : ndarray of shape (n_rows,), int64 of -1 and +1; None for the test set
        - ``feature_names`` : ndarray of shape (500,), ``x0`` to ``x499``
        - ``relevant`` : ndarray of shape (20,), the columns that carry the difference. For
          scoring a result only, never for obtaining one.

    Raises
    ------
    FileNotFoundError
        If there is no local file and `download` is False, or if `path` does not exist.
    ValueError
        If the file lacks an array or its shapes do not fit.

    Examples
    --------
    >>> from princdiff.datasets import load_madelon
    >>> madelon = load_madelon("path/to/data")  # doctest: +SKIP
    >>> madelon.data.shape  # doctest: +SKIP
    (2000, 500)
    """
    if subset not in ("train", "valid", "test"):
        raise ValueError(f"subset must be 'train', 'valid' or 'test', got {subset!r}")
    local = _find_local(path, "madelon.npz", download=download)
    data, target = _fetch_madelon(subset, data_home) if local is None else _read_madelon(local, subset)
    return Bunch(
        data=data,
        target=target,
        feature_names=np.array([f"x{j}" for j in range(_MADELON_FEATURES)]),
        relevant=np.array(_MADELON_RELEVANT),
    )


def _read_madelon(path: Path, subset: str) -> tuple[FloatArray, IntArray | None]:
    names = [f"X_{subset}"] if subset == "test" else [f"X_{subset}", f"y_{subset}"]
    arrays = _read_npz(path, names)
    data = arrays[f"X_{subset}"]
    if data.ndim != 2 or data.shape[1] != _MADELON_FEATURES:
        raise ValueError(
            f"{path}: X_{subset} must have {_MADELON_FEATURES} columns, its shape is {data.shape}"
        )
    target = arrays.get(f"y_{subset}")
    if target is not None and target.shape != (len(data),):
        raise ValueError(f"{path}: y_{subset} has shape {target.shape}, but X_{subset} has {len(data)} rows")
    # float64, since differences of the stored unsigned integers would wrap around.
    return data.astype(np.float64), None if target is None else target.astype(np.int64)


def _fetch_madelon(subset: str, data_home: PathLike | None) -> tuple[FloatArray, IntArray]:
    if subset == "test":
        raise ValueError(
            "OpenML serves the training and validation rows of MADELON only: "
            "give path= to a madelon.npz that holds X_test"
        )
    bunch = fetch_openml("madelon", version=1, as_frame=False, data_home=data_home)
    return _split_openml_madelon(bunch.data, bunch.target, subset)


def _split_openml_madelon(
    data: ArrayLike, classes: Iterable[object], subset: str
) -> tuple[FloatArray, IntArray]:
    """Cut OpenML's table, the training rows and then the validation rows, into its two parts."""
    values = np.asarray(data, dtype=np.float64)
    labels = [str(label) for label in classes]
    start = 0 if subset == "train" else _MADELON_TRAIN_ROWS
    length = _MADELON_TRAIN_ROWS if subset == "train" else _MADELON_VALID_ROWS
    opening = _MADELON_TRAIN_START if subset == "train" else _MADELON_VALID_START
    expected = (_MADELON_TRAIN_ROWS + _MADELON_VALID_ROWS, _MADELON_FEATURES)
    # The opening numbers tell whether the rows are still in the order this relies on.
    if (
        values.shape != expected
        or len(labels) != len(values)
        or not set(labels) <= set(_MADELON_OPENML_CLASSES)
        or tuple(values[start, : len(opening)]) != opening
    ):
        raise ValueError(
            "OpenML's madelon is not the expected table (2600 rows in the challenge's order, "
            "500 features, classes 1 and 2): give path= to a local madelon.npz"
        )
    target = np.array([_MADELON_OPENML_CLASSES[label] for label in labels], dtype=np.int64)
    rows = slice(start, start + length)
    return values[rows], target[rows]


# --------------------------------------------------------------------------------------
# Zeisel et al. 2015
# --------------------------------------------------------------------------------------


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
    local = _find_local(path, "zeisel.npz", download=download)
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
    arrays = _read_npz(path, _ZEISEL_REQUIRED, _ZEISEL_OPTIONAL)
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
        sources = [_download(url, home) for url in (_GEO_COUNTS_URL, _GEO_CELLS_URL)]
        _save_npz(parsed, _parse_geo(*sources))
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
    """Tissue, and what else GEO tells of each cell, in the order of `cell_id`."""
    lines = _sample_lines(path)
    order = _order_of_cells(path, lines, cell_id)
    sources = [values for field, values in lines if field == "source_name_ch1"]
    if not sources:
        raise ValueError(f"{path}: no line !Sample_source_name_ch1, which names the tissue")
    found = {"tissue": np.array(sources[0])[order]}
    # A value is "key: value", and a line may mix keys, so each value is asked for its own.
    told: dict[str, list[str]] = {}
    for field, values in lines:
        if field != "characteristics_ch1":
            continue
        for cell, value in enumerate(values):
            key, _, text = value.partition(":")
            key = key.lower().replace(" ", "")
            if key in _GEO_CHARACTERISTICS:
                told.setdefault(key, [""] * len(values))[cell] = text.strip()
    return found | {key: np.array(values)[order] for key, values in told.items()}


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


# --------------------------------------------------------------------------------------
# Files
# --------------------------------------------------------------------------------------


def _find_local(path: PathLike | None, filename: str, *, download: bool) -> Path | None:
    """Where the local file is; None where it shall be downloaded."""
    if path is not None:
        return _existing_file(Path(path).expanduser(), filename)
    directory = os.environ.get(DATA_VARIABLE)
    if directory:
        try:
            return _existing_file(Path(directory).expanduser(), filename)
        except FileNotFoundError:
            if not download:
                raise
    if download:
        return None
    raise FileNotFoundError(
        f"no local {filename}: give path= (the file or its directory), set the environment "
        f"variable {DATA_VARIABLE} to its directory, or let download=True fetch the data"
    )


def _existing_file(place: Path, filename: str) -> Path:
    file = place / filename if place.is_dir() else place
    if not file.is_file():
        raise FileNotFoundError(f"no file {file}: expected {filename} or the directory that holds it")
    return file


def _read_npz(path: Path, required: Iterable[str], optional: Iterable[str] = ()) -> dict[str, np.ndarray]:
    with path.open("rb") as stream:
        try:
            archive = np.load(stream, allow_pickle=False)
        except (ValueError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} is not a readable npz file: {error}") from error
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError(f"{path} is not an npz file with named arrays")
        missing = [name for name in required if name not in archive.files]
        if missing:
            raise ValueError(
                f"{path} lacks the array {', '.join(missing)}; "
                f"it holds {', '.join(archive.files) or 'nothing'}"
            )
        wanted = [*required, *(name for name in optional if name in archive.files)]
        return {name: archive[name] for name in wanted}


def _save_npz(path: Path, arrays: dict[str, np.ndarray]) -> None:
    with _written_beside(path) as partial:
        np.savez_compressed(partial, **arrays)  # type: ignore[arg-type]


def _download(url: str, directory: Path, *, timeout: float = 60.0) -> Path:
    """Fetch `url` into `directory`, unless it is there already."""
    target = directory / url.rsplit("/", 1)[-1]
    if target.exists():
        return target
    with urllib.request.urlopen(url, timeout=timeout) as response:
        announced = response.headers.get("Content-Length")
        with _written_beside(target) as partial:
            with partial.open("wb") as stream:
                shutil.copyfileobj(response, stream)
            # A connection that breaks off reads as an end of file.
            if announced is not None and partial.stat().st_size != int(announced):
                raise OSError(f"{url}: the download broke off, try again")
    return target


@contextmanager
def _written_beside(target: Path) -> Iterator[Path]:
    """Give a path to write to, and rename it to `target` only when all is written.

    So a file under its final name is always complete, also when two processes fetch at once.
    """
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=target.stem, suffix=f".partial{target.suffix}")
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _open_text(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")
