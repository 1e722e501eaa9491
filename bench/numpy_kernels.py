"""The kernels as a numpy user writes them, timed at the shapes that build/bench/kernels reports."""
import statistics
import time

import reference  # first: pins BLAS to one thread before numpy loads

import numpy as np
from scipy.linalg import expm

EPS = 1e-2


class Problem:
    """Random arrays of one shape, as bench/bed.c has them."""

    def __init__(self, M, N, K, S):
        rng = np.random.RandomState(0)
        self.Y = rng.randn(S, M, N)
        self.W, self.H = rng.rand(M, K) + 0.1, rng.rand(K, N) + 0.1
        self.Phi = reference.polar(rng.randn(M, M)) if M <= 200 else np.eye(M)
        self.X = self.Phi @ self.Y
        self.V = np.mean(self.X**2, axis=0)
        self.U = 1 / (self.W @ self.H + EPS)
        self.E, self.E_long = (self.skew(rng, M, norm) for norm in (0.01, 10.0))

    @staticmethod
    def skew(rng, M, norm):
        A = np.tril(rng.randn(M, M), -1) * norm / (2 * M**0.5)
        return A - A.T


PER_CALL = {"update": 10}  # the updates of one V share V + eps


def updates(p):
    reference.nmf(p.V, p.W, p.H, EPS, PER_CALL["update"])


def objective_C(p):
    U = 1 / (p.W @ p.H + EPS)
    return np.sum((p.V + EPS) * U) - np.sum(np.log(U))


def objective_I(p):
    x = (p.V + EPS) / (p.W @ p.H + EPS)
    return np.sum(x - np.log(x) - 1)


def sweep(p):
    """(14), pair by pair."""
    X, U, Phi = p.X[0].copy(), p.U, p.Phi.copy()
    for a in range(len(X)):
        for b in range(a + 1, len(X)):
            d = U[a] - U[b]
            angle = 0.5 * np.arctan2(-d @ (X[a] * X[b]), -0.5 * (d @ (X[a]**2 - X[b]**2)))
            turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
            X[[a, b]] = turn @ X[[a, b]]
            Phi[[a, b]] = turn @ Phi[[a, b]]
    return Phi


def compress(p):
    """QR of every frame, (S, M)."""
    return [np.linalg.qr(frame, mode="r") for frame in p.Y.transpose(2, 0, 1)]


KERNELS = {
    "update": updates,
    "transform": lambda p: np.mean((p.Phi @ p.Y)**2, axis=0),
    "power": lambda p: np.mean(p.X**2, axis=0),
    "weights": lambda p: 1 / (p.W @ p.H + EPS),
    "C": objective_C,
    "I": objective_I,
    "L": lambda p: p.V.size + np.sum(np.log(p.V + EPS)),
    "gradient": lambda p: reference.gradient_tl(p.X, p.U),
    "gamma": lambda p: 2 * p.U @ p.V.T,
    "sweep": sweep,
    "exp": lambda p: expm(p.E),
    "polar": lambda p: reference.polar(np.eye(len(p.E)) + p.E),
    "polar long": lambda p: reference.polar(np.eye(len(p.E)) + p.E_long),
    "compress": compress,
}


def milliseconds(run, p, enough, most=100):
    """Median CPU milliseconds of a call, over `enough` seconds of calls, at least one."""
    times = []
    while len(times) < most and sum(times) < enough:
        since = time.process_time()
        run(p)
        times.append(time.process_time() - since)
    return 1e3 * statistics.median(times)


def add_times(kernels, enough):
    """Adds numpy_ms to each row; sweeps of large matrices, which would take minutes, are skipped."""
    problems = {}
    for k in kernels:
        shape = tuple(k[x] for x in "MNKS")
        if k["kernel"] == "sweep" and shape[0] * shape[3] > 200:
            continue
        if shape not in problems:
            problems = {shape: Problem(*shape)}  # keep only one: they are large
        ms = milliseconds(KERNELS[k["kernel"]], problems[shape], enough)
        k["numpy_ms"] = ms / PER_CALL.get(k["kernel"], 1)


def rows(report):
    """Rows of the table: times, ratios, and percent of the two rates."""
    for k in report["kernels"]:
        ms, twin, theirs = k["ms"], k.get("twin_ms"), k.get("numpy_ms")
        S = f" S={k['S']}" if k["S"] > 1 else ""
        k["gemm_percent"] = 100 * k["flops"] / (1e-3 * ms) / report["gemm_flops"]
        k["read_percent"] = 100 * k["bytes"] / (1e-3 * ms) / report["read_bytes"]
        yield [f"{k['kernel']} {k['M']}x{k['N']} K={k['K']}{S}", ms, twin, twin and twin / ms, theirs,
               theirs and theirs / ms, k["gemm_percent"], k["read_percent"]]


HEAD = ["kernel", "ms", "twin ms", "ratio", "numpy ms", "ratio", "% dgemm", "% read"]
