"""The HTML report in a browser: what a person sees and does. Needs Chromium and its driver."""

import base64
import dataclasses
import shutil
import time

import numpy as np
import pytest
from made_up import NAMES, NASTY, made_up

from princdiff.result.parts import PathPart, TestPart

pytest.importorskip("vl_convert", reason="the extra 'report' is not installed")
webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="no Chromium with chromedriver is installed: the page was not opened"
)
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser, tmp_path):
    """Write a result's report and open it, in a window of a given width."""

    def open_report(result, width=1280, height=900):
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        target = result.to_html(tmp_path / "report.html")
        browser.get_log("browser")
        browser.get(target.as_uri())
        wait(lambda: len(browser.find_elements(By.CSS_SELECTOR, "[data-chart] svg")) == _charts(result))
        return browser

    yield open_report
    # Whatever a test did, the page had nothing to complain about: no error, no refused script.
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def _charts(result) -> int:
    return 1 + (len(result.null) > 0) + bool(result.path) + (len(result.test.split_pvalues) > 0)


def wait(condition, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the page did not get there in time"
        time.sleep(0.05)


def names(page) -> list[str]:
    script = "return [...document.querySelectorAll('#table td.name')].map(cell => cell.textContent)"
    return page.execute_script(script)


def head(page, title: str):
    return next(
        cell
        for cell in page.find_elements(By.CSS_SELECTOR, "#table th")
        if cell.text.strip().split("\u2009")[0] == title
    )


def test_the_answer_and_every_chart_are_shown(opened):
    result = made_up()
    page = opened(result)
    assert "The groups before and after differ (p = 0.01)" in page.find_element(By.CLASS_NAME, "answer").text
    for chart in page.find_elements(By.CSS_SELECTOR, "[data-chart] svg"):
        assert chart.size["width"] > 300
        assert chart.size["height"] > 50
    paths = page.find_elements(By.CSS_SELECTOR, "[data-chart='projection-0'] .mark-area path")
    assert len({path.value_of_css_property("fill") for path in paths}) == 2


def test_the_table_sorts(opened):
    result = made_up(30)
    page = opened(result)
    assert names(page) == result.table["feature"].tolist()
    assert head(page, "share").get_attribute("aria-sort") == "descending"
    button = head(page, "weight").find_element(By.TAG_NAME, "button")
    button.click()
    order = result.table.sort_values("weight", ascending=False)["feature"].tolist()
    assert names(page) == order
    button.send_keys(Keys.ENTER)
    assert names(page) == order[::-1]
    assert head(page, "weight").get_attribute("aria-sort") == "ascending"
    assert head(page, "share").get_attribute("aria-sort") is None
    head(page, "feature").find_element(By.TAG_NAME, "button").click()
    # Numbers in names count as numbers: 2 before 10.
    assert names(page) == [f"measurement number {j}" for j in range(30)]


def test_unknown_values_come_last_either_way(opened):
    result = made_up(6)
    result.table.loc[2, "pvalue"] = np.nan
    page = opened(result)
    for _ in range(2):
        head(page, "p-value").find_element(By.TAG_NAME, "button").click()
        assert names(page)[-1] == "measurement number 2"


def test_search_and_selection_filter(opened):
    page = opened(made_up(30))
    search = page.find_element(By.ID, "search")
    search.send_keys("NUMBER 2")
    assert names(page) == ["measurement number 2", *(f"measurement number {j}" for j in range(20, 30))]
    assert page.find_element(By.ID, "count").text == "11 features"
    search.send_keys("zzz")
    assert names(page) == []
    assert "No feature matches." in page.find_element(By.ID, "table").text
    search.clear()
    page.find_element(By.ID, "only").click()
    assert len(names(page)) == 5


def test_a_click_shows_the_feature(opened):
    result = made_up(400)
    page = opened(result)
    rows = page.find_elements(By.CSS_SELECTOR, "#table tbody tr")
    rows[3].click()
    panel = page.find_element(By.ID, "panel")
    assert page.find_element(By.ID, "chosen").text == "measurement number 3"
    wait(lambda: page.find_elements(By.CSS_SELECTOR, "#distribution .mark-area path"))
    assert len(page.find_elements(By.CSS_SELECTOR, "#distribution .mark-area path")) == 2
    assert f"{100 * result.table['share'][3]:.1f}" in panel.text
    assert "chosen" in rows[3].get_attribute("class")
    # Quick clicks, one after the other, end with the last one's picture, once.
    for row in rows[4:12]:
        row.click()
    time.sleep(1)
    assert page.find_element(By.ID, "chosen").text == "measurement number 11"
    assert len(page.find_elements(By.CSS_SELECTOR, "#distribution svg")) == 1
    # Beyond the features whose distribution is kept, the page says so.
    page.find_element(By.ID, "search").send_keys("number 350")
    page.find_element(By.CSS_SELECTOR, "#table td.name button").send_keys(Keys.ENTER)
    assert page.find_element(By.ID, "chosen").text == "measurement number 350"
    assert page.find_element(By.ID, "unkept").is_displayed()
    assert not page.find_element(By.ID, "distribution").is_displayed()


def test_pointing_at_a_chart_tells_its_figures(opened):
    page = opened(made_up(groups=(NASTY, "b")))
    chart = page.find_element(By.CSS_SELECTOR, "[data-chart='projection-0'] svg")
    webdriver.ActionChains(page).move_to_element(chart).perform()
    wait(lambda: "visible" in page.find_element(By.ID, "vg-tooltip-element").get_attribute("class"))
    assert "of its rows lie below" in page.find_element(By.ID, "vg-tooltip-element").text
    assert page.find_elements(By.CSS_SELECTOR, "#vg-tooltip-element script") == []


def test_nasty_names_are_harmless(opened):
    page = opened(made_up(names=NAMES, groups=(NASTY, "</script>", "plain")))
    assert len(page.find_elements(By.TAG_NAME, "script")) == 3
    assert page.find_elements(By.CSS_SELECTOR, "body img") == []
    assert names(page)[0] == NASTY
    assert len(names(page)) == len(NAMES)
    for row in page.find_elements(By.CSS_SELECTOR, "#table tbody tr"):
        page.execute_script("arguments[0].click()", row)
        assert page.find_element(By.ID, "chosen").get_attribute("textContent") in names(page)
        wait(lambda: page.find_elements(By.CSS_SELECTOR, "#distribution svg"))
    assert not page.execute_script("return document.documentElement.scrollWidth > window.innerWidth")


@pytest.mark.parametrize("width", [320, 390, 820])
def test_narrow_windows_do_not_scroll_sideways(opened, width):
    page = opened(made_up(names=NAMES, groups=(NASTY, "long " * 60)), width=width)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    panel = page.find_element(By.ID, "panel")
    assert not panel.is_displayed()
    row = page.find_element(By.CSS_SELECTOR, "#table tbody tr")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", row)
    row.click()
    assert panel.is_displayed()
    wait(lambda: page.find_element(By.CSS_SELECTOR, "#distribution svg").size["width"] > width / 2)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    page.find_element(By.ID, "close").click()
    assert not panel.is_displayed()


def test_ten_thousand_features_open_fast_and_are_all_found(opened):
    page = opened(made_up(10_000))
    assert len(names(page)) == 200
    assert "of 10000" in page.find_element(By.ID, "count").text
    loaded = page.execute_script("return performance.timing.domComplete - performance.timing.navigationStart")
    assert loaded < 10_000
    page.find_element(By.ID, "more").click()
    assert len(names(page)) == 400
    page.find_element(By.ID, "search").send_keys("number 9876")
    assert names(page) == ["measurement number 9876"]


def test_light_and_dark_and_print(opened):
    page = opened(made_up())

    def ground() -> str:
        return page.find_element(By.TAG_NAME, "body").value_of_css_property("background-color")

    def emulate(scheme: str) -> None:
        wanted = [{"name": "prefers-color-scheme", "value": scheme}]
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wanted})

    emulate("light")
    light = ground()
    line = page.find_element(By.CSS_SELECTOR, "[data-chart='projection-0'] .mark-line path")
    colour = line.value_of_css_property("stroke")
    emulate("dark")
    assert ground() != light
    assert line.value_of_css_property("stroke") != colour
    # Paper is white, whatever the screen.
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    assert ground() == light
    assert not page.find_element(By.ID, "search").is_displayed()
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    assert base64.b64decode(page.print_page()).startswith(b"%PDF")


