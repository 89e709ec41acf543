"""The HTML report in a browser: what a person sees and does. Needs Chromium and its driver."""

import base64
import csv
import dataclasses
import io
import re
import shutil
import time

import numpy as np
import pytest
from made_up import NAMES, NASTY, made_up, mixed
from page_rules import contrast_faults, focus, structural_faults

from princdiff import Config, compare
from princdiff.result.parts import PathPart, TestPart
from princdiff.tables import Coding

pytest.importorskip("vl_convert", reason="the extra 'report' is not installed")
webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

from princdiff.show.page_data import leading  # noqa: E402

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(
        not (BROWSER and DRIVER), reason="no Chromium with chromedriver is installed: the page was not opened"
    ),
]
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

    def open_report(result, width=1280, height=900, part="", beside=None):
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        target = result.to_html(tmp_path / "report.html", beside=beside)
        browser.get_log("browser")
        browser.get("about:blank")
        browser.get(target.as_uri() + part)
        drawn = "[data-chart] svg, #cards svg"
        wait(lambda: len(browser.find_elements(By.CSS_SELECTOR, drawn)) == _charts(result))
        return browser

    yield open_report
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    # Whatever a test did, the page had nothing to complain about: no error, no refused script.
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def _charts(result) -> int:
    first = leading(result)
    pictures = sum(_has_picture(result, place) for place in first["columns"]) + len(first["pairs"])
    tests = (len(result.null) > 0) + (len(result.test.split_pvalues) > 0)
    return 1 + tests + bool(result.path) + pictures


def _has_picture(result, place: int) -> bool:
    row = result.columns.iloc[place]
    return row["kind"] in ("proportion", "missing") or row["column"] in result.distributions


def wait(condition, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the page did not get there in time"
        time.sleep(0.05)


def names(page, rows: str = "tr:not(.feature)") -> list[str]:
    script = "return [...document.querySelectorAll(arguments[0])].map(cell => cell.title)"
    return page.execute_script(script, f"#table {rows} .choose")


def head(page, title: str):
    return next(
        cell
        for cell in page.find_elements(By.CSS_SELECTOR, "#table th")
        if cell.text.strip().split("\u2009")[0] == title
    )


def sort(page, title: str) -> None:
    head(page, title).find_element(By.TAG_NAME, "button").click()


def emulate(page, scheme: str) -> None:
    wanted = [{"name": "prefers-color-scheme", "value": scheme}]
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wanted})


def texts(page, place: str) -> list[str]:
    script = "return [...document.querySelectorAll(arguments[0])].map(one => one.textContent)"
    return page.execute_script(script, place)


# What is seen first.


def test_the_answer_and_every_chart_are_shown(opened):
    page = opened(made_up())
    assert "The groups before and after differ" in page.find_element(By.CLASS_NAME, "answer").text
    for chart in page.find_elements(By.CSS_SELECTOR, "[data-chart] svg"):
        assert chart.size["width"] > 300
        assert chart.size["height"] > 50
    paths = page.find_elements(By.CSS_SELECTOR, "[data-chart='projection-0'] .mark-area path")
    assert len({path.value_of_css_property("fill") for path in paths}) == 2


