"""Runs the program and returns its output, its CPU time and its peak memory."""
import json
import os
import statistics
import subprocess

import reference


class Program:
    """build/tlnmf with a folder for its data."""

    def __init__(self, build, folder):
        self.path = os.path.join(build, "tlnmf")
        self.tools = os.path.join(build, "bench")
        self.folder = folder

    def tool(self, name, *words):
        """The JSON that build/bench/NAME prints; one BLAS thread, as reference.py has set it."""
        return json.loads(self._call([os.path.join(self.tools, name), *words])[0])

    def run(self, command, path, *words, threads=1):
        """The JSON of one call, with peak_bytes, process_seconds and stderr."""
        used = os.path.join(self.folder, "used.json")
        out, err = self._call([os.path.join(self.tools, "peak"), used, self.path, command, path, *words,
                               "--threads", threads, "--json"])
        with open(used) as f:
            return {**json.loads(out), **json.load(f), "stderr": err}

    def fit(self, path, K, *words, **more):
        method = [] if "--method" in words else ["--method", "tl"]
        return self.run("fit", path, "-k", K, "--no-model", *method, *words, **more)

    def fit_paper_data(self, data, path, *words, **more):
        """A fit with the rank and the floor of the paper for its data."""
        d = reference.DATA[data]
        return self.fit(path, d["K"], "--eps", repr(d["eps"]), *words, **more)

    def simulate(self, *words):
        """The path of the data, which are generated once."""
        path = os.path.join(self.folder, "_".join(str(w).strip("-")[:40] for w in words) + ".npy")
        if not os.path.exists(path):
            self._call([self.path, "simulate", *words, "-o", path])
        return path

    def gcm(self, S, stream="numpy"):
        return self.simulate("gcm", "--stream", stream, "--s", S)

    def gcm_of_size(self, M, N, K, S=1):
        return self.simulate("gcm", "--m", M, "--n", N, "--kbar", K, "--s", S)

    def notes(self, S):
        phases = zip(reference.THETA1[:S], reference.THETA2[:S])
        return self.simulate("notes", "--s", S, "--theta", ",".join(repr(x) for pair in phases for x in pair))

    def data(self, name, S):
        return self.gcm(S) if name == "gcm" else self.notes(S)

    @staticmethod
    def _call(words):
        words = [str(w) for w in words]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"bench: {' '.join(words)}\nexit code {done.returncode}\n{done.stderr}")
        return done.stdout, done.stderr


def median_of(runs, key="cpu_seconds"):
    return statistics.median(r[key] for r in runs)


def table(title, head, rows):
    """Prints one table of the report; columns are as wide as their widest cell."""
    cells = [head] + [[c if isinstance(c, str) else "-" if c is None else f"{c:.4g}" for c in row] for row in rows]
    widths = [max(len(r[i]) for r in cells) for i in range(len(head))]
    print(f"\n{title}")
    for r in cells:
        print("  " + r[0].ljust(widths[0]) + "".join("  " + c.rjust(w) for c, w in zip(r[1:], widths[1:])), flush=True)
