"""Solvers from the same start: paper mode against bench/reference.py, then the results and times of fast mode.

Medians of CPU seconds of the solver, on one thread unless stated otherwise.
"""
import os
import statistics

import reference  # first: pins BLAS to one thread before numpy loads

import numpy as np

from program import median_of

# method, data, S, J
PAPER = [("tl", "gcm", 1, 1000), ("tl", "gcm", 100, 1000), ("jd", "gcm", 1, 1000), ("jd", "gcm", 100, 1000),
         ("tl", "notes", 1, 100), ("tl", "notes", 10, 100), ("jd", "notes", 1, 100)]
PAPER_HEAD = ["paper mode, the same iterations", "numpy s", "tlnmf s", "ratio", "C numpy - C tlnmf"]
FAST_HEAD = ["fast mode", "value", "s", "against", "ratio"]


def start_files(program, data):
    """The first start as files, so that drawing it is not part of our time either."""
    d = reference.DATA[data]
    M, N = (10, 50) if data == "gcm" else (200, 151)
    words = []
    for name, array in zip(("phi", "w", "h"), reference.starts(1, M, N, d["K"], d["seed_start"])[0]):
        path = os.path.join(program.folder, f"{data}_{name}.npy")
        np.save(path, array)
        words += [f"--init-{name}", path]
    return words


def reference_runs(method, data, S, J, repeat, enough=2.0):
    """At most the requested number of runs; stops after `enough` seconds."""
    runs = []
    while len(runs) < repeat and sum(r["cpu_seconds"] for r in runs) < enough:
        runs.append(reference.solve(method, data, S, J))
    return runs


def compare_paper(program, method, data, S, J, repeat):
    """The same iterations from the same start, in paper mode."""
    words = ["--solver", "paper", "--method", method, "-J", J, "--halvings", reference.DATA[data]["halvings"],
             *start_files(program, data)]
    ours = [program.fit_paper_data(data, program.data(data, S), *words) for _ in range(repeat)]
    theirs = reference_runs(method, data, S, J, repeat)
    seconds = median_of(theirs), median_of(ours)
    return dict(case=f"{data} S={S} {method} J={J}", numpy_seconds=seconds[0], tlnmf_seconds=seconds[1],
                ratio=seconds[0] / seconds[1], numpy_C=theirs[0]["C"], tlnmf_C=ours[0]["C"])


def paper_rows(results):
    return [[r["case"], r["numpy_seconds"], r["tlnmf_seconds"], r["ratio"], r["numpy_C"] - r["tlnmf_C"]] for r in results]


def numpy_stream(data):
    return ["--seed", reference.DATA[data]["seed_start"], "--stream", "numpy"]


def stage_seconds(r):
    """CPU seconds of the solver's stages. The program reports wall time; it is scaled by CPU / wall time of the call."""
    return (r["nmf_seconds"] + r["transform_seconds"]) * r["cpu_seconds"] / r["wall_seconds"]


def time_to(program, data, S, value, key, repeat, precision):
    """Seconds of the fast solver from start 1 until C or L falls to a value, and the iterations.

    Both times, ours and the reference's, are of the iterations only. The start is drawn, not given: the solver roams only
    from random ones.
    """
    path, eps = program.data(data, S), repr(reference.DATA[data]["eps"])

    def solve(*words):
        if key == "C":
            return program.fit_paper_data(data, path, *numpy_stream(data), "--precision", precision, *words)
        return program.run("jd", path, "--eps", eps, "-o", os.devnull, *numpy_stream(data), "--precision", precision, *words)

    trace = solve("-J", 300, "--trace")["trace"]
    J = next((i for i, r in enumerate(trace, 1) if r[key] <= value), None)
    return (None, None) if J is None else (statistics.median(stage_seconds(solve("-J", J)) for _ in range(repeat)), J)


def row_to(program, data, S, value, key, repeat, what, reference_seconds, precision="double"):
    s, J = time_to(program, data, S, value, key, repeat, precision)
    what += ", mixed" if precision == "mixed" else ""
    return dict(what=f"{what}, start 1, to {key} <= {value}", value=J and f"{J} iterations", seconds=s,
                against=reference_seconds, ratio=s and reference_seconds and reference_seconds / s)


def row_reach(program, data, S, value, starts, what, reference_seconds):
    """How many of the reference's starts end at C <= value, and CPU seconds per start."""
    r = program.fit_paper_data(data, program.data(data, S), "--starts", starts, *numpy_stream(data), "-v")
    ends = [float(line.split("C = ")[1].split(",")[0]) for line in r["stderr"].splitlines() if "C = " in line]
    s = r["cpu_seconds"] / starts
    return dict(what=f"{what}, C <= {value}, a start", value=f"{sum(C <= value for C in ends)} of {starts}", seconds=s,
                against=reference_seconds, ratio=reference_seconds and reference_seconds / s)