def test_the_first_pictures_show_the_changes_the_headline_names(opened):
    page = opened(mixed())
    assert texts(page, ".card h3") == ["plan", "income", "active", "age", "height and weight"]
    cards = page.find_elements(By.CLASS_NAME, "card")
    # Levels, the largest change first: free -20, pro +12, gold +8, basic and team 2 points each.
    labels = [text.text for text in cards[0].find_elements(By.CSS_SELECTOR, ".role-axis-label text")]
    assert labels[:3] == ["free", "pro", "gold"]
    bars = cards[0].find_elements(By.CSS_SELECTOR, ".mark-rect path")
    widths = [bar.size["width"] for bar in bars]
    assert len(bars) == 10
    # The first bars are those of free: 40 % and 20 %.
    assert max(widths) / sorted(widths)[0] == pytest.approx(20, rel=0.1)
    assert len(cards[1].find_elements(By.CSS_SELECTOR, ".mark-area path")) == 2
    assert len(cards[1].find_elements(By.CSS_SELECTOR, ".mark-symbol path")) == 2
    shares = [text.text for text in cards[2].find_elements(By.CSS_SELECTOR, ".mark-text text")]
    assert shares[-2:] == ["50 %", "70 %"]
    assert cards[3].find_elements(By.CSS_SELECTOR, ".mark-rect path")
    assert len(cards[4].find_elements(By.CSS_SELECTOR, ".mark-line path")) == 2
    words = cards[3].find_element(By.CSS_SELECTOR, "[role=img]").get_attribute("aria-label")
    assert words == "age, shares of each group's rows: missing 3\u00a0% to 25\u00a0%"


def test_the_null_histogram_can_be_seen_at_phone_width(opened):
    for statistic in (4.0, 4e4):
        page = opened(dataclasses.replace(made_up(), statistic=statistic), width=360)
        area = page.find_element(By.CSS_SELECTOR, "[data-chart='null'] .mark-area path")
        assert area.size["width"] > 100
        assert area.size["height"] > 80


# The table of columns.


def test_the_table_sorts(opened):
    result = made_up(30)
    page = opened(result)
    # As the result has them, until somebody asks for another order.
    assert names(page) == result.columns["column"].tolist()
    sort(page, "size")
    order = result.columns.sort_values("effect", ascending=False)["column"].tolist()
    assert names(page) == order
    assert head(page, "size").get_attribute("aria-sort") == "descending"
    head(page, "size").find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    assert names(page) == order[::-1]
    assert head(page, "size").get_attribute("aria-sort") == "ascending"
    sort(page, "column")
    assert head(page, "size").get_attribute("aria-sort") is None
    # Numbers in names count as numbers: 2 before 10.
    assert names(page) == [f"measurement number {j}" for j in range(30)]


def test_unknown_values_come_last_either_way(opened):
    result = made_up(6)
    result.columns.loc[2, "pvalue"] = np.nan
    page = opened(result)
    for _ in range(2):
        sort(page, "adjusted p")
        assert names(page)[-1] == "measurement number 2"


def test_search_and_selection_filter(opened):
    page = opened(made_up(30))
    search = page.find_element(By.ID, "search")
    search.send_keys("NUMBER 2")
    assert names(page) == ["measurement number 2", *(f"measurement number {j}" for j in range(20, 30))]
    assert page.find_element(By.ID, "count").text == "11 columns"
    search.send_keys("zzz")
    assert names(page) == []
    assert "No column matches." in page.find_element(By.ID, "table").text
    search.clear()
    page.find_element(By.ID, "only").click()
    assert len(names(page)) == 5


def test_a_category_unfolds_into_its_levels(opened):
    result = mixed()
    page = opened(result)
    assert names(page) == ["plan", "income", "active", "age", "visits", "height", "weight"]
    assert names(page, "tr.feature") == []
    button = page.find_element(By.CSS_SELECTOR, "button[data-fold='0']")
    assert button.get_attribute("aria-expanded") == "false"
    button.send_keys(Keys.ENTER)
    effects = result.table[result.table["column"] == "plan"].sort_values("effect", ascending=False)
    assert names(page, "tr.feature") == [name.removeprefix("plan = ") for name in effects["feature"]]
    # The same button again, which kept the focus.
    page.switch_to.active_element.send_keys(Keys.ENTER)
    assert names(page, "tr.feature") == []
    page.find_element(By.ID, "unfold").click()
    assert len(names(page, "tr.feature")) == 7
    page.find_element(By.CSS_SELECTOR, "button[data-fold='0']").click()
    assert names(page, "tr.feature")[-1:] == ["missing"] or len(names(page, "tr.feature")) == 2
    # A level is found by its name.
    page.find_element(By.ID, "search").send_keys("plan = gold")
    assert names(page) == ["plan"]


