"""MADELON, of the NIPS 2003 feature selection challenge: from a local file or from OpenML."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.datasets import fetch_openml
from sklearn.utils import Bunch

from princdiff.datasets.downloads import PathLike, find_local, read_npz

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

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
    local = find_local(path, "madelon.npz", download=download)
    data, target = _fetch_madelon(subset, data_home) if local is None else _read_madelon(local, subset)
    return Bunch(
        data=data,
        target=target,
        feature_names=np.array([f"x{j}" for j in range(_MADELON_FEATURES)]),
        relevant=np.array(_MADELON_RELEVANT),
    )


def _read_madelon(path: Path, subset: str) -> tuple[FloatArray, IntArray | None]:
    names = [f"X_{subset}"] if subset == "test" else [f"X_{subset}", f"y_{subset}"]
    arrays = read_npz(path, names)
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
    # The opening numbers show whether the rows are still in the order this relies on.
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
