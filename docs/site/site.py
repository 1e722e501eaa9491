"""Makes the documentation site: site.py BUILD writes BUILD/docs-source and BUILD/site.

The pages are the Markdown files of docs/, which also read well without the site. This script adds the
navigation, the reference pages and the players, turns links to files of the repository into pages, and
calls Sphinx. docs/internals/site.md explains it.
"""
import fnmatch
import html
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DOCS = ROOT / "docs"
IMAGES = (".svg", ".png")
LANGUAGES = {".c": "c", ".h": "c", ".cc": "cpp", ".py": "python", ".sh": "sh", ".m": "octave", ".cff": "yaml"}
RECORDING = ROOT / "tests" / "recordings" / "piano_a4_as4"

# The navigation: page, title and text of a section page that has no Markdown file, and its members, as
# patterns of page names in their order. Pages that no section names are in the section REST.
REST = "reference/index"
SECTIONS = (
    ("install", None, None, ("packages",)),
    (
        "tutorials/index",
        "Tutorials",
        "Each leads from data to a checked result. The shown outputs are those of a real run.",
        ("tutorials/arrays", "tutorials/eeg", "tutorials/audio", "tutorials/python", "tutorials/c", "tutorials/*"),
    ),
    (
        "howto/index",
        "How-to",
        "Each page answers one question.",
        ("howto/method", "howto/components", "howto/eps", "howto/*"),
    ),
    (
        "reference/index",
        "Reference",
        "Commands, functions, options, results and file formats.",
        ("program", "commands/index", "library", "c/index", "python", "reference/python", "tables", "arrays",
         "models", "separation", "report", "scores", "reliability", "glossary"),
    ),
    ("spec", None, None, ()),
    ("reproduction", None, None, ()),
    ("measurements/index", None, None, ("measurements/*",)),
    (
        "internals/index",
        None,
        None,
        ("architecture", "internals/*", "roadmap", "project/contributing", "project/*", "files/index"),
    ),
    ("faq", None, None, ()),
    ("alternatives", None, None, ()),
    ("changelog", None, None, ()),
)  # fmt: skip


def site_path(path):
    """Where a file of the repository is in the site: a page, or an image."""
    if path.suffix == ".md" and path.is_relative_to(DOCS):
        name = path.relative_to(DOCS)
        return name.with_name("index.md") if name.name == "README.md" else name
    if path.suffix == ".md" and path.parent == ROOT:
        return Path("changelog.md") if path.name == "CHANGELOG.md" else Path("project", path.name.lower())
    if path.suffix in IMAGES and path.is_relative_to(DOCS):
        return path.relative_to(DOCS)
    return Path("files", str(path.relative_to(ROOT)) + ".md")


def fence_of(lines):
    return "```text\n" + "".join(line + "\n" for line in lines) + "```"


class Source:
    """The folder that Sphinx reads. Pages are added as links lead to them."""

    def __init__(self, folder, outputs):
        self.folder, self.outputs, self.added, self.waiting = folder, outputs, set(), []

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def add(self, path):
        """Adds a file or a folder of the repository, and returns its place in the site."""
        name = site_path(path)
        if path not in self.added:
            self.added.add(path)
            self.waiting.append((path, name))
        return name

    def add_all(self):
        while self.waiting:
            path, name = self.waiting.pop()
            if path.suffix in IMAGES:
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, self.folder / name)
            elif path.suffix == ".md":
                self.write(name, self.convert(self.read(path), path, name))
            elif path.is_dir():
                self.write(name, self.folder_page(path, name))
            else:
                self.write(name, file_page(path))

    def read(self, path):
        """The text of a page, with the outputs of the last run of its blocks instead of `...`."""
        text, outputs = path.read_text(), self.outputs / f"{path.relative_to(ROOT)}.json"
        for expected, printed in json.loads(outputs.read_text()) if outputs.exists() else ():
            text = text.replace(fence_of(expected), fence_of(printed))
        return text

    def folder_page(self, path, name):
        rows = [f"# {path.relative_to(ROOT)}/", ""]
        for child in sorted(path.iterdir()):
            if child.is_file() and child.suffix in LANGUAGES:
                rows.append(f"- [{child.name}]({relative(self.add(child), name)})")
        return "\n".join(rows) + "\n"

    def target(self, link, path, name):
        """A link of the page at `path`, as a link of the site."""
        place, hash_mark, anchor = link.partition("#")
        if not place or re.match(r"[a-z]+:", link):
            return link
        found = (path.parent / place).resolve()
        if found.is_dir() and (found / "README.md").exists():
            found = found / "README.md"
        if not found.exists():  # a generated page, or a broken link, which Sphinx reports
            return link
        if not found.is_relative_to(ROOT):
            raise SystemExit(f"{path}: the link {link} leaves the repository")
        return relative(self.add(found), name) + hash_mark + anchor

    def convert(self, text, path, name):
        """The text of a page with the links of the site, without comments.

        Sphinx inserts the title of a page for a link whose text is the name of its file.
        """
        rows, fence = [], None
        text = re.sub(r"^ *<!--(?! site:).*?-->\n?", "", text, flags=re.S | re.M)
        for row in text.split("\n"):
            mark = re.match(r" {0,3}(`{3,}|~{3,})", row)
            if mark and fence is None:
                fence = mark[1]
            elif mark and row.strip() == fence:
                fence = None
            elif fence is None and not row.startswith("    "):
                row = re.sub(
                    r"(\[[\w/.-]+\.md)?\]\(([^()\s]+)\)",  # a link; its text may be the name of a page
                    lambda found: f"{'[' if found[1] else ''}]({self.target(found[2], path, name)})"
                    if row[: found.start()].count("`") % 2 == 0
                    else found[0],
                    row,
                )
            rows.append(row)
        return "\n".join(rows)


