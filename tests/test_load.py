"""Many comparisons in one process: what they open they close, and threads do not disturb each other."""

import gc
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from princdiff import compare

pytestmark = pytest.mark.whole


def answer(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
    frame["city"] = rng.choice(["Oslo", "Rome"], size=80)
    frame.loc[40:, "b"] += 1
    result = compare(frame, groups=np.arange(80) >= 40, n_permutations=19)
    return result.pvalue, result.selected, result.directions.to_numpy().tobytes()


def test_threads_find_what_one_thread_finds():
    expected = [answer(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(answer, range(4))) == expected


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="files are counted on Linux only")
def test_no_file_stays_open():
    answer(0)
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for seed in range(3):
        answer(seed)
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before
