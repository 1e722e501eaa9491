#!/usr/bin/env python3
"""Paper mode against bench/reference.py, the same iterations from the same start; then what fast mode reaches.

    compare.py PROGRAM [--repeat 3] [--json FILE]

Both run on one thread and are timed in CPU seconds, the solver alone.
"""
import argparse
import json
import os
import re
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


def run(program, command, path, *words):
    """The JSON of one call, on one thread unless the words say otherwise."""
    threads = [] if "--threads" in words else ["--threads", "1"]
    out = subprocess.run([program, command, path, *map(str, words), *threads, "--json"],
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def fit(program, data, path, *words):
    d = reference.DATA[data]
    method = [] if "--method" in words else ["--method", "tl"]
    return run(program, "fit", path, "-k", d["K"], "--eps", repr(d["eps"]), "--no-model", *method, *words)


def median_cpu(runs):
    return statistics.median(r["cpu_seconds"] for r in runs)


def compare_paper(program, method, data, S, J, repeat, folder):
    """The same iterations from the same start, in paper mode."""
    path = os.path.join(folder, f"{data}{S}.npy")
    simulate(program, data, S, path)
    words = ["--solver", "paper", "--method", method, "-J", J, "--halvings", reference.DATA[data]["halvings"],
             *write_start(data, folder)]
    runs = [fit(program, data, path, *words) for _ in range(repeat)]
    slow = method == "jd" and data == "notes"  # a quarter of a minute each
    theirs = [reference.solve(method, data, S, J) for _ in range(1 if slow else repeat)]
    numpy_s, ours = median_cpu(theirs), median_cpu(runs)
    return {"case": f"{data} S={S} {method} J={J}", "numpy_seconds": numpy_s, "tlnmf_seconds": ours,
            "ratio": numpy_s / ours, "numpy_C": theirs[0]["C"], "tlnmf_C": runs[0]["C"]}


def time_to(program, data, path, value, key, repeat, *words):
    """Seconds of the fast solver's stages from start 1 until C or L falls to a value, and the iterations."""
    d = reference.DATA[data]
    words = [*words, "--seed", d["seed_start"], "--stream", "numpy"]
    stage = "tl" if key == "C" else "jd"
    if "--method" not in words:
        words += ["--method", stage]
    trace = [r for r in fit(program, data, path, *words, "-J", 300, "--trace")["trace"] if r["stage"] == stage]
    J = next((i + 1 for i, r in enumerate(trace) if r[key] <= value), None)
    if J is None:
        return None, None
    command = "fit" if key == "C" else "jd"
    if key == "C":
        words = ["-k", d["K"], "--no-model", *words]
    else:
        words = [w for w in words if w not in ("--method", "jd")] + ["-o", os.devnull]
    runs = [run(program, command, path, "--eps", repr(d["eps"]), *words, "-J", J) for _ in range(repeat)]
    return statistics.median(r["nmf_seconds"] + r["transform_seconds"] for r in runs), J


def starts_that_reach(program, data, path, value, starts):
    """How many of the reference's starts end at C <= value, and CPU seconds a start."""
    d = reference.DATA[data]
    out = subprocess.run([program, "fit", path, "-k", str(d["K"]), "--eps", repr(d["eps"]), "--starts", str(starts),
                          "--seed", str(d["seed_start"]), "--stream", "numpy", "--threads", "1", "--no-model", "-v", "--method", "tl",
                          "--json"], check=True, capture_output=True, text=True)
    ends = [float(line.split("C = ")[1].split(",")[0]) for line in out.stderr.splitlines() if "C = " in line]
    return sum(C <= value for C in ends), json.loads(out.stdout)["cpu_seconds"] / starts


def fast_mode(program, numpy_seconds, repeat, folder):
    """What the fast solver reaches, and how fast; yields lines of text."""
    path = {(d, S): os.path.join(folder, f"{d}{S}.npy") for d, S in
            [("gcm", 1), ("gcm", 10), ("gcm", 100), ("gcm", 5000), ("notes", 1), ("notes", 10)]}
    for (d, S), p in path.items():
        simulate(program, d, S, p)
    tl, jd = numpy_seconds["notes S=1 tl J=100"], numpy_seconds["notes S=1 jd J=100"]
    s, J = time_to(program, "notes", path["notes", 1], -405075.617, "C", repeat)
    yield f"notes S=1, start 1, to C <= -405075.617: {s:.4f} s ({J} iterations), {tl / s:.0f} times numpy's 100"
    n, s = starts_that_reach(program, "notes", path["notes", 1], -405498.0, 16)
    yield f"notes S=1, 16 starts: {n} reach C <= -405498.0, {s:.3f} s a start (20 iterations of numpy: {tl / 5:.3f} s)"
    n, s = starts_that_reach(program, "gcm", path["gcm", 100], 1835.61474, 20)
    ref = numpy_seconds["gcm S=100 tl J=1000"]
    yield f"GCM S=100, 20 starts: {n} reach C <= 1835.61474, {s:.4f} s a start, {ref / s:.0f} times numpy"
    r = fit(program, "gcm", path["gcm", 10], "--starts", 64, "--seed", 2021, "--stream", "numpy")
    yield f"GCM S=10, best of 64 starts: C = {r['C']:.7f} ({r['cpu_seconds']:.1f} s)"
    r = fit(program, "gcm", path["gcm", 1], "--starts", 500, "--seed", 2021, "--stream", "numpy", "--continuation")
    yield f"GCM S=1, continuation, 500 starts: C = {r['C']:.2f} ({r['cpu_seconds']:.1f} s)"
    r = run(program, "jd", path["gcm", 1], "--eps", "1e-8", "--starts", 500, "--seed", 2021, "--stream", "numpy",
            "--continuation", "-o", os.devnull)
    yield f"GCM S=1, JD, continuation, 500 starts: L = {r['L']:.2f} ({r['cpu_seconds']:.1f} s)"
    for S, value in (10, -405529.072), (1, -406201.454):
        s, J = time_to(program, "notes", path["notes", S], value, "L", repeat, "--method", "jd")
        yield f"JD, notes S={S}, start 1, to L <= {value}: {s:.3f} s ({J} iterations), {jd / s:.0f} times numpy's 100"
    a, b = (median_cpu([fit(program, "gcm", path["gcm", S], "--starts", 20) for _ in range(repeat)]) for S in (100, 5000))
    yield f"GCM, 20 starts: S=100 {a:.3f} s, S=5000 {b:.3f} s, ratio {b / a:.2f}"
    one, two = (statistics.median(fit(program, "gcm", path["gcm", 100], "--starts", 100, "--threads", t)["wall_seconds"]
                                  for _ in range(repeat)) for t in (1, 2))
    yield f"GCM S=100, 100 starts, wall: 1 thread {one:.2f} s, 2 threads {two:.2f} s, ratio {one / two:.2f}"


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("program")
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--json", help="write the figures here, too")
    args = p.parse_args()
    rows, lines = [], []
    kernels = subprocess.run([os.path.join(os.path.dirname(args.program), "bench", "kernels")], check=True,
                             capture_output=True, text=True).stdout
    kernels = json.loads(kernels)
    print("kernels                mu ms   numpy ms   ratio   dgemm GF/s")
    for name, k in kernels.items():
        if name != "blas":
            M, N, K = (int(x) for x in re.findall(r"\d+", name))
            k["numpy_mu"] = reference.time_mu(M, N, K, 200 if M < 1000 else 5)["ms_per_update"]
            print(f"{name:20} {k['mu']:8.4f}   {k['numpy_mu']:8.4f}   {k['numpy_mu'] / k['mu']:5.1f}   {k['gemm_GFlops']:6.1f}")
    print()
    print("paper mode                numpy s    tlnmf s    ratio    C numpy - C tlnmf")
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            r = compare_paper(args.program, *case, args.repeat, folder)
            rows.append(r)
            print(f"{r['case']:24} {r['numpy_seconds']:8.3f}   {r['tlnmf_seconds']:8.4f}   {r['ratio']:6.1f}    "
                  f"{r['numpy_C'] - r['tlnmf_C']:.2e}", flush=True)
        print("\nfast mode")
        seconds = {r["case"]: r["numpy_seconds"] for r in rows}
        for line in fast_mode(args.program, seconds, args.repeat, folder):
            lines.append(line)
            print(line, flush=True)
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"kernels": kernels, "paper": rows, "fast": lines}, f, indent=1)


if __name__ == "__main__":
    main()