def relative(name, page):
    return os.path.relpath(name, Path(page).parent)


def file_page(path):
    """A page that shows a file of the repository."""
    text = path.read_text()
    fence = "`" * max([3] + [len(run) + 1 for run in re.findall(r"`{3,}", text)])
    language = LANGUAGES.get(path.suffix, "text")
    return f"# {path.relative_to(ROOT)}\n\n{fence}{language}\n{text}{fence}\n"


def toctree(names, *options):
    return "\n".join(["", "```{toctree}", *options, "", *(f"/{name}" for name in names), "```", ""])


def add_navigation(source):
    """Writes the section pages, and adds the lists of their members to all of them."""
    names = {str(path.relative_to(source.folder).with_suffix("")) for path in source.folder.glob("**/*.md")}
    listed = {page for page, *_ in SECTIONS} | {"index"}
    files = sorted(name for name in names if name.startswith("files/"))
    if files:
        source.write("files/index.md", "# Files that pages name\n" + toctree(files, ":titlesonly:"))
        names.add("files/index")
        listed.update(files)
    for name in names:  # the generated pages have an index each, with its own list
        if name.split("/")[0] in ("commands", "c") and name.split("/")[1] != "index":
            listed.add(name)
    members = {}
    for page, _, _, patterns in SECTIONS:
        members[page] = []
        for pattern in patterns:
            found = sorted(fnmatch.filter(names - listed, pattern))
            members[page] += found
            listed.update(found)
    members[REST] += sorted(names - listed)
    for page, title, text, _ in SECTIONS:
        if title:
            source.write(f"{page}.md", f"# {title}\n\n{text}\n" + toctree(members[page], ":titlesonly:"))
        elif members[page]:
            path = source.folder / f"{page}.md"
            path.write_text(path.read_text() + toctree(members[page], ":hidden:"))
    home = source.folder / "index.md"
    there = [page for page, *_ in SECTIONS if (source.folder / f"{page}.md").exists()]
    home.write_text(home.read_text() + toctree(there, ":hidden:", ":titlesonly:"))


# ---- parts that a run makes ----------------------------------------------------------------------


def add_players(build, source):
    """Separates a recording, and puts players of the mixture and its stems into the home page."""
    sounds = build / "docs-extra" / "sounds"
    shutil.rmtree(sounds.parent, ignore_errors=True)
    sounds.parent.mkdir()
    words = [build / "tlnmf", "separate", RECORDING / "mix.flac", "--labels", RECORDING / "labels.txt"]
    subprocess.run([*words, "--format", "flac", "-o", sounds], check=True, stdout=subprocess.DEVNULL)
    for path in sounds.iterdir():
        if path.suffix != ".flac":
            path.unlink()
    stems = sorted(sounds.iterdir())
    shutil.copy(RECORDING / "mix.flac", sounds)
    rows = ["<div class='players'>"]
    for path, title in [(sounds / "mix.flac", "the recording")] + [(stem, f"source {stem.stem}") for stem in stems]:
        rows.append(
            f"<figure><audio controls preload='metadata' src='sounds/{html.escape(path.name)}'></audio>"
            f"<figcaption>{html.escape(title)}</figcaption></figure>"
        )
    players = "\n".join(rows + ["</div>"])
    home = source.folder / "index.md"
    text, count = re.subn(
        r"<!-- site:\n(.*?)^PLAYERS\n-->", lambda found: found[1] + players, home.read_text(), flags=re.S | re.M
    )
    if count != 1:
        raise SystemExit("docs/index.md: a comment <!-- site: with the line PLAYERS is missing")
    home.write_text(text)