def test_a_click_shows_the_column(opened):
    result = made_up(400)
    page = opened(result)
    rows = page.find_elements(By.CSS_SELECTOR, "#table tbody tr")
    rows[3].click()
    assert page.find_element(By.ID, "chosen").text == "measurement number 3"
    assert "measurement number 3" in page.find_element(By.ID, "status").get_attribute("textContent")
    wait(lambda: page.find_elements(By.CSS_SELECTOR, "#distribution .mark-area path"))
    assert len(page.find_elements(By.CSS_SELECTOR, "#distribution .mark-area path")) == 2
    assert f"{result.table['effect'][3]:.2f}" in page.find_element(By.ID, "panel").text
    assert "chosen" in rows[3].get_attribute("class")
    # Quick clicks, one after the other, end with the last one's picture, once.
    for row in rows[4:12]:
        row.click()
    wait(lambda: len(page.find_elements(By.CSS_SELECTOR, "#distribution svg")) == 1)
    assert page.find_element(By.ID, "chosen").text == "measurement number 11"
    # Beyond the columns whose distribution is kept, the page says so.
    page.find_element(By.ID, "search").send_keys("number 350")
    page.find_element(By.CSS_SELECTOR, "#table .choose").send_keys(Keys.ENTER)
    assert page.find_element(By.ID, "chosen").text == "measurement number 350"
    assert page.find_element(By.ID, "unkept").is_displayed()
    assert page.find_elements(By.CSS_SELECTOR, "#distribution svg") == []


def test_each_kind_of_column_has_its_picture(opened):
    page = opened(mixed())
    expected = {
        "plan": [".mark-rect path", 10],
        "income": [".mark-area path", 2],
        "active": [".mark-rect path", 2],
        "age": [".mark-area path", 2],
        "visits": [".mark-rect path", 10],
    }
    for name, (marks, count) in expected.items():
        button = next(b for b in page.find_elements(By.CSS_SELECTOR, ".choose") if b.text == name)
        button.click()
        assert page.find_element(By.ID, "chosen").text == name
        wait(lambda: page.find_elements(By.CSS_SELECTOR, "#distribution svg"))
        place = f"#distribution > :first-child {marks}"
        wait(lambda: len(page.find_elements(By.CSS_SELECTOR, place)) >= count)  # noqa: B023
    # A number that has gaps shows them too.
    page.find_elements(By.CSS_SELECTOR, ".choose")[3].click()
    wait(lambda: len(page.find_elements(By.CSS_SELECTOR, "#distribution svg")) == 2)


def test_the_table_is_saved_as_csv(opened, tmp_path):
    result = mixed()
    result.columns.loc[1, "change"] = '=cmd("x"), 1'
    page = opened(result)
    rows = list(csv.DictReader(io.StringIO(page.execute_script("return report.table.csv()"))))
    assert len(rows) == 7 + 5 + 2
    plan = [row for row in rows if row["column"] == "plan"]
    assert [row["level"] for row in plan] == ["", "basic", "free", "gold", "pro", "team"]
    gold = result.table.set_index("feature").loc["plan = gold"]
    assert float(plan[3]["mean after"]) == pytest.approx(gold["mean after"], rel=1e-3)
    assert float(plan[3]["weight 2"]) == pytest.approx(gold["weight 2"], rel=1e-3)
    assert float(plan[0]["share 1"]) == pytest.approx(result.columns["share"][0], rel=1e-3)
    assert plan[0]["mean after"] == ""
    # What a spreadsheet would take for a formula stays text, and commas and quotes survive.
    income = next(row for row in rows if row["column"] == "income")
    assert income["what changed"] == '\'=cmd("x"), 1'
    page.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    page.find_element(By.ID, "csv").click()
    wait(lambda: (tmp_path / "columns.csv").exists())
    assert (tmp_path / "columns.csv").read_text(encoding="utf-8-sig").startswith("column,level,type")


