"""The report page in Chromium: no errors, no requests, ink, sound in step, keys, hostile names, access.

usage: browser.py CHROMIUM CHROMEDRIVER BUILD WORK [SCREENSHOTS]
"""

import atexit
import base64
import json
import pathlib
import re
import subprocess
import sys
import time

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

chromium, chromedriver, build, work = (pathlib.Path(path) for path in sys.argv[1:5])
screenshots = pathlib.Path(sys.argv[5]) if len(sys.argv) > 5 else None
recording = pathlib.Path(__file__).parent.parent / "recordings" / "piano_clarinet"
HOSTILE = '"><img src=x onerror=alert(1)>'
ODD = {
    "large": (1024, 5000, 20, 1000), "K = 1": (12, 40, 1, 30), "M = 1": (1, 40, 1, 30),
    "N = 1": (12, 1, 2, 30), "one number": (1, 1, 1, 1), "NaN in the trace": (12, 40, 2, 30, "nan"),
    "nothing but NaN": (12, 40, 2, 1, "nan"), "many components": (1024, 40, 160, 3),
}  # fmt: skip


def tlnmf(*arguments):
    subprocess.run([build / "tlnmf", *arguments], cwd=work, check=True, capture_output=True)


# ---- pages ---------------------------------------------------------------------------------------


def make_pages():
    labels = (recording / "labels.txt").read_text().replace("clarinet_as4", HOSTILE)
    (work / "labels.txt").write_text(labels)
    tlnmf("separate", recording / "mix.flac", "--labels", "labels.txt", "-o", "stems")
    tlnmf("simulate", "notes", "--seed", "7", "-o", "notes.npy")
    (work / "in").mkdir()
    tlnmf("fit", "notes.npy", "-k", "2", "--eps", "5e-7", "--transform", "dct", "--rate", "5000",
          "-J", "60", "--starts", "2", "--report", "-o", "in/<script>alert(1)<.h5")  # fmt: skip
    tlnmf("simulate", "gcm", "--s", "4", "--m", "6", "--n", "30", "-o", "several.npy")
    tlnmf("fit", "several.npy", "-k", "2", "--starts", "4", "--trace-all", "--report",
          "-o", "several.h5")  # fmt: skip
    for name, sizes in ODD.items():
        path = work / f"{name}.html"
        subprocess.run([build / "tests/report_large", path, *map(str, sizes)], check=True)


# ---- a page that reports all errors -----------------------------------------------------------------

BLANK = """return [...document.querySelectorAll("canvas")].filter(c => {
    const pixels = c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer;
    return new Set(new Uint32Array(pixels)).size < 2;
}).map(c => c.getAttribute("aria-label") || c.className)"""
TOO_WIDE = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
SCROLLS = """const box = document.querySelector(arguments[0]).parentElement;
    return box.scrollWidth > box.clientWidth"""
STATE = """const p = window.tlnmfPage.player;
return {time: p.time, playing: p.playing, loop: p.loop,
        gains: p.tracks.map(t => t.gain && t.gain.gain.value)}"""


def start_browser():
    options = webdriver.ChromeOptions()
    options.binary_location = str(chromium)
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update",
                 "--disable-sync", "--autoplay-policy=no-user-gesture-required"):  # fmt: skip
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.chrome.service.Service(str(chromedriver))
    return webdriver.Chrome(service=service, options=options)


class Page:
    """A page in the browser. Leaving the block checks that nothing went wrong."""

    def __init__(self, path, scripts=True, scheme="light", width=1280, height=900):
        self.driver = driver
        self.driver.get("about:blank")
        self.wrong()  # discards earlier log entries
        self.url = path.resolve().as_uri()
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=False)  # fmt: skip
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.cdp("Emulation.setEmulatedMedia", features=[feature])
        self.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(work.resolve()))
        self.cdp("Performance.enable", timeDomain="threadTicks")
        self.cdp("Emulation.setScriptExecutionDisabled", value=not scripts)
        begin = time.monotonic()
        self.driver.get(self.url)
        if scripts:
            self.until("return document.documentElement.dataset.ready === 'true'")
        self.ready = time.monotonic() - begin
        metrics = self.cdp("Performance.getMetrics")["metrics"]
        self.work = next(m["value"] for m in metrics if m["name"] == "TaskDuration")

    def cdp(self, command, **arguments):
        return self.driver.execute_cdp_cmd(command, arguments)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def until(self, condition):
        end = time.monotonic() + 20
        while not self.run(condition):
            assert time.monotonic() < end, f"never: {condition}"
            time.sleep(0.02)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.one(selector).get_attribute("textContent")

    def texts(self, selector):
        return [element.get_attribute("textContent") for element in self.all(selector)]

    def named(self, pattern, selector="button"):
        """The element whose accessible name matches."""
        for element in self.all(selector):
            if re.search(pattern, element.accessible_name.strip()):
                return element
        raise AssertionError(f"no {selector} named {pattern}")

    def press(self, element, keys):
        element.send_keys(keys)

    def click(self, element):
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def check_ink(self, what=""):
        assert self.run(BLANK) == [], f"blank: {self.run(BLANK)} {what}"

    def wrong(self):
        found = [e["message"] for e in self.driver.get_log("browser") if e["level"] == "SEVERE"]
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            parameters = message["params"]
            if message["method"] == "Network.requestWillBeSent":
                url = parameters["request"]["url"]
                if url != self.url and not re.match("data:|blob:|about:|chrome", url):
                    found.append(f"request: {url}")
            elif message["method"] == "Page.javascriptDialogOpening":
                found.append(f"dialog: {parameters['message']}")
        return found

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            wrong = self.wrong()
            assert wrong == [], wrong


