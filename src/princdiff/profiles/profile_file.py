"""One file for a profile: sums compressed, rows as parquet, a header in JSON; nothing that could be run."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princdiff.extras import extra
from princdiff.files import replacing
from princdiff.profiles.group_sums import GroupSums
from princdiff.profiles.profiling import Profile
from princdiff.profiles.ruler import CountedColumn, Ruler
from princdiff.profiles.sampled_rows import SampledRows
from princdiff.tables import Coding

KIND, FORMAT = "princdiff profile", 1


def save_profile(profile: Profile, path: str | Path) -> None:
    """Write a profile at once or not at all."""
    content = to_bytes(profile)
    with replacing(path) as beside:
        beside.write_bytes(content)


def load_profile(path: str | Path) -> Profile:
    """Read a profile that `Profile.save` wrote.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    Profile

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import princdiff
    >>> rows = pd.DataFrame({"size": np.random.default_rng(0).normal(size=5000)})
    >>> princdiff.profile(rows, sample_rows=100).save("january.profile")
    >>> princdiff.load_profile("january.profile").n_rows
    5000
    """
    given: Any = path
    if not isinstance(given, (str, Path)) or str(given) == "":
        raise ValueError(f"path must be the path of a file, got {path!r}")
    file = Path(path).expanduser()
    if not file.is_file():
        raise FileNotFoundError(f"no such file: {str(path)!r}")
    try:
        return from_bytes(file.read_bytes())
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, TypeError, EOFError) as error:
        raise ValueError(f"{file.name} is not a whole profile: {error}") from error


def is_profile(path: Any) -> bool:
    """Whether a path is that of a file with a profile.

    Examples
    --------
    >>> is_profile("no-such-file.profile")
    False
    """
    if not isinstance(path, (str, Path)) or not Path(path).expanduser().is_file():
        return False
    try:
        with zipfile.ZipFile(Path(path).expanduser()) as archive:
            return archive.comment == KIND.encode()
    except (zipfile.BadZipFile, OSError):
        return False


def to_bytes(profile: Profile) -> bytes:
    """A profile as one piece, which also travels between processes."""
    header = {
        "kind": KIND,
        "format": FORMAT,
        "ruler": asdict(profile.ruler),
        "groups": list(profile.groups),
        "seen": [group.seen for group in profile.groups.values()],
        "sampled": list(profile.sample.rows),
        "sample_rows": profile.sample_rows,
        "grouped": profile.grouped,
        "about": profile.about,
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=4) as archive:
        archive.comment = KIND.encode()
        _write(archive, "profile.json", json.dumps(header))
        for number, group in enumerate(profile.groups.values()):
            for name, array in _arrays(group).items():
                _write(archive, f"{number}/{name}.npy", _packed(array))
        for number, (name, table) in enumerate(profile.sample.rows.items()):
            _write(archive, f"sample {number}.parquet", _parquet(table))
            _write(archive, f"sample {number} keys.npy", _packed(profile.sample.keys[name]))
    return content.getvalue()


def from_bytes(content: bytes) -> Profile:
    """The profile that `to_bytes` made one piece of."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        header = json.loads(archive.read("profile.json"))
        if header.get("kind") != KIND:
            raise ValueError("it is not a profile of princdiff")
        if header["format"] > FORMAT:
            raise ValueError(
                f"it has format {header['format']}, written by a later version; this one reads {FORMAT}"
            )
        ruler = _ruler(header["ruler"])
        groups = {}
        for number, (name, seen) in enumerate(zip(header["groups"], header["seen"], strict=True)):
            found = {
                part: _unpacked(archive.read(f"{number}/{part}.npy"))
                for part in ("rows", "counts", "sums", "products")
            }
            groups[name] = _group(found, ruler, seen)
        rows, keys = {}, {}
        for number, name in enumerate(header["sampled"]):
            rows[name] = _table(archive.read(f"sample {number}.parquet"))
            keys[name] = _unpacked(archive.read(f"sample {number} keys.npy"))
    sample = SampledRows(rows, keys)
    return Profile(ruler, groups, sample, header["sample_rows"], header["grouped"], header["about"])


def _write(archive: zipfile.ZipFile, name: str, content: bytes | str) -> None:
    # Without the time of day: the same profile is the same file.
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)


def _arrays(group: GroupSums) -> dict[str, NDArray]:
    first, second = np.triu_indices(group.products.shape[1])
    return {
        "rows": group.rows,
        "counts": np.concatenate(group.counts, axis=1),
        "sums": np.concatenate(group.sums, axis=1),
        "products": group.products[:, first, second],
    }


def _group(found: dict[str, NDArray], ruler: Ruler, seen: int) -> GroupSums:
    """A group from its arrays, whose shapes must fit together."""
    n_chunks, pairs = len(found["rows"]), len(ruler.in_pairs)
    starts = ruler.starts
    first, second = np.triu_indices(pairs)
    expected = {
        "rows": (n_chunks,),
        "counts": (n_chunks, int(starts[-1])),
        "sums": (n_chunks, 2 * len(ruler.columns)),
        "products": (n_chunks, len(first)),
    }
    for name, shape in expected.items():
        if found[name].shape != shape:
            raise ValueError(f"{name} have the shape {found[name].shape} instead of {shape}")
    products = np.zeros((n_chunks, pairs, pairs), dtype=np.int64)
    products[:, first, second] = products[:, second, first] = found["products"]
    return GroupSums(
        found["rows"],
        [found["counts"][:, a:b] for a, b in pairwise(starts.tolist())],
        [found["sums"][:, 2 * k : 2 * k + 2] for k in range(len(ruler.columns))],
        products,
        seen,
    )


def _ruler(header: dict[str, Any]) -> Ruler:
    columns = tuple(
        CountedColumn(
            Coding(**column["coding"]),
            tuple(column["bounds"]),
            column["centre"],
            column["scale"],
            tuple(column["values"]),
            tuple(column["scores"]),
        )
        for column in header["columns"]
    )
    return Ruler(columns, header["left_out"], tuple(header["notes"]))


def _packed(array: NDArray) -> bytes:
    """An array in the smallest type that holds it, the bytes of a kind side by side, which compress well."""
    if array.dtype.kind == "i" and array.size and np.abs(array).max() < 2**31:
        array = array.astype(np.int32)
    turned = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(-1, array.itemsize).T
    content = io.BytesIO()
    shape = json.dumps([array.dtype.str, list(array.shape)]).encode()
    content.write(len(shape).to_bytes(4, "little") + shape)
    np.save(content, np.ascontiguousarray(turned), allow_pickle=False)
    return content.getvalue()


def _unpacked(content: bytes) -> NDArray:
    size = int.from_bytes(content[:4], "little")
    dtype, shape = json.loads(content[4 : 4 + size])
    turned = np.load(io.BytesIO(content[4 + size :]), allow_pickle=False)
    array = np.ascontiguousarray(turned.T).reshape(-1).view(np.dtype(dtype)).reshape(shape)
    return array.astype(np.int64) if array.dtype.kind == "i" else array


def _parquet_library() -> Any:
    return extra("pyarrow.parquet", "parquet", "a profile")


def _parquet(table: Any) -> bytes:
    content = io.BytesIO()
    _parquet_library().write_table(table, content, compression="zstd", use_dictionary=True)
    return content.getvalue()


def _table(content: bytes) -> Any:
    return _parquet_library().read_table(io.BytesIO(content))