# Links, directions, groups.


@pytest.mark.parametrize(
    ("part", "chosen"),
    [
        ("#feature=visits", "visits"),
        ("#column=plan", "plan"),
        ("#feature=plan%20%3D%20gold", "plan = gold"),
        ("#feature=age%20(missing)", "age (missing)"),
        ("#feature=nobody", "plan"),
        ("#feature=%", "plan"),
    ],
)
def test_a_link_leads_to_a_column(opened, part, chosen):
    page = opened(mixed(), part=part)
    assert page.find_element(By.ID, "chosen").text == chosen
    assert page.execute_script("return document.querySelectorAll('#table tr.chosen').length") == 1


def test_a_link_leads_beyond_the_rows_shown_first(opened):
    page = opened(made_up(1000), part="#feature=measurement%20number%20789")
    assert page.find_element(By.ID, "chosen").text == "measurement number 789"
    row = page.find_element(By.CSS_SELECTOR, "#table tr.chosen")
    wait(lambda: page.execute_script("return Math.abs(arguments[0].getBoundingClientRect().top)", row) < 900)
    # A card's title is such a link, and choosing changes the address.
    page.find_element(By.CSS_SELECTOR, ".card a").click()
    wait(lambda: page.find_element(By.ID, "chosen").text == "measurement number 0")
    page.find_elements(By.CSS_SELECTOR, ".choose")[2].click()
    assert page.current_url.endswith("#feature=measurement%20number%202")


def test_two_reports_have_the_same_scales(opened):
    small, large = mixed(), _larger(mixed())
    seen = []
    for result, beside in ((small, large), (large, small), (small, None)):
        page = opened(result, part="#feature=income", beside=beside)
        bar = page.find_elements(By.CSS_SELECTOR, "#table tbody tr:not(.feature) .meter i")[0]
        per_sd = bar.size["width"] / float(result.columns["effect"].iloc[0])
        wait(lambda page=page: texts(page, "#distribution .role-axis-label text"))
        seen.append((per_sd, texts(page, "#distribution .role-axis-label text")))
    (one, labels), (other, other_labels), (alone, alone_labels) = seen
    assert one == pytest.approx(other, rel=0.05) and one < 0.7 * alone
    assert labels == other_labels != alone_labels


def _larger(result):
    """The same columns, twice as different and twice as wide."""
    stored = result.distributions["income"]
    wide = dataclasses.replace(stored, edges=stored.edges * 2)
    return dataclasses.replace(
        result,
        columns=result.columns.assign(effect=2 * result.columns["effect"]),
        distributions={**result.distributions, "income": wide},
    )


def test_directions_are_shown_one_at_a_time(opened):
    result = mixed(n_components=3)
    page = opened(result)

    def leading_weight() -> str:
        return page.find_element(By.CSS_SELECTOR, "#weights tbody th").text

    for number, option in enumerate(page.find_elements(By.CSS_SELECTOR, "#component option")):
        option.click()
        place = f"[data-chart='projection-{number}'] svg"
        wait(lambda: page.find_elements(By.CSS_SELECTOR, place))  # noqa: B023
        assert page.find_element(By.CSS_SELECTOR, place).size["width"] > 300
        shown = [p for p in page.find_elements(By.CSS_SELECTOR, "[data-component]") if p.is_displayed()]
        assert len(shown) == 1
        direction = result.directions.iloc[:, number]
        assert leading_weight() == direction.abs().idxmax()