# ---- accessibility --------------------------------------------------------------------------------

# Texts whose contrast with the background is below 4.5 (3 for large text), WCAG 2.1 AA.
CONTRAST = """
const number = c => (c.match(/[\\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = e => {
    for (; e; e = e.parentElement) {
        const c = number(getComputedStyle(e).backgroundColor);
        if (c.length === 3 || c[3] === 1) return c;
    }
    return [255, 255, 255];
};
const faint = [];
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
    const e = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || e.closest("script, style, [hidden], :disabled")) continue;
    if (!e.checkVisibility() || e.getBoundingClientRect().width < 2) continue;
    const style = getComputedStyle(e), size = parseFloat(style.fontSize);
    const a = light(number(style.color)), b = light(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) faint.push(`${ratio.toFixed(2)}: ${texts.currentNode.data.trim().slice(0, 60)}`);
}
return faint"""
STRUCTURE = """
const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
const twice = ids.filter((id, i) => ids.indexOf(id) !== i);
const levels = [...document.querySelectorAll("h1, h2, h3, h4")].filter(e => e.checkVisibility()).map(e => Number(e.tagName[1]));
const jumps = levels.filter((l, i) => i > 0 && l > levels[i - 1] + 1);
const heads = [...document.querySelectorAll("th")].filter(e => !e.textContent.trim()).length;
return [...twice.map(id => `id twice: ${id}`), ...jumps.map(l => `heading of level ${l} after a jump`),
        ...(document.documentElement.lang ? [] : ["no language"]), ...(document.title ? [] : ["no title"]),
        ...(levels.filter(l => l === 1).length === 1 ? [] : ["not one h1"]),
        ...(document.querySelector("main") ? [] : ["no main"]), ...(heads ? ["empty table head"] : [])]"""
CONTROLS = ("button", "link", "slider", "radio", "checkbox", "textbox", "combobox", "img", "image")


def check_access(page, scheme):
    found = page.run(CONTRAST) + page.run(STRUCTURE)
    for node in page.cdp("Accessibility.getFullAXTree")["nodes"]:
        role = node.get("role", {}).get("value")
        if not node.get("ignored") and role in CONTROLS and not node.get("name", {}).get("value"):
            found.append(f"a {role} without a name")
    assert found == [], f"{scheme}: {found}"
    page.run("document.body.style.color = getComputedStyle(document.body).backgroundColor")
    assert page.run(CONTRAST) != [], "invisible text is not found"


# ---- tests ---------------------------------------------------------------------------------------

passed = []


def check(name):
    """Runs the test that follows and prints its result."""

    def run(body):
        begin = time.monotonic()
        try:
            body()
        except BaseException:
            print(f"FAIL  {name}")
            raise
        passed.append(name)
        print(f"ok    {name} ({1000 * (time.monotonic() - begin):.0f} ms)", flush=True)

    return run


make_pages()
driver = start_browser()
atexit.register(driver.quit)
stems = work / "stems" / "report.html"
notes = work / "in" / "<script>alert(1)<.html"
summary = json.loads((work / "stems" / "summary.json").read_text())


@check("the page of stems: ink, numbers, hostile labels")
def _():
    with Page(stems) as page:
        page.check_ink()
        assert page.all("img") == []
        assert any(HOSTILE in text for text in page.texts("h3"))
        separation = summary["separation"]
        assert page.text('[data-name="separation.frame"]') == str(separation["frame"])
        shown = float(page.text('[data-name="separation.remix_si_sdr"]'))
        assert abs(shown - separation["remix_si_sdr"]) < 1e-9
        assert page.text("#repeat") == summary["repeat"]


