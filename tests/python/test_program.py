"""The same options and seed give the program's results to the last bit."""
import os
import re
import subprocess
import tempfile
import unittest
import zipfile
from pathlib import Path

import numpy as np

import tlnmf

PROGRAM = os.environ["TLNMF_PROGRAM"]


class Bits(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def program(self, *words):
        done = subprocess.run([PROGRAM, *map(str, words)], check=True, stdout=subprocess.PIPE, text=True)
        self.summary = done.stdout

    def model(self, Y, command, options):
        path, out = Path(self.folder.name) / "Y.npy", Path(self.folder.name) / "model.h5"
        np.save(path, Y)
        words = [w for n, v in options.items() for w in (f"-{n}" if len(n) == 1 else f"--{n}", v)]
        self.program(command, path, *words, "-o", out, "--force")
        return tlnmf.load(out)

    def test_fits(self):
        Y = tlnmf.simulate.gcm(s=3, m=8, n=40).Y
        for options in (
            {"k": 3, "seed": 7},
            {"k": 4, "method": "jd", "starts": 4, "eps": 1e-3},
            {"k": 2, "method": "tl", "solver": "paper", "J": 30, "seed": 2**63 + 5},
            {"k": 3, "method": "nmf", "transform": "dft"},
        ):
            with self.subTest(options):
                mine = tlnmf.fit(Y, **options)
                theirs = self.model(Y, "fit", options)
                for name in ("Phi", "W", "H"):
                    np.testing.assert_array_equal(mine[name], theirs[name])
                self.assertEqual((mine.C, mine.L, mine.I), (theirs.C, theirs.L, theirs.I))
                starts = re.search(r"best \w found by .*|$", self.summary)[0]
                self.assertIn(starts, repr(mine))
                self.assertEqual(bool(starts), "found by" in repr(mine))

    def test_a_model_without_its_arrays(self):
        path = Path(self.folder.name) / "members.npz"
        np.savez(path, members=np.ones((1, 11)))
        with zipfile.ZipFile(path, "a") as file:
            file.writestr("summary.json", '{"M": 4, "frame": 4, "eps": 1}')
        words = [PROGRAM, "report", str(path), "-o", str(path) + ".html"]
        done = subprocess.run(words, capture_output=True, text=True)
        self.assertEqual(done.returncode, 3)  # the file is at fault, not the program
        self.assertEqual(done.stderr, f"tlnmf report: {path}: the model has neither Phi nor W\n")

    def test_simulations(self):
        path = Path(self.folder.name) / "data.npy"
        self.program("simulate", "gcm", "-s", 5, "--stream", "numpy", "-o", path)
        np.testing.assert_array_equal(np.load(path), tlnmf.simulate.gcm(s=5, stream="numpy").Y)
        self.program("simulate", "notes", "-s", 2, "--seed", 7, "-o", path, "--force")
        np.testing.assert_array_equal(np.load(path), tlnmf.simulate.notes(2, seed=7).Y)

    def test_joint_diagonalisation(self):
        Y = tlnmf.simulate.gcm(s=20, m=6, n=25).Y
        C = np.einsum("smn,skn->nmk", Y, Y) / len(Y)
        C = (C + C.transpose(0, 2, 1)) / 2
        Phi, info = tlnmf.joint_diagonalize(C, seed=3)
        theirs = self.model(C, "jd", {"input": "covariances", "seed": 3})
        np.testing.assert_array_equal(Phi, theirs.Phi)
        self.assertEqual(info.L, theirs.L)


if __name__ == "__main__":
    unittest.main()
