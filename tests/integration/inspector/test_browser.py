"""The pages in a real browser: a person signs in, searches, opens a hit and walks the graph, and everything can be read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio.to_thread
import pytest

from brain_async.fastapi import fixed_scope, service
from brain_async.inspector import inspector
from tests.integration.inspector.world import fill, inspected_engine
from tests.integration.service.served import over_http

webdriver = pytest.importorskip(
    "selenium.webdriver", reason="selenium is not installed: pip install 'brain-async[browser]'"
)

from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed"),
    pytest.mark.skipif(DRIVER is None, reason="no chromedriver is installed"),
]

SHOTS = Path(__file__).parents[3] / "build" / "inspector"
TOKEN = "sesame"
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-device-scale-factor=1",
]

OVERLAPS = """
const boxes = [...document.querySelectorAll(arguments[0])].filter(e => e.checkVisibility())
  .map(e => [e, e.getBoundingClientRect()]);
const found = [];
boxes.forEach(([a, one], i) => boxes.slice(i + 1).forEach(([b, other]) => {
  if (a.contains(b)) return;
  const x = Math.min(one.right, other.right) - Math.max(one.left, other.left);
  const y = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  if (x > 1 && y > 1) found.push([a, b].map(e => e.textContent.trim().slice(0, 40)).join(" / "));
}));
return found;
"""
# Text that is cut off by its own box, or sticks out of the rectangle that the picture draws around it.
CUT = """
const found = [];
for (const e of document.querySelectorAll("td, th, dd, dt, h1, h2, h3, button, select, small, strong")) {
  if (e.checkVisibility() && e.clientWidth && e.scrollWidth > e.clientWidth + 1) found.push(e.textContent.trim().slice(0, 60));
}
for (const a of document.querySelectorAll("#picture a")) {
  const box = a.querySelector("rect").getBoundingClientRect();
  for (const text of a.querySelectorAll("text")) {
    const it = text.getBoundingClientRect();
    if (it.left < box.left - 1 || it.right > box.right + 1) found.push(text.textContent.trim());
  }
}
return found;
"""
# Contrast of all visible text against what is behind it, by the formula of WCAG 2; SVG text against its page.
FAINT = """
const parse = c => { const m = c.match(/[\\d.]+/g).map(Number); return m.length > 3 && m[3] === 0 ? null : m.slice(0, 3); };
const light = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
  return .2126 * r + .7152 * g + .0722 * b; };
const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c) return c; }
  return matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0] : [255, 255, 255]; };