@check("play, pause, seek, mute, solo, loop, keys")
def _():
    with Page(stems) as page:
        play = page.one("button.play")
        page.click(play)
        page.until("return window.tlnmfPage.player.time > 0.3")
        assert page.run(STATE)["playing"]
        mark = page.run("return parseFloat(document.querySelector('.frame .cursor').style.left)")
        assert mark > 5, f"cursor at {mark} %"
        for button, gains in (("Mute piano_a4", [0, 1]), ("Solo piano_a4", [1, 0]), ("Mixture", [1, 1])):
            page.click(page.named(f"^{button}$"))
            assert page.run(STATE)["gains"] == gains, button
        if page.run(STATE)["playing"]:  # it may have ended
            page.click(play)
        assert not page.run(STATE)["playing"]
        slider = page.named("^Position in piano_a4$", "[role=slider]")
        seconds = float(slider.get_attribute("aria-valuemax"))
        width, height = slider.size["width"], slider.size["height"]
        page.run("arguments[0].scrollIntoView({block: 'center'})", slider)

        def at(share):  # Selenium's offsets are from the middle
            return round((share - 0.5) * width), round(10 - height / 2)

        ActionChains(page.driver).move_to_element_with_offset(slider, *at(0.5)).click().perform()
        assert abs(page.run(STATE)["time"] - seconds / 2) < 0.03
        half = page.run(STATE)["time"]
        page.press(slider, Keys.ARROW_RIGHT)
        assert abs(page.run(STATE)["time"] - half - seconds * 0.01) < 0.02
        page.press(slider, Keys.HOME)
        assert page.run(STATE)["time"] == 0
        ActionChains(page.driver).move_to_element_with_offset(slider, *at(0.25)).click_and_hold() \
            .move_to_element_with_offset(slider, *at(0.35)).release().perform()  # fmt: skip
        loop = page.run(STATE)["loop"]
        assert loop and abs(loop[0] - seconds / 4) < 0.03 and abs(loop[1] - seconds * 0.35) < 0.03, loop
        ActionChains(page.driver).send_keys(Keys.SPACE).perform()
        time.sleep(0.9)  # longer than the loop
        inside = page.run(STATE)
        assert inside["playing"] and loop[0] <= inside["time"] <= loop[1] + 0.01, inside
        page.click(page.named("^No loop$"))
        assert page.run(STATE)["loop"] is None


# Renders the player's audio graph, and finds the position in each track's buffer that is played at 0.5 s.
LAG = """
const done = arguments[0], { player } = window.tlnmfPage, rate = 22050;
const context = new OfflineAudioContext(player.tracks.length, rate * 2, rate);
const merger = context.createChannelMerger(player.tracks.length);
merger.connect(context.destination);
player.connect(context).then(async () => {
    player.tracks.forEach((t, i) => { t.gain.disconnect(); t.gain.connect(merger, 0, i); });
    player.offset = 2.0; // where both sound
    player.start(0.1);
    const out = await context.startRendering();
    done(player.tracks.map((t, i) => {
        const heard = out.getChannelData(i).subarray(0.5 * rate, 0.6 * rate);
        const own = t.buffer.getChannelData(0);
        let best = [-1, 0];
        for (let at = 2.3 * rate; at < 2.5 * rate; at++) {
            let sum = 0;
            for (let j = 0; j < heard.length; j += 7) sum += (heard[j] - own[Math.round(at) + j]) ** 2;
            if (best[0] < 0 || sum < best[0]) best = [sum, at / rate];
        }
        return best[1];
    }));
})"""


@check("stems are synchronised within 5 ms, rendered through the player's audio graph")
def _():
    with Page(stems) as page:
        for lag in page.driver.execute_async_script(LAG):
            assert abs(lag - 2.4) < 0.005, f"plays {lag} s where 2.4 s belongs"


@check("a fit: table of atoms sorts, switches, zoom, downloads, copy")
def _():
    with Page(notes) as page:
        assert "<script>alert(1)<" in page.driver.title
        page.check_ink()

        def column(n):
            return page.texts(f"#atom-table tbody tr:not([hidden]) > :nth-child({n})")

        def picture():
            return page.run("return document.querySelector('#pictures canvas').toDataURL()")

        def choose(name):
            page.click(page.named(f"^{name}$", "input"))

        page.click(page.named("^frequency", "#atom-table button"))
        up = [float(x) for x in column(2)]
        assert len(up) == 15 and up == sorted(up)
        page.click(page.named("^frequency", "#atom-table button"))
        down = [float(x) for x in column(2)]
        assert down[0] > up[0] and down == sorted(down, reverse=True)
        page.click(page.named("Show all"))
        assert len(column(1)) == 100
        before = picture()
        choose("energy")
        assert picture() != before
        choose("frequency")
        assert picture() == before
        zoom = page.named("the data: zoom", "[role=group]")
        page.press(zoom, "+")
        assert picture() != before
        page.press(zoom, "0")
        assert picture() == before
        page.run("arguments[0].scrollIntoView({block: 'center'})", zoom)
        ActionChains(page.driver).move_to_element(zoom).perform()
        assert re.search(r"frame \d+, row \d+, .* Hz, V .* dB, W H .* dB", page.text("#readout"))
        choose("distance from the least")
        choose("time")
        page.check_ink()
        page.click(page.named("^Download atoms.csv$"))
        table = work / "atoms.csv"
        end = time.monotonic() + 20
        while not table.exists():
            assert time.monotonic() < end, "no download"
            time.sleep(0.05)
        time.sleep(0.2)
        assert len(table.read_bytes().split(b"\r\n")) == 102
        page.click(page.named("^Copy$"))
        page.click(page.named("Play atom"))


