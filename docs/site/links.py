"""Checks the links of a built site: links.py FOLDER.

Every link and source of an HTML page leads to a file of the folder, and every #anchor to an element.
Pages and style sheets must not load anything from elsewhere; links to other sites are listed, not fetched.
"""
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "audio": "src", "source": "src", "iframe": "src", "video": "src"}


class Sheet:
    """The files that a style sheet loads, with their lines."""

    def __init__(self, path):
        self.ids, self.links, self.loads = set(), [], []
        text = re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), path.read_text(), flags=re.S)
        for i, line in enumerate(text.splitlines(), 1):
            found = re.findall(r"url\(\s*[\"']?([^\"')]+)|@import\s+[\"']([^\"']+)", line)
            self.loads += [(i, one or other) for one, other in found]


class Page(HTMLParser):
    """The ids, the links and the loaded files of a page, with their lines."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids.update(value for name, value in attributes if name in ("id", "name") and value)
        line = self.getpos()[0]
        if tag == "a" and found.get("href"):
            self.links.append((line, found["href"]))
        elif tag == "link" and found.get("href"):
            loads = "stylesheet" in (found.get("rel") or "") or "icon" in (found.get("rel") or "")
            (self.loads if loads else self.links).append((line, found["href"]))
        elif found.get(LOADED.get(tag, "")):
            self.loads.append((line, found[LOADED[tag]]))


def fault_of(folder, path, pages, target):
    """What is wrong with a link of the page at `path`, or None."""
    parts = urlsplit(target)
    place = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if place.is_dir():
        place = place / "index.html"
    if folder not in place.parents:
        return "leaves the site"
    if not place.is_file():
        return "no such file"
    if parts.fragment and place in pages and unquote(parts.fragment) not in pages[place].ids:
        return "no such anchor"
    return None


def main():
    folder = Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in sorted(folder.glob("**/*.html"))}
    sheets = {path: Sheet(path) for path in sorted(folder.glob("**/*.css"))}
    faults, outside, count = [], set(), 0
    for path, page in [*pages.items(), *sheets.items()]:
        for line, target in page.links + page.loads:
            scheme = urlsplit(target).scheme
            where = f"{path.relative_to(folder)}:{line}: {target}"
            if scheme in ("http", "https") or target.startswith("//"):
                outside.add(target)
                if (line, target) in page.loads:
                    faults.append(f"{where}: loaded from the network")
            elif scheme not in ("data", "mailto", "javascript"):
                count += 1
                fault = fault_of(folder, path, pages, target)
                if fault:
                    faults.append(f"{where}: {fault}")
    for target in sorted(outside):
        print(f"not fetched: {target}")
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(pages)} pages, {count} links, {len(faults)} broken")
    return 1 if faults or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
