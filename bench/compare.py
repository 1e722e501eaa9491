#!/usr/bin/env python3
"""Paper mode against bench/reference.py, the same iterations from the same start, in one run.

    compare.py PROGRAM [--repeat 3] [--json FILE]

Both run on one thread and are timed in CPU seconds, the solver alone.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

import reference  # first: pins BLAS to one thread before numpy loads

import numpy as np

CASES = [("tl", "gcm", 1, 1000), ("tl", "gcm", 100, 1000), ("jd", "gcm", 1, 1000), ("jd", "gcm", 100, 1000),
         ("tl", "notes", 1, 100), ("tl", "notes", 10, 100), ("jd", "notes", 1, 100)]


def simulate(program, data, S, path):
    if data == "gcm":
        what = ["gcm", "--stream", "numpy"]
    else:
        phases = zip(reference.THETA1[:S], reference.THETA2[:S])
        what = ["notes", "--theta", ",".join(repr(x) for pair in phases for x in pair)]
    subprocess.run([program, "simulate", *what, "--s", str(S), "-o", path], check=True)


def write_start(data, folder):
    """The first start as files, so that drawing it is not part of our time either."""
    d = reference.DATA[data]
    M, N = (10, 50) if data == "gcm" else (200, 151)
    words = []
    for name, array in zip(("phi", "w", "h"), reference.starts(1, M, N, d["K"], d["seed_start"])[0]):
        path = os.path.join(folder, f"{data}_{name}.npy")
        np.save(path, array)
        words += [f"--init-{name}", path]
    return words


def fit(program, method, data, J, path, start):
    d = reference.DATA[data]
    out = subprocess.run(
        [program, "fit", path, "-k", str(d["K"]), "--eps", repr(d["eps"]), "--method", method, "-J", str(J),
         "--halvings", str(d["halvings"]), *start, "--threads", "1", "--json", "--no-model"],
        check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def measure(program, method, data, S, J, repeat, folder):
    path = os.path.join(folder, f"{data}{S}.npy")
    simulate(program, data, S, path)
    start = write_start(data, folder)
    runs = [fit(program, method, data, J, path, start) for _ in range(repeat)]
    ours = statistics.median(r["cpu_seconds"] for r in runs)
    slow = method == "jd" and data == "notes"  # a quarter of a minute each
    theirs = [reference.solve(method, data, S, J) for _ in range(1 if slow else repeat)]
    theirs_s = statistics.median(r["cpu_seconds"] for r in theirs)
    return {"method": method, "data": data, "S": S, "J": J, "numpy_seconds": theirs_s, "tlnmf_seconds": ours,
            "ratio": theirs_s / ours, "numpy_C": theirs[0]["C"], "tlnmf_C": runs[0]["C"]}


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("program")
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--json", help="write the figures here, too")
    args = p.parse_args()
    rows = []
    print("case                      numpy s    tlnmf s    ratio    C numpy - C tlnmf")
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            r = measure(args.program, *case, args.repeat, folder)
            rows.append(r)
            name = f"{r['data']} S={r['S']} {r['method']} J={r['J']}"
            print(f"{name:24} {r['numpy_seconds']:8.3f}   {r['tlnmf_seconds']:8.4f}   {r['ratio']:6.1f}    "
                  f"{r['numpy_C'] - r['tlnmf_C']:.2e}", flush=True)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(rows, f, indent=1)


if __name__ == "__main__":
    main()