@check("a large model: 3 s, 8 MB")
def _():
    path = work / "large.html"
    with Page(path) as page:
        size = path.stat().st_size
        print(f"      interactive after {page.ready:.2f} s, {page.work:.2f} s of them work; {size} bytes")
        assert size < 8e6
        assert 0 < page.work < 9, page.work  # three times the target: computers differ
        page.check_ink()


@check("odd models: one row, one frame, one or many components, NaN, several realisations")
def _():
    for name in [*list(ODD)[1:], "several"]:
        with Page(work / f"{name}.html") as page:
            assert len(page.text(".lead")) > 20, name
            assert page.run(TOO_WIDE) <= 0, name


@check("convergence: every quantity against iteration and time, all starts, the best marked")
def _():
    with Page(work / "several.html") as page:
        for quantity in ("C", "L", "I", "gradient", "step"):
            for against in ("iteration", "time"):
                page.click(page.named(f"^{quantity}$", "#convergence input"))
                page.click(page.named(f"^{against}$", "#convergence input"))
                assert len(page.all("#convergence canvas")) == 1, quantity
                page.check_ink(f"{quantity} against {against}")
        assert re.search(r"thick line.*\d+", page.text("#convergence"), re.S)


@check("candidates of a separation: all of them, with scores and reasons")
def _():
    with Page(stems) as page:
        rows = page.texts("#candidates tbody tr")
        assert len(rows) == summary["separation"]["candidates"]
        candidate = summary["candidate"]
        for what, score, why in zip(candidate["what"], candidate["score"], candidate["why"]):
            row = next((row for row in rows if row.startswith(what)), "")
            assert f"{score:.1f} dB" in row and row.endswith(why), f"{what}: {row}"


@check("accessible: names, contrast, structure, light and dark; all within the width")
def _():
    for scheme in ("light", "dark"):
        for path in (stems, notes):
            with Page(path, scheme=scheme) as page:
                check_access(page, scheme)
    for width in (400, 3840):
        with Page(stems, width=width, height=800) as page:
            assert page.run(TOO_WIDE) <= 0, f"at {width} px"
            assert page.run(SCROLLS, "table.scores") is False, f"the scores do not fit into {width} px"


@check("all controls can be reached with Tab")
def _():
    with Page(stems) as page:
        wanted = page.run("""return [...document.querySelectorAll("button, input, a, .over[tabindex]")]
            .filter(e => e.checkVisibility() && !e.disabled && !(e.type === "radio" && !e.checked)).length""")
        seen = set()
        for _ in range(wanted + 30):
            ActionChains(page.driver).send_keys(Keys.TAB).perform()
            seen.add(page.run("""const e = document.activeElement;
                e.dataset.seen = e.dataset.seen || Math.random(); return e.dataset.seen"""))
        assert len(seen) >= wanted, f"{len(seen)} of {wanted}"


@check("without JavaScript: headline, scores, atoms, players")
def _():
    with Page(stems, scripts=False) as page:
        assert "into 2 sources" in page.text(".lead")
        assert page.one("table.scores").is_displayed()
        assert len(page.all("audio[controls]")) == 2
    with Page(notes, scripts=False) as page:
        assert page.one("#atom-table").is_displayed()
        assert re.match(r"-\d+", page.text('[data-name="C"]'))


if screenshots:
    for name, path in (("stems", stems), ("notes", notes)):
        for scheme in ("light", "dark"):
            for width, height in ((1280, 900), (400, 800)):
                with Page(path, scheme=scheme, width=width, height=height) as page:
                    shot = page.cdp("Page.captureScreenshot", captureBeyondViewport=True)
                    file = screenshots / f"{name}-{scheme}-{width}.png"
                    file.write_bytes(base64.b64decode(shot["data"]))
print(f"{len(passed)} passed")
