"""Growth of time and memory with M, N, K and S, each varied alone: exponents fitted to log time over log size."""
import numpy as np

from program import median_of

BASE = dict(M=128, N=400, K=8, S=1)
SIZES = dict(M=[64, 128, 256, 512], N=[200, 400, 800, 1600], K=[8, 16, 32, 64], S=[1, 4, 16, 64])
ITERATIONS = dict(paper=4, fast=30)  # fast: the sweeps, then L-BFGS
HEAD = ["growth of one iteration", "sizes", "s at the largest", "time ~", "at the top", "memory ~", "at the top"]
MEMORY_HEAD = ["peak memory", "peak MB", "allowed MB", "ratio", "data as given, MB"]


def fit(program, size, solver, J, method="tl", starts=1):
    """From the DCT, the truth's own Phi: every line search takes the same few trials at every size.

    There is a thread for each start, so that all starts run concurrently.
    """
    path = program.gcm_of_size(size["M"], size["N"], BASE["K"], size["S"])
    return program.fit(path, size["K"], "--method", method, "--solver", solver, "--transform", "dct", "--tol", 0,
                       "--grad-tol", 0, "-J", J, "--starts", starts, threads=starts)


def exponents(sizes, values):
    """Exponents over all sizes, and over the two largest, where terms of lower order matter less."""
    return [float(np.polyfit(np.log(sizes[i:]), np.log(values[i:]), 1)[0]) for i in (0, -2)]


def measure_one(program, letter, solver, repeat, baseline):
    seconds, peaks = [], []
    for value in SIZES[letter]:
        runs = [fit(program, {**BASE, letter: value}, solver, ITERATIONS[solver]) for _ in range(repeat)]
        seconds.append(median_of(runs) / runs[0]["iterations"])
        peaks.append(max(min(r["peak_bytes"] for r in runs) - baseline, 1))
    return dict(solver=solver, letter=letter, sizes=SIZES[letter], seconds=seconds, bytes=peaks,
                time_exponents=exponents(SIZES[letter], seconds), memory_exponents=exponents(SIZES[letter], peaks))


def baseline_bytes(program):
    """Peak memory of a tiny fit: the memory of the program and its libraries."""
    return fit(program, dict(M=4, N=4, K=1, S=1), "paper", 1)["peak_bytes"]


def measure(program, repeat, quick):
    baseline = baseline_bytes(program)
    letters = ["N"] if quick else "MNKS"
    return [measure_one(program, letter, solver, repeat, baseline) for solver in ITERATIONS for letter in letters]


def rows(results):
    return [[f"{r['solver']}, {r['letter']}", " ".join(map(str, r["sizes"])), r["seconds"][-1],
             *(f"{r['letter']}^{e:.2f}" for e in r["time_exponents"] + r["memory_exponents"])] for r in results]


# -------------------------------------------------------------------------------------------- memory

def allowed_bytes(M, N, K, columns):
    """For each concurrent start: three times the compressed data, 12 M^2 + 8 (M + N) K doubles, and 30 MB."""
    return 8 * (3 * M * columns + 12 * M * M + 8 * (M + N) * K) + 30e6


# method, solver, M, N, K, S, concurrent starts
MEMORY = [("tl", "fast", 1024, 2000, 10, 1, 1), ("tl", "paper", 1024, 2000, 10, 1, 1), ("jd", "fast", 1024, 2000, 10, 1, 1),
          ("tl", "fast", 512, 500, 5, 16, 1), ("tl", "fast", 64, 20000, 5, 1, 1), ("tl", "fast", 512, 500, 5, 1, 2),
          ("tl", "fast", 10, 50, 5, 1, 1)]


def measure_memory(program, quick):
    """Peak memory of the whole program, including reading the data."""
    out = []
    for method, solver, M, N, K, S, starts in MEMORY[-1:] if quick else MEMORY:
        # 25 iterations reach all allocations of fast mode; large problems need fewer iterations
        r = fit(program, dict(M=M, N=N, K=K, S=S), solver, 25 if M * N < 1e6 else 3, method, starts)
        allowed = starts * allowed_bytes(M, N, K, r["data"]["columns"])
        out.append(dict(case=f"{method} {solver} {M}x{N} K={K} S={S}" + f", {starts} starts" * (starts > 1),
                        peak=r["peak_bytes"], allowed=allowed, ratio=r["peak_bytes"] / allowed, data=8 * S * M * N))
    return out


def memory_rows(results):
    return [[r["case"], r["peak"] / 1e6, r["allowed"] / 1e6, r["ratio"], r["data"] / 1e6] for r in results]