def add_python(source):
    """The reference of the Python package, from its docstrings."""
    sys.path.insert(0, str(ROOT / "python"))
    import tlnmf

    kinds = {"Functions": [], "Classes": [], "Errors": []}
    for name in sorted(tlnmf.__all__, key=str.lower):
        value = getattr(tlnmf, name)
        if isinstance(value, type) and issubclass(value, Exception):
            kinds["Errors"].append(f".. autoexception:: tlnmf.{name}\n")
        elif isinstance(value, type):
            kinds["Classes"].append(f".. autoclass:: tlnmf.{name}\n   :members:\n")
        elif callable(value):
            kinds["Functions"].append(f".. autofunction:: tlnmf.{name}\n")
    kinds["Simulated data"] = [".. automodule:: tlnmf.simulate\n   :members:\n"]
    kinds["Figures"] = [".. automodule:: tlnmf.plot\n   :members:\n"]
    rows = ["# Python functions and classes", "", "[The guide](../python.md) explains how they work together.", ""]
    for title, items in kinds.items():
        rows += [f"## {title}", "", "```{eval-rst}", "\n".join(items) + "```", ""]
    source.write("reference/python.md", "\n".join(rows))


def add_reference(build, source):
    """The reference of commands and C functions."""
    subprocess.run([sys.executable, HERE / "reference.py", build, source.folder], check=True)
    for path in [*source.folder.glob("commands/*.md"), *source.folder.glob("c/*.md")]:
        name = path.relative_to(source.folder)
        path.write_text(source.convert(path.read_text(), DOCS / name, name))


def complete_theme(static):
    """Debian's package of the theme is not bundled: this makes what upstream publishes from its parts.

    The style sheet imports another one from the root of the web server, and lacks the dark colours of
    browsers that prefer them. The script is a module that imports another one, and is loaded as a script.
    """
    sheet, script = static / "styles" / "furo.css", static / "scripts" / "furo.js"
    text = sheet.read_text()
    text = re.sub(r"@import url\(/(.*?)\);", lambda found: Path("/usr/share", found[1]).read_text(), text)
    if "prefers-color-scheme" not in text:
        colours = re.search(r'body\[data-theme="dark"\] \{([^}]*)\}', text)[1]
        text += '\n@media (prefers-color-scheme: dark) { body:not([data-theme="light"]) {' + colours + "} }\n"
    sheet.write_text(text)
    text = script.read_text()
    for line, name in re.findall(r'^(import \w+ from "\./(.*)";)$', text, re.M):
        text = (static / "scripts" / name).read_text() + text.replace(line, "")
    script.write_text(text)


def check_images(source):
    """Every image is drawn by the blocks of a page, or is listed here with a reason."""
    fixed = ("images/page-*.png", "measurements/reproduction/*.svg")  # screenshots; a run of minutes
    pages = "\n".join(path.read_text() for path in source.added if path.suffix == ".md")
    pages = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", pages)
    for path in sorted(source.added):
        name = str(site_path(path))
        if path.suffix in IMAGES and path.name not in pages and not any(fnmatch.fnmatch(name, p) for p in fixed):
            raise SystemExit(f"{path}: no block draws this figure (docs/internals/site.md)")


def main():
    if len(sys.argv) != 2:
        raise SystemExit("usage: site.py BUILD")
    missing = [name for name in ("sphinx", "furo", "myst_parser", "numpy") if find_spec(name) is None]
    if missing:
        raise SystemExit(f"{sys.executable} has no {', '.join(missing)}. `./run docs` installs Debian's packages")
    build = Path(sys.argv[1]).resolve()
    os.environ.update(TLNMF_LIBRARY=str(build), TLNMF_PROGRAM=str(build / "tlnmf"), LC_ALL="C.UTF-8")
    os.environ.update(TLNMF_SITE_EXTRA=str(build / "docs-extra"), PYTHONDONTWRITEBYTECODE="1")
    os.environ["PYTHONPATH"] = str(ROOT / "python")
    folder, site = build / "docs-source", build / "site"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(site, ignore_errors=True)
    source = Source(folder, build / "docs-outputs")
    for path in [*DOCS.glob("**/*.md"), *ROOT.glob("*.md"), ROOT / "LICENSE"]:
        source.add(path)
    source.add_all()
    add_python(source)
    add_reference(build, source)
    source.add_all()
    check_images(source)
    add_navigation(source)
    add_players(build, source)
    words = ["-m", "sphinx", "-W", "--keep-going", "-q", "-c", HERE, "-d", build / "docs-doctrees", folder, site]
    done = subprocess.run([sys.executable, *words])
    if done.returncode == 0:
        complete_theme(site / "_static")
        done = subprocess.run([sys.executable, HERE / "links.py", site])
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
