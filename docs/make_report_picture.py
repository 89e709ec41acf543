"""Take docs/images/report.png: the head of the report of the example in the README, as a browser shows it.

Run it from anywhere: python docs/make_report_picture.py (needs Chromium and the
extra "report").
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from sklearn.datasets import load_breast_cancer

from princdiff import compare

PICTURE = Path(__file__).parent / "images" / "report.png"
SIZE = 1200, 1060


def main() -> None:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        raise SystemExit("Chromium is needed, and was not found")
    tumours = load_breast_cancer(as_frame=True)
    table = tumours.data.iloc[:, :10].assign(diagnosis=tumours.target.map({0: "malignant", 1: "benign"}))
    with tempfile.TemporaryDirectory() as folder:
        page = compare(table, groups="diagnosis", n_permutations=199).to_html(Path(folder) / "report.html")
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
        flags += ["--disable-background-networking", f"--user-data-dir={folder}/profile"]
        words = [f"--window-size={SIZE[0]},{SIZE[1]}", f"--screenshot={PICTURE}", Path(page).as_uri()]
        subprocess.run([browser, *flags, *words], check=True, capture_output=True)


if __name__ == "__main__":
    main()