def test_groups_are_switched_off_in_every_picture(opened):
    page = opened(mixed(groups=("a", "b", "c")))

    def curves() -> list[int]:
        places = ("[data-chart='projection-0'] .mark-area path", ".card:nth-child(2) .mark-area path")
        return [len(page.find_elements(By.CSS_SELECTOR, place)) for place in places]

    assert curves() == [3, 3]
    page.find_elements(By.CSS_SELECTOR, ".toggle[data-group='1']")[0].click()
    wait(lambda: curves() == [2, 2])
    pressed = page.find_elements(By.CSS_SELECTOR, ".toggle[data-group='1']")
    assert {button.get_attribute("aria-pressed") for button in pressed} == {"false"}
    # What is drawn later leaves it out too; the last group cannot go.
    page.find_elements(By.CSS_SELECTOR, ".choose")[1].click()
    drawn = "#distribution .mark-area path"
    wait(lambda: len(page.find_elements(By.CSS_SELECTOR, drawn)) == 2)
    for group in ("0", "2"):
        page.find_elements(By.CSS_SELECTOR, f".toggle[data-group='{group}']")[0].click()
    wait(lambda: curves() == [1, 1])
    page.find_elements(By.CSS_SELECTOR, ".toggle[data-group='1']")[0].click()
    wait(lambda: curves() == [2, 2])


def test_pointing_at_a_chart_tells_its_figures(opened):
    page = opened(made_up(groups=(NASTY, "b")))
    chart = page.find_element(By.CSS_SELECTOR, "[data-chart='projection-0'] svg")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    webdriver.ActionChains(page).move_to_element(chart).perform()
    wait(lambda: "visible" in page.find_element(By.ID, "vg-tooltip-element").get_attribute("class"))
    assert "rows below" in page.find_element(By.ID, "vg-tooltip-element").text
    assert page.find_elements(By.CSS_SELECTOR, "#vg-tooltip-element script") == []


# Names, sizes, colours, paper.


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


def test_nasty_levels_are_harmless(opened):
    result = mixed(groups=(NASTY, "</script>"))
    levels = (NASTY, NASTY + " ", "<!--", "a\u202eb", "__proto__")
    codings = [Coding("plan", levels=levels), *result.codings[1:]]
    renamed = dict(zip(result.codings[0].features, codings[0].features, strict=True))
    table = result.table.assign(feature=result.table["feature"].replace(renamed))
    page = opened(dataclasses.replace(result, codings=codings, table=table))
    page.find_element(By.CSS_SELECTOR, "button[data-fold='0']").click()
    assert NASTY in names(page, "tr.feature")
    assert len(page.find_elements(By.CSS_SELECTOR, ".card:first-child .mark-rect path")) == 10
    assert len(page.find_elements(By.TAG_NAME, "script")) == 3


@pytest.mark.parametrize("width", [320, 390, 820])
def test_narrow_windows_do_not_scroll_sideways(opened, width):
    page = opened(made_up(names=NAMES, groups=(NASTY, "long " * 60)), width=width)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    panel = page.find_element(By.ID, "panel")
    assert not panel.is_displayed()
    button = page.find_element(By.CSS_SELECTOR, "#table tbody .choose")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()
    assert panel.is_displayed()
    # Whoever came by the keyboard is led into the panel, and back.
    assert page.switch_to.active_element.get_attribute("id") == "close"
    wait(lambda: page.find_element(By.CSS_SELECTOR, "#distribution svg").size["width"] > width / 2)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not panel.is_displayed()
    assert page.switch_to.active_element.text == NAMES[0]
    button.click()
    page.find_element(By.ID, "close").click()
    assert not panel.is_displayed()


def test_ten_thousand_columns_open_fast_and_are_all_found(opened):
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

    emulate(page, "light")
    light = ground()
    line = page.find_element(By.CSS_SELECTOR, "[data-chart='projection-0'] .mark-line path")
    colour = line.value_of_css_property("stroke")
    emulate(page, "dark")
    assert ground() != light
    assert line.value_of_css_property("stroke") != colour
    # Paper is white, whatever the screen.
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    assert ground() == light
    assert not page.find_element(By.ID, "search").is_displayed()