def test_text_is_readable_on_its_ground(opened):
    """Contrast of the page's colours, by the rule of the web content accessibility guidelines."""
    page = opened(made_up())

    def luminance(colour: str) -> float:
        channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    def contrast(one: str, other: str) -> float:
        low, high = sorted((luminance(one), luminance(other)))
        return (high + 0.05) / (low + 0.05)

    for scheme in ("light", "dark"):
        wanted = [{"name": "prefers-color-scheme", "value": scheme}]
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wanted})
        script = (
            "return getComputedStyle(document.documentElement).getPropertyValue('--' + arguments[0]).trim()"
        )
        shade = {
            name: page.execute_script(script, name) for name in ("ground", "card", "ink", "soft", "accent")
        }
        for text in ("ink", "soft", "accent"):
            for ground in ("ground", "card"):
                assert contrast(shade[text], shade[ground]) >= 4.5, (scheme, text, ground)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_result_without_test_path_or_distributions(opened):
    result = dataclasses.replace(
        made_up(), test=TestPart(), pvalue=float("nan"), path=PathPart(), distributions={}, notes=[]
    )
    page = opened(result)
    assert page.find_element(By.ID, "unkept").is_displayed()


def test_a_split_test_and_many_groups(opened):
    test = TestPart(name="split", split_pvalues=np.array([0.01, 0.2, 0.03]), rule="twice the median")
    page = opened(dataclasses.replace(made_up(groups=tuple("abcdefghij")), test=test))
    assert len(page.find_elements(By.CSS_SELECTOR, "[data-chart='projection-0'] .mark-area path")) == 10
    assert len(page.find_elements(By.CSS_SELECTOR, "[data-chart='splits'] .mark-rect path")) == 3
