"""The blocks of docs/recipes.md that are marked sh or python, in order and in one folder."""
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recipes.md"


class Recipes(unittest.TestCase):
    def test_all_blocks(self):
        blocks = re.findall(r"^```(sh|python)\n(.*?)^```$", PAGE.read_text(), re.S | re.M)
        self.assertGreater(len(blocks), 10)
        here, names = os.getcwd(), {}
        path = str(Path(os.environ["TLNMF_PROGRAM"]).parent)
        environment = {**os.environ, "PATH": path + os.pathsep + os.environ["PATH"]}
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                for i, (kind, text) in enumerate(blocks):
                    with self.subTest(block=i, kind=kind):
                        if kind == "python":
                            exec(compile(text, f"recipes.md, block {i}", "exec"), names)
                        else:
                            words = ["sh", "-eu", "-c", text]
                            subprocess.run(words, check=True, env=environment, stdout=subprocess.DEVNULL)
            finally:
                os.chdir(here)


if __name__ == "__main__":
    unittest.main()
