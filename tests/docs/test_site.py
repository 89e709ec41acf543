"""The site, built without running the tutorials and opened in a browser.

`PRINCDIFF_SITE=build/docs/html` opens one that is built already, tutorials and all.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.whole

pytest.importorskip("sphinx_gallery", reason="the extra 'docs' is not installed: the site was not built")
pytest.importorskip("pydata_sphinx_theme", reason="the extra 'docs' is not installed: the site was not built")

ROOT = Path(__file__).parents[2]
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
TUTORIALS = sorted(path.stem for path in (ROOT / "docs" / "tutorials").glob("*.py"))
PAGES = (
    "index.html",
    "install.html",
    "auto_tutorials/index.html",
    *(f"auto_tutorials/{name}.html" for name in TUTORIALS),
    "howto/singlecell.html",
    "explanation/others.html",
    "explanation/promises.html",
    "reference/api.html",
    "reference/api/princdiff.compare.html",
    "reference/api/princdiff.SPARDA.html",
    "reference/cli.html",
    "reference/results.html",
)
_PATIENCE = 600


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the site; of several workers one builds it and the others wait."""
    given = os.environ.get("PRINCDIFF_SITE")
    if given:
        return Path(given).resolve()
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, done = shared / "site", shared / "site.log"
    try:
        folder.mkdir()
    except FileExistsError:
        limit = time.monotonic() + _PATIENCE
        while not done.exists() and time.monotonic() < limit:
            time.sleep(0.2)
    else:
        command = [sys.executable, str(ROOT / "tools" / "build_docs.py"), "--quick", "--output"]
        built = subprocess.run([*command, str(folder / "html")], capture_output=True, text=True)
        log = f"exit code {built.returncode}\n{built.stdout}{built.stderr}"
        (shared / "site.part").write_text(log)
        os.replace(shared / "site.part", done)
    log = done.read_text()
    assert log.startswith("exit code 0"), log
    return folder / "html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    if not (BROWSER and DRIVER):
        pytest.skip("no Chromium with chromedriver is installed: the site was not opened")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.chrome.service.Service(DRIVER))
    # A site that needs no network works without one.
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["http://*", "https://*"]})
    yield driver
    driver.quit()


@pytest.fixture
def look(browser, site):
    """Open a page at a width, light or dark."""

    def open_page(page, width=1280, scheme="light"):
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        name, _, query = page.partition("?")
        browser.get((site / name).as_uri() + (f"?{query}" if query else ""))
        return browser

    return open_page


def _text(browser):
    return browser.execute_script("return document.querySelector('main, .bd-main').innerText")


def test_the_front_page_asks_the_question_and_leads_to_the_four_kinds_of_pages(look):
    browser = look("index.html")
    assert "Do these populations differ, in what, and how sure are we?" in _text(browser)
    links = browser.execute_script(
        "return [...document.querySelectorAll('.sd-card a')].map(a => a.innerText)"
    )
    assert len(links) >= 4
    for word in ("Tutorials", "How-to guides", "Explanation", "Reference"):
        assert word in _text(browser)


@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("pseudoreplication", "singlecell"),
        ("select_features", "api"),
        ("blocks", "princdiff.compare"),
        ("donor", "howto/singlecell"),
        ("drift", "howto/drift"),
        ("permutation", "princdiff.permutation_test"),
    ],
)
def test_the_search_finds_a_word_without_a_network(look, word, page):
    browser = look(f"search.html?q={word}")
    limit = time.monotonic() + 20
    found = []
    # Results appear one after the other.
    while not any(page in link for link in found) and time.monotonic() < limit:
        found = browser.execute_script(
            "return [...document.querySelectorAll('#search-results li a')].map(a => a.href)"
        )
        time.sleep(0.1)
    assert any(page in link for link in found), found
    # Pages for those who work on princdiff itself do not stand in the way.
    assert not [link for link in found if "/decisions/" in link], found


def test_an_api_page_shows_signature_parameters_and_example(look):
    text = _text(look("reference/api/princdiff.compare.html"))
    for word in ("n_permutations", "Parameters:", "Returns:", "Examples", ">>> "):
        assert word in text
    sparda = _text(look("reference/api/princdiff.SPARDA.html"))
    assert "fit(" in sparda and "transform(" in sparda


def test_the_gallery_shows_every_tutorial(look):
    from selenium.webdriver.support.ui import WebDriverWait

    browser = look("auto_tutorials/index.html")
    count = "return document.querySelectorAll('.sphx-glr-thumbcontainer').length"
    WebDriverWait(browser, 20).until(lambda page: page.execute_script(count))
    assert browser.execute_script(count) == len(TUTORIALS) == 5


def test_the_page_of_the_command_line_has_every_command_and_option(look):
    from princdiff.cli.main import build_parser

    text = _text(look("reference/cli.html"))
    commands = next(action for action in build_parser()._actions if action.dest != "help" and action.choices)
    for name, parser in commands.choices.items():
        assert f"princdiff {name}" in text
        for action in parser._actions:
            if action.option_strings and action.help != "==SUPPRESS==":
                assert action.option_strings[-1] in text, (name, action.option_strings)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_its_window_and_reports_no_error(look, browser, page):
    browser.get_log("browser")  # what pages before this one reported
    for width in (1280, 400):
        browser = look(page, width)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width, width
    log = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    # The theme itself says so to every reader who has not chosen light or dark before.
    assert [message for message in log if "invalid theme mode" not in message] == []
    images = "return [...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
    assert browser.execute_script(images) == []


def test_dark_mode_follows_the_readers_setting(look):
    lightness = {}
    for scheme in ("light", "dark"):
        browser = look("reference/api/princdiff.compare.html", scheme=scheme)
        assert browser.execute_script("return document.documentElement.dataset.theme") == scheme
        colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        lightness[scheme] = sum(map(int, colour.split("(")[1].split(")")[0].split(",")[:3])) / 3
    assert lightness["light"] > 200 > 60 > lightness["dark"]