const found = [];
for (const e of document.querySelectorAll("body *")) {
  if (!e.checkVisibility() || ![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
  if (e.closest("title")) continue;
  const style = getComputedStyle(e);
  const ink = parse(e.closest("svg") ? style.fill : style.color);
  const [a, b] = [light(ink), light(behind(e))].sort((x, y) => y - x);
  if ((a + .05) / (b + .05) < 4.5) found.push(`${e.tagName} ${e.textContent.trim().slice(0, 40)}`);
}
return found;
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Chromium with a profile of its own."""
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for option in (*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # The driver is on this machine: a proxy of the environment is no way to it.
    os.environ["NO_PROXY"] = "localhost,127.0.0.1"
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


class Reader:
    """A person before the browser, who looks at every page in light, dark and narrow."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser

    def one(self, css: str) -> Any:
        return self.browser.find_element(By.CSS_SELECTOR, css)

    def all(self, css: str) -> list[Any]:
        return list(self.browser.find_elements(By.CSS_SELECTOR, css))

    def wait(self, condition: Any) -> None:
        WebDriverWait(self.browser, 20).until(condition)

    def look(self, name: str) -> None:
        for scheme, width in (("light", 1200), ("dark", 1200), ("light", 360), ("dark", 360)):
            self._show(scheme, width)
            shown = f"{name}-{'narrow-' if width == 360 else ''}{scheme}"
            self.browser.save_screenshot(str(SHOTS / f"{shown}.png"))
            run = self.browser.execute_script
            beyond = run("const page = document.documentElement; return page.scrollWidth - page.clientWidth")
            assert beyond <= 0, f"{shown} scrolls sideways"
            for boxes in (
                "th, td",
                "form > *",
                "dt, dd",
                "h1, h2, h3, main > p, form, dl, ol > li",
                ".node, .edge-label",
            ):
                assert run(OVERLAPS, boxes) == [], f"{shown}: {boxes} overlap"
            assert run(CUT) == [], f"{shown}: text is cut off"
            assert run(FAINT) == [], f"{shown}: text is faint"
            fields = self.all("input:not([type=hidden], [hidden]), select")
            assert all(run("return arguments[0].labels.length", field) for field in fields), (
                f"{shown}: a field has no label"
            )
        self._show("light", 1200)

    def _show(self, scheme: str, width: int) -> None:
        command = self.browser.execute_cdp_cmd
        command("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        command("Emulation.setDeviceMetricsOverride", size)
        height = self.browser.execute_script("return document.documentElement.scrollHeight")
        command("Emulation.setDeviceMetricsOverride", {**size, "height": max(height, 600)})


async def test_a_person_signs_in_searches_and_walks_the_graph(browser: Any) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    engine = inspected_engine()
    scope, ids = await fill(engine)
    source = fixed_scope(scope.namespace_id)
    page = inspector(engine, scope=source, token=TOKEN, admin=True)
    async with over_http(service(engine, scope=source, token=TOKEN, page=page, page_asks=True)) as url:
        await anyio.to_thread.run_sync(_visit, Reader(browser), url, ids)


def _visit(reader: Reader, url: str, ids: list[UUID]) -> None:
    browser = reader.browser
    browser.get_log("browser")
    # A page asked for without a token is what the sign-in leads to.
    browser.get(f"{url}/?q=nothing+here")
    reader.look("sign-in")
    reader.one("[name=token]").send_keys("open", Keys.ENTER)
    reader.wait(lambda _: reader.all("#error-token"))
    reader.look("sign-in-wrong")
    reader.one("[name=token]").send_keys(TOKEN, Keys.ENTER)
    reader.wait(lambda _: reader.all("#search"))
    assert browser.current_url == f"{url}/?q=nothing+here"
    assert TOKEN not in browser.current_url
    assert browser.execute_script("return document.cookie") == ""

    # With the keyboard alone: the first stop is the way past the navigation, "/" leads to the query.
    browser.get(url)
    body = reader.one("body")
    body.send_keys(Keys.TAB)
    assert browser.switch_to.active_element.text == "Skip to the content"
    assert browser.execute_script("return document.activeElement.getBoundingClientRect().left") >= 0
    browser.switch_to.active_element.send_keys("/")
    assert browser.switch_to.active_element.get_attribute("name") == "q"
    Select(reader.one("[name=verb]")).select_by_visible_text("find_links")
    assert reader.one("[name=labels]").is_displayed()
    assert not reader.one("[name=filters]").is_displayed()
    Select(reader.one("[name=verb]")).select_by_visible_text("search")
    reader.one("[name=ids]").send_keys(str(ids[5]))
    reader.one("[name=limit]").send_keys("2")
    reader.one("[name=q]").send_keys("lemon picking lease", Keys.ENTER)
    reader.wait(lambda _: reader.all("ol.hits"))
    assert "filters" not in browser.current_url
    assert {"lemons", "picked"} <= {mark.text for mark in reader.all("mark")}
    assert len(reader.all(".lanes tbody tr")) == 5
    assert reader.all(".shares svg.bar")
    reader.look("search")
    reader.one("#next").click()
    reader.wait(lambda _: "a further page" in reader.one("main").text)

    # A hit, then along its links: by mouse, and by keyboard.
    browser.get(f"{url}/?q=lemon+grove+lease&verb=find_exact")
    next(link for link in reader.all("ol.hits h3 a") if link.text == "Lemon grove lease").click()
    reader.wait(lambda _: reader.all("#picture"))
    assert len(reader.all(".node")) == 4
    reader.look("object")
    Select(reader.one("[name=hops]")).select_by_visible_text("4")
    reader.one("main form button").click()
    reader.wait(lambda _: len(reader.all(".node")) == 7)
    labels = " ".join(label.text for label in reader.all(".edge-label text"))
    assert {"owned_by", "supersedes", "derived_from", "contradicts", "reports_to", "member_of"} <= set(labels.split())
    reader.look("walk")
    reader.one(f'[data-node="{ids[1]}"]').click()
    reader.wait(lambda _: reader.one("h1").text.startswith("Ada Byron"))
    onward = reader.one(f'[data-node="{ids[4]}"]')
    browser.execute_script("arguments[0].focus()", onward)
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    reader.wait(lambda _: reader.one("h1").text.startswith("Grace Murray"))

    reader.all("ol.links a[href*=edge]")[0].click()
    reader.wait(lambda _: reader.all("#verified"))
    assert "Verified" in reader.one("#verified").text
    reader.look("edge")
    for name in ("kinds", "state"):
        browser.get(f"{url}/{name}")
        reader.look(name)
    browser.get(f"{url}/?q=x&filters=%7B%22colour%22%3A+1%7D")
    assert reader.one("[name=filters]").get_attribute("aria-invalid") == "true"
    reader.look("wrong-filter")

    reader.one("header button").click()
    reader.wait(lambda _: reader.all("#sign-in"))
    browser.get(url)
    assert reader.all("#sign-in")
    # Nothing was refused by the policy, and nothing failed but what was refused with 401 and 422.
    said = [entry["message"] for entry in browser.get_log("browser")]
    assert [message for message in said if "401" not in message and "422" not in message] == []
