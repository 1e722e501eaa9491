"""The tools of the documentation: the parser of the public headers, the man pages of section 3, conf.py, links.py.

usage: site.py      (mandoc and groff check the man pages where they are installed)
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"


def run(*words):
    """(exit code, output) of a script with this Python."""
    done = subprocess.run([sys.executable, "-B", *map(str, words)], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class Headers(Folder):
    """A copy of the headers and of the lists of exported functions, with one change."""

    def setUp(self):
        super().setUp()
        for name in ("include", "cmake", "docs/site"):
            shutil.copytree(ROOT / name, self.folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "CITATION.cff", self.folder)

    def write_man(self, *stems):
        return run(self.folder / "docs/site/man3.py", self.folder / "man3", *(stems or ("tlnmf", "sound", "paper", "io")))

    def fails(self, name, old, new, message):
        """The pages are not written after this replacement, and the message says why."""
        path = self.folder / name
        text = path.read_text()
        self.assertEqual(text.count(old), 1, old)
        path.write_text(text.replace(old, new))
        code, output = self.write_man()
        self.assertNotEqual(code, 0)
        self.assertIn(message, output)

    def test_function_without_declaration(self):
        self.fails("cmake/tlnmf.map", "tlnmf_fit;", "tlnmf_fit;\n        tlnmf_refit;", "tlnmf_refit: the headers declare no")

    def test_function_without_export(self):
        self.fails("cmake/tlnmf_io.map", "tlnmf_io_cores;", "", "tlnmf_io_cores: cmake/*.map does not export")

    def test_unknown_declaration(self):
        self.fails("include/tlnmf/sound.h", "typedef struct tlnmf_sound tlnmf_sound;", "extern int tlnmf_sound;", "is not understood")

    def test_every_function_has_a_page(self):
        code, output = self.write_man()
        self.assertEqual(code, 0, output)
        folder = self.folder / "man3"
        maps = (ROOT / "cmake/tlnmf.map").read_text() + (ROOT / "cmake/tlnmf_io.map").read_text()
        names = re.findall(r"^\s+(tlnmf_\w+);", maps, re.M)
        self.assertGreater(len(names), 100)
        for name in names:
            target = re.fullmatch(r"\.so man3/(.*)\n", (folder / f"{name}.3").read_text())[1]
            text = (folder / target).read_text()
            self.assertIn(name, text.split(".SH NAME\n")[1].split("\n")[0])
            self.assertRegex(text, rf"(?m)^\\fB.*\b{name}\(")
        fit = (folder / "tlnmf-fitting.3").read_text()
        self.assertRegex(fit, r'^\.TH "TLNMF\\-FITTING" 3 "\d{4}-\d\d-\d\d" "tlnmf \d+\.\d+\.\d+" ')
        self.assertIn("Learns Phi, W and H.", fit)
        self.assertIn("\\fI", fit)
        self.assertIn("tlnmf-fitting", (folder / "tlnmf.3").read_text().replace("\\-", "-"))

    def test_pages_are_reproducible(self):
        self.write_man()
        first = {path.name: path.read_text() for path in (self.folder / "man3").iterdir()}
        self.write_man()
        self.assertEqual(first, {path.name: path.read_text() for path in (self.folder / "man3").iterdir()})

    def test_without_io(self):
        code, output = self.write_man("tlnmf", "sound", "paper")
        self.assertEqual(code, 0, output)
        self.assertTrue((self.folder / "man3" / "tlnmf_fit.3").exists())
        self.assertFalse(list((self.folder / "man3").glob("tlnmf[-_]io[-_]*")))

    def test_formatters_are_silent(self):
        self.write_man()
        pages = sorted((self.folder / "man3").glob("tlnmf-*.3")) + [self.folder / "man3" / "tlnmf.3"]
        checks = (["mandoc", "-T", "lint", "-W", "warning"], ["groff", "-man", "-t", "-Kutf8", "-Tutf8", "-ww", "-z"])
        for words in checks:
            if shutil.which(words[0]):
                done = subprocess.run([*words, *pages], capture_output=True, text=True)
                self.assertEqual(done.stdout + done.stderr, "")


class Reference(Folder):
    def test_calls(self):
        """A call such as tlnmf_message(ctx) has one pair of parentheses."""
        code = "import pathlib, sys, reference; reference.write_c(pathlib.Path(sys.argv[1]))"
        done = subprocess.run([sys.executable, "-B", "-c", code, self.folder / "c"], cwd=SITE, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = "".join(path.read_text() for path in (self.folder / "c").iterdir())
        calls = re.findall(r":c:func:`([^`]+)`\\ \(", text)
        self.assertIn("tlnmf_message <tlnmf_message>", calls)
        self.assertEqual([call for call in calls if "<" not in call], [])


class Settings(unittest.TestCase):
    @unittest.skipUnless(find_spec("docutils"), "docutils is not installed")
    def test_version(self):
        code = "import runpy, sys; print(runpy.run_path(sys.argv[1])['html_title'])"
        done = subprocess.run([sys.executable, "-B", "-c", code, SITE / "conf.py"], capture_output=True, text=True,
                              env={**os.environ, "TLNMF_SITE_EXTRA": ""})
        header = (ROOT / "include/tlnmf/tlnmf.h").read_text()
        version = ".".join(re.findall(r"^#define TLNMF_VERSION_(?:MAJOR|MINOR|PATCH) +(\d+)$", header, re.M))
        self.assertRegex(version, r"^\d+\.\d+\.\d+$")
        self.assertEqual(done.stdout, f"tlnmf {version}\n", done.stderr)


class Links(Folder):
    def check(self, message, **files):
        (self.folder / "index.html").write_text('<h1 id="top">x</h1><a href="page.html#one">x</a><img src="a.svg">')
        (self.folder / "page.html").write_text('<h2 id="one">x</h2><a href="index.html">x</a><a href="https://a.b">x</a>')
        (self.folder / "a.svg").write_text("<svg/>")
        (self.folder / "style.css").write_text("/* url(x) */ p { background: url(a.svg) }")
        for name, text in files.items():
            (self.folder / name.replace("_", ".")).write_text(text)
        code, output = run(SITE / "links.py", self.folder)
        self.assertEqual(code, 1 if message else 0, output)
        self.assertIn(message or "0 broken", output)

    def test_good(self):
        self.check(None)

    def test_broken(self):
        self.check("index.html:1: page.html#one: no such anchor", page_html="<h2 id='two'>x</h2>")
        self.check("gone.html: no such file", page_html="<a id='one' href='gone.html'>x</a>")
        self.check("leaves the site", page_html="<a id='one' href='../x.html'>x</a>")
        self.check("loaded from the network", page_html="<p id='one'><script src='https://a.b/x.js'></script>")

    def test_style_sheets(self):
        self.check("style.css:1: /x.css: leaves the site", style_css="@import url(/x.css);")
        self.check("style.css:2: b.svg: no such file", style_css="\np { background: url('b.svg') }")
        self.check("loaded from the network", style_css='@import "https://a.b/x.css";')


if __name__ == "__main__":
    unittest.main()