def row_best(r, key, what):
    return dict(what=what, value=f"{key} = {r[key]:.7f}", seconds=r["cpu_seconds"], against=None, ratio=None)


def hard_rows(program):
    """Best of many starts, for problems where one start is not enough."""
    stream = numpy_stream("gcm")
    many = [*stream, "--starts", 500, "--continuation"]
    yield row_best(program.fit_paper_data("gcm", program.gcm(10), "--starts", 64, *stream), "C",
                   "GCM S=10, best of 64 starts")
    yield row_best(program.fit_paper_data("gcm", program.gcm(1), *many), "C", "GCM S=1, continuation, 500 starts")
    yield row_best(program.run("jd", program.gcm(1), "--eps", "1e-8", *many, "-o", os.devnull), "L",
                   "GCM S=1, JD, continuation, 500 starts")


def row_many_realisations(program, repeat):
    runs = {S: [program.fit_paper_data("gcm", program.gcm(S), "--starts", 20) for _ in range(repeat)] for S in (100, 5000)}
    few, many = median_of(runs[100]), median_of(runs[5000])
    return dict(what="GCM, 20 starts: S = 5000 against S = 100", value="", seconds=many, against=few, ratio=few / many)


def fast_rows(program, seconds, repeat, quick):
    """`seconds`: the reference's seconds for each case of compare_paper."""
    tl = seconds.get("notes S=1 tl J=100")
    yield row_to(program, "notes", 1, -405075.617, "C", repeat, "notes S=1", tl)
    yield row_to(program, "notes", 1, -405075.617, "C", repeat, "notes S=1", tl, "mixed")
    yield row_reach(program, "gcm", 100, 1835.61474, 20, "GCM S=100", seconds.get("gcm S=100 tl J=1000"))
    if quick:
        return
    jd = seconds["notes S=1 jd J=100"]
    yield row_reach(program, "notes", 1, -405498.0, 16, "notes S=1", tl / 5)  # 20 iterations of the reference
    yield row_to(program, "notes", 10, -405529.072, "L", repeat, "JD, notes S=10", jd)
    yield row_to(program, "notes", 10, -405529.072, "L", repeat, "JD, notes S=10", jd, "mixed")
    yield row_to(program, "notes", 1, -406201.454, "L", repeat, "JD, notes S=1", jd)
    yield row_many_realisations(program, repeat)
    yield from hard_rows(program)


def table_rows(results):
    return [[r["what"], r["value"], r["seconds"], r["against"], r["ratio"]] for r in results]


# ------------------------------------------------------------------------------------------- threads

SAME = ("C", "L", "I", "gradient_norm", "orthogonality", "best_start", "iterations", "trace")


def threads(program, repeat, starts):
    """Multi-start on one thread and on two: wall seconds, and whether all figures are the same to the last bit."""
    out = []
    for solver, words in ("fast", []), ("paper", ["--solver", "paper", "-J", 300]):
        runs = {t: [program.fit_paper_data("gcm", program.gcm(100), "--starts", starts, "--trace", *words, threads=t)
                    for _ in range(repeat)] for t in (1, 2)}
        one, two = (median_of(runs[t], "wall_seconds") for t in (1, 2))
        for r in runs[1] + runs[2]:
            for row in r["trace"]:
                row.pop("seconds", None)  # depends on the clock
        same = all(runs[1][0][key] == r[key] for r in runs[2] for key in SAME)
        out.append(dict(case=f"GCM S=100, {starts} starts, {solver}", one=one, two=two, ratio=one / two,
                        cpu_ratio=median_of(runs[2]) / median_of(runs[1]), same=same))
    return out


THREADS_HEAD = ["threads", "1: wall s", "2: wall s", "ratio", "CPU 2 / CPU 1", "same bits"]


def threads_rows(results):
    return [[r["case"], r["one"], r["two"], r["ratio"], r["cpu_ratio"], "yes" if r["same"] else "NO"] for r in results]


def figure2(program):
    """The GCM part of the paper's Figure 2: 100 starts at each S with exchange, two threads, wall seconds."""
    out = []
    for solver, limit in ("fast", 60), ("paper", 240):
        runs = [program.fit_paper_data("gcm", program.gcm(S), "--starts", 100, "--exchange", "--solver", solver,
                                       *numpy_stream("gcm"), threads=2) for S in (1, 10, 100, 1000, 5000)]
        out.append(dict(case=f"{solver} mode", seconds=sum(r["wall_seconds"] for r in runs), target=limit))
    return out


FIGURE2_HEAD = ["Figure 2, GCM part, 2 threads", "wall s", "target s"]
