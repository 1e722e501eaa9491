"""The runner of the pages' blocks, docs/site/blocks.py, finds what is wrong in pages made for that.

usage: blocks.py BUILD      (exit code 77: there is no numpy)
"""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
RUNNER = ROOT / "docs" / "site" / "blocks.py"
BUILD = sys.argv.pop(1)


def module(name):
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / "docs" / "site" / f"{name}.py")
    result = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(result)
    return result


class Pages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.page = Path(folder.name) / "page.md"

    def run_page(self, text, *options):
        self.page.write_text(text.replace("'''", "```"))
        words = [sys.executable, str(RUNNER), BUILD, str(self.page), *options]
        done = subprocess.run(words, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def passes(self, text):
        self.assertEqual(self.run_page(text)[0], 0, self.run_page(text)[1])

    def fails(self, text, line, message):
        code, output = self.run_page(text)
        self.assertEqual(code, 1, output)
        self.assertIn(f"page.md:{line}: ", output)
        self.assertIn(message, output)

    def test_languages_share_a_folder(self):
        self.passes(
            "# Page\n\n<!-- hidden sh\necho 3 > number\n-->\n\n'''python\nx = int(open('number').read())\n'''\n"
            "\n'''python\nprint(x + 1)\n'''\n\n'''text\n4\n'''\n"
            "\n<!-- file: hello.c -->\n'''c\n#include <stdio.h>\n#include <tlnmf/io.h>\n"
            "int main(void) { return !puts(tlnmf_version()); }\n'''\n\n'''text\n...\n'''\n"
            "\n<!-- folder: tests/recordings/piano_a4_as4 -->\n'''sh\nls hello.c labels.txt\ntlnmf --version\n'''\n"
            "\n'''text\nhello.c\nlabels.txt\ntlnmf ...\n...\n'''\n"
        )

    def test_wildcards(self):
        block = "'''sh\nprintf 'one 1.25 s\\ntwo\\nthree\\n'\n'''\n\n'''text\n%s\n'''\n"
        for output in ("one 1.25 s\ntwo\nthree", "one ... s\ntwo\nthree", "one...\n...", "...\nthree", "...\ntwo\n..."):
            self.passes(block % output)
        for output in ("one 1.26 s\ntwo\nthree", "one ...\ntwo", "one ...\nthree", "...\ntwo", "one\n...", ""):
            self.fails(block % output, 6, "the output has changed")

    def test_failures_have_a_line(self):
        self.fails("\n'''sh\ntrue\nfalse\n'''\n", 3, "this sh block fails")
        self.fails("\n'''python\n\nx = 1 / 0\n'''\n", 3, "line 4, in <module>")
        self.fails("\n'''python\nraise SystemExit(0)\n'''\n", 3, "SystemExit")
        self.fails("'''c\nint main(void) { return x; }\n'''\n", 2, "undeclared")
        self.fails("'''c\nint main(void) { return 3; }\n'''\n", 2, "exit code 3")
        self.fails("'''sh\ntrue\n'''\n'''sh\necho $x\n'''\n", 5, "x")
        self.fails("'''python\nimport not_a_module\n'''\n", 2, "not_a_module")

    def test_missing_modules(self):
        """A page is skipped for a module that is not installed, not for a wrong import from one that is."""
        self.fails("'''python\nimport numpy.not_a_module\n'''\n", 2, "numpy.not_a_module")
        without = "import sys\nsys.modules.pop('tqdm', 0)\nsys.path[:] = ['.']\nimport tqdm\n"
        code, output = self.run_page(f"'''python\n{without}'''\n")
        self.assertEqual(code, 77, output)
        self.assertIn("has no tqdm", output)
        with mock.patch.dict(os.environ, PATH="/nowhere"):
            code, output = self.run_page("'''sh\nsox --version\n'''\n")
        self.assertEqual(code, 77, output)
        self.assertIn("has no sox", output)

    def test_marks(self):
        self.passes("<!-- not run: needs a GPU -->\n'''sh\nfalse\n'''\n\n'''text\nnothing\n'''\n")
        self.passes("    '''bash\n    false\n    '''\n")
        self.passes("<!-- file: a.txt -->\n'''text\nx\n'''\n\n'''sh\ncat a.txt\n'''\n\n'''text\nx\n'''\n")
        self.fails("<!-- not run: -->\n'''sh\ntrue\n'''\n", 3, "needs a reason")
        self.fails("<!-- not run: no block -->\nwords\n", 1, "not followed by a block")
        self.fails("'''bash\ntrue\n'''\n", 2, "not run")
        self.fails("'''\ntrue\n'''\n", 2, "not run")
        self.fails("'''c\nint x;\n'''\n", 2, "needs main(")
        self.fails("'''sh\ntrue\n'''\n\nwhich prints\n\n'''text\nx\n'''\n", 8, "there is none")
        for text in ("'''sh\ntrue\n", "'''sh", "'''sh\n"):
            self.fails(text, 1, "no end")
        self.fails("<!-- hidden c\nx\n-->\n", 1, "sh or python")

    def test_update(self):
        page = "'''sh\nprintf '1.5 s\\ntwo\\n'\n'''\n\n'''text\n... s\n%s\n'''\n"
        code, output = self.run_page(page % "three", "--update")
        self.assertEqual(code, 0, output)
        self.assertEqual(self.page.read_text(), (page % "two").replace("'''", "```"))

    def test_the_site_shows_what_was_printed(self):
        blocks, site = (module(name) for name in ("blocks", "site"))
        expected = ["one ... s", "...", "C = -3..., ..."]
        printed = blocks.as_printed(expected, ["one 1.25 s", "two", "three", "C = -3.25, I = 2 "])
        self.assertEqual(printed, ["one 1.25 s", "...", "C = -3.25, I = 2"])
        self.assertIsNone(blocks.as_printed(expected, ["one 1.25 s", "two"]))
        outputs = self.page.parent
        (outputs / "docs").mkdir()
        (outputs / "docs" / "index.md.json").write_text(json.dumps([[["    C = -4054..."], ["    C = -405499"]]]))
        index = ROOT / "docs" / "index.md"
        source = site.Source(outputs, outputs)
        self.assertEqual(source.read(index), index.read_text())  # the page has another output now
        outputs_of_index = [[block.output, ["printed"]] for block in blocks.read_page(index.read_text()) if block.output]
        (outputs / "docs" / "index.md.json").write_text(json.dumps(outputs_of_index))
        self.assertIn("```text\nprinted\n```", source.read(index))

    def test_figures(self):
        page = "'''python\nopen('a.svg', 'w').write('<svg x=\"%s\"/>')\n'''\n\n![a](a.svg)\n"
        self.page.with_name("a.svg").write_text('<svg x="1.5"/>')
        self.passes(page % "2.1")
        self.fails(page % "3", 5, "a.svg differs")
        self.run_page(page % "3", "--update")
        self.assertEqual(self.page.with_name("a.svg").read_text(), '<svg x="3"/>')


if __name__ == "__main__":
    unittest.main()
