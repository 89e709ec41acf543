"""Profiles in files: whole or refused."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pandas as pd
import pytest

import princdiff
from princdiff.profiles.profile_file import from_bytes, is_profile, to_bytes


@pytest.fixture(scope="module")
def profile() -> princdiff.Profile:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20_000, 15)), columns=[f"x{j}" for j in range(15)])
    for j in range(5):
        frame[f"c{j}"] = rng.choice(list("abcdefgh"), len(frame))
    return princdiff.profile(frame)


def test_what_is_saved_is_read_again(profile, tmp_path):
    path = tmp_path / "january.profile"
    profile.save(path)
    assert is_profile(path)
    assert path.stat().st_size < 5e6
    found = princdiff.load_profile(path)
    assert found.ruler == profile.ruler
    assert found.about == profile.about
    (mine,), (others,) = profile.groups.values(), found.groups.values()
    for a, b in zip(
        [mine.rows, *mine.counts, *mine.sums], [others.rows, *others.counts, *others.sums], strict=True
    ):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(mine.products, others.products)
    for name in profile.sample.rows:
        pd.testing.assert_frame_equal(found.sample.frame(name), profile.sample.frame(name))
    assert to_bytes(found) == to_bytes(profile)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_file_cut_short_is_refused(profile, tmp_path, share):
    content = to_bytes(profile)
    path = tmp_path / "cut.profile"
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"cut\.profile is not a whole profile"):
        princdiff.load_profile(path)


def test_a_damaged_file_is_refused(profile, tmp_path):
    content = bytearray(to_bytes(profile))
    content[len(content) // 2] ^= 0xFF
    path = tmp_path / "damaged.profile"
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"damaged\.profile is not a whole profile"):
        princdiff.load_profile(path)


def test_a_later_format_is_refused(profile, tmp_path):
    path = tmp_path / "later.profile"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("profile.json", json.dumps({"kind": "princdiff profile", "format": 99}))
    with pytest.raises(ValueError, match="later version"):
        princdiff.load_profile(path)


def test_saving_writes_all_or_nothing(profile, tmp_path):
    with pytest.raises(OSError):
        profile.save(tmp_path / "no folder" / "january.profile")
    assert list(tmp_path.iterdir()) == []
    assert from_bytes(to_bytes(profile)).n_rows == profile.n_rows
