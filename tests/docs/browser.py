"""The built site in Chromium, wide and narrow, light and dark: nothing is wider than the window, figures are
not too small to read, no file is missing, no script fails, and the colours follow those of the browser.

usage: browser.py BUILD [PAGE...]      (exit code 77: there is no Chromium, Selenium or site)
"""
import shutil
import sys
from pathlib import Path

PAGES = (
    "index", "install", "faq", "separation", "spec", "tables", "tutorials/arrays", "tutorials/c", "tutorials/eeg",
    "howto/covariances", "commands/index", "commands/fit", "c/index", "reference/python", "measurements/index",
    "changelog", "files/examples/first.c", "genindex", "search",
)  # fmt: skip
SIZES = ((1280, 900), (400, 800))
# Narrow pages of the theme hide what is wider than the window, so the elements of the text are tested, except
# in a box that scrolls.
TOO_WIDE = """
const width = document.documentElement.clientWidth, whole = document.documentElement.scrollWidth;
const text = document.querySelector("article") || document.body;
const scrolled = e => /auto|scroll/.test(getComputedStyle(e).overflowX);
const scrolls = e => e !== text && (scrolled(e) || scrolls(e.parentElement));
const shown = e => e.tagName.toLowerCase() + ": " + e.textContent.trim().slice(0, 60);
return (whole > width ? [`the page is ${whole} pixels wide`] : []).concat(
    [...text.querySelectorAll("*")]
    .filter(e => e.getBoundingClientRect().right > width + 1 && !scrolls(e.parentElement))
    .slice(0, 3).map(e => "beyond the window: " + shown(e)));
"""
TOO_SMALL = """
return [...document.querySelectorAll("article img[src$='.svg']")]
    .filter(e => e.getBoundingClientRect().width < 700).map(e => "too small to read: " + e.src);
"""
BRIGHTNESS = "return getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).slice(0, 3).map(Number)"


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(77)


def start_browser(chromium, chromedriver):
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
                 "--disable-background-networking", "--disable-component-update"):  # fmt: skip
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=webdriver.chrome.service.Service(chromedriver), options=options)


def faults(driver, path, scheme, width, height):
    """What is wrong with a page."""
    feature = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.get_log("browser")  # discards earlier entries
    driver.get(path.as_uri())
    found = driver.execute_script(TOO_WIDE) + driver.execute_script(TOO_SMALL)
    if (sum(driver.execute_script(BRIGHTNESS)) < 3 * 128) != (scheme == "dark"):
        found.append(f"the background is not {scheme}")
    return found + [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]


def main():
    site = Path(sys.argv[1]).resolve() / "site"
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    chromedriver = shutil.which("chromedriver")
    if not (site / "index.html").exists():
        skip(f"{site} has no pages: `make docs` builds them")
    if not chromium or not chromedriver:
        skip("no Chromium (Debian: chromium, chromium-driver)")
    pages, count, failed = sys.argv[2:] or PAGES, 0, 0
    driver = start_browser(chromium, chromedriver)
    try:
        for name in pages:
            if not (site / f"{name}.html").exists():
                print(f"{name}: there is no such page")
                failed += 1
                continue
            for scheme in ("light", "dark"):
                for width, height in SIZES:
                    count += 1
                    found = faults(driver, site / f"{name}.html", scheme, width, height)
                    failed += bool(found)
                    for row in found:
                        print(f"{name}, {scheme}, {width} pixels: {row}")
    finally:
        driver.quit()
    print(f"{len(pages)} pages, {count} views, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    try:
        from selenium import webdriver
    except ImportError:
        skip("no Selenium (Debian: python3-selenium)")
    sys.exit(main())