def test_on_paper_an_interval_is_not_larger_than_what_it_belongs_to(opened):
    rows = np.random.default_rng(0).normal(size=(200, 3))
    rows[100:, 0] += 2.0
    page = opened(compare(rows[:100], rows[100:], n_permutations=99, config=Config(certify=False)))
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    sizes = page.execute_script(
        "const size = (element) => parseFloat(getComputedStyle(element).fontSize);"
        "const interval = document.querySelector('#table .interval');"
        "return [size(interval), size(interval.parentElement)]"
    )
    assert sizes[0] < sizes[1]


def _printed_pages(page) -> int:
    sheet = {"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": True}
    document = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", sheet)["data"])
    assert document.startswith(b"%PDF")
    return len(re.findall(rb"/Type\s*/Page\b", document))


@pytest.mark.parametrize(
    "names", [None, [f"a column with a rather long name, number {j}" for j in range(40)]]
)
def test_the_summary_is_one_page(opened, names):
    page = opened(made_up(names=names) if names else mixed())
    assert _printed_pages(page) > 1
    # The button sets the page up and asks for the printer, which there is none of here.
    page.execute_script("window.print = () => {}")
    page.find_element(By.ID, "print").click()
    assert _printed_pages(page) == 1
    page.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert "summary" not in page.find_element(By.TAG_NAME, "body").get_attribute("class").split()


# For everybody.


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("groups", [("before", "after"), tuple("abcdef")])
def test_rules_of_access_are_kept(opened, width, groups):
    page = opened(mixed(groups=groups), width=width)
    page.find_element(By.ID, "unfold").click()
    page.find_elements(By.CSS_SELECTOR, ".choose")[0].click()
    page.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    wait(lambda: page.find_elements(By.CSS_SELECTOR, "#distribution svg"))
    assert structural_faults(page) == []
    for scheme in ("light", "dark"):
        emulate(page, scheme)
        assert contrast_faults(page) == []


def test_the_rules_can_fail(opened):
    page = opened(mixed())
    page.execute_script("document.getElementById('print').textContent = ''")
    page.execute_script("document.querySelector('.card [role=img]').removeAttribute('aria-label')")
    page.execute_script("document.querySelector('#table caption').remove()")
    page.execute_script("document.getElementById('columns').outerHTML = '<h6 id=columns>Columns</h6>'")
    faults = " | ".join(structural_faults(page))
    for fault in ("no name", "a picture without words", "without a caption", "h6 after h"):
        assert fault in faults
    page.execute_script("document.querySelector('.answer').style.color = '#999'")
    assert len(contrast_faults(page)) == 1


def test_the_keyboard_reaches_everything_and_is_seen(opened):
    page = opened(mixed())
    page.find_element(By.TAG_NAME, "h1").click()
    page.execute_script("document.activeElement.blur(); window.scrollTo(0, 0)")
    visited = []
    for _ in range(80):
        webdriver.ActionChains(page).send_keys(Keys.TAB).perform()
        now = focus(page)
        if now is None:
            break
        assert now["shown"], now["what"]
        visited.append(now["what"])
    everything = " ".join(visited)
    for part in ('id="print"', 'id="search"', 'id="csv"', 'class="choose"', 'class="fold"', 'id="component"'):
        assert part in everything


# What may be absent.


def test_a_result_without_test_path_or_distributions(opened):
    result = dataclasses.replace(
        made_up(), test=TestPart(), pvalue=float("nan"), path=PathPart(), distributions={}, notes=[]
    )
    page = opened(result)
    assert page.find_element(By.ID, "unkept").is_displayed()
    assert "No picture of this column" in page.find_element(By.CLASS_NAME, "card").text


def test_a_split_test_and_many_groups(opened):
    test = TestPart(name="split", split_pvalues=np.array([0.01, 0.2, 0.03]), rule="twice the median")
    page = opened(dataclasses.replace(made_up(groups=tuple("abcdefghij")), test=test))
    assert len(page.find_elements(By.CSS_SELECTOR, "[data-chart='projection-0'] .mark-area path")) == 10
    assert len(page.find_elements(By.CSS_SELECTOR, "[data-chart='splits'] .mark-rect path")) == 3
