#!/usr/bin/env python3
"""The paper's two solvers in numpy: an independent check of the C library and its yardstick for speed.

Written from docs/spec.md alone (equation numbers below are its own), in the plain style of a research
script: no compression of the data, covariances kept in JD as the paper keeps them. Paper mode only.

    reference.py tl  --data gcm   --S 1 -J 1000 --json      TL-NMF  (Algorithm 1)
    reference.py jd  --data notes --S 1 -J 100  --json      JD+NMF  (Algorithm 2): J steps, then J * j_nmf updates
    reference.py nmf --data gcm   --S 1 -J 100  --json      NMF alone at the start's Phi: J * j_nmf updates
    reference.py mu  --m 200 --n 151 --k 2 --updates 100    milliseconds per multiplicative update

Arrays: Y (S, M, N); Phi (M, M); W (M, K); H (K, N). Times are of the solver alone, on one thread.
"""
import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # read when numpy loads its BLAS, so before the import

import argparse
import json
import time
import warnings

import numpy as np
from scipy.fft import dct
from scipy.linalg import expm

try:
    from scipy.optimize._linesearch import LineSearchWarning, scalar_search_wolfe2
except ImportError:  # scipy < 1.8
    from scipy.optimize.linesearch import LineSearchWarning, scalar_search_wolfe2

# Phases of ten realisations of the two notes; the first is the data set "notes S=1".
THETA1 = [4.566139588724956, 0.2449613913090589, 3.4203100177108436, 1.196935609829323, 5.46327257289301,
          0.4373918919838481, 5.46113699868618, 4.475390176713075, 2.0970839871027898, 4.424665146296706]
THETA2 = [5.105464657836703, 5.153115826666694, 0.027070506989782122, 2.850363993678152, 5.476779534871654,
          5.512620373054259, 2.463911211959506, 0.3057042255931498, 5.167942064571887, 5.442874783303953]

# Per data set: rank, eps, seed of the starts, most halvings in JD (Table I of the paper, docs/spec.md).
DATA = {"gcm": dict(K=5, eps=1e-8, seed_start=2021, halvings=30),
        "notes": dict(K=2, eps=5e-7, seed_start=100, halvings=10)}


# ---------------------------------------------------------------------------------------------- data

def gcm_truth(M=10, N=50, K=5, seed=2020):
    """Phibar (DCT-II), Wbar, Hbar of the Gaussian composite model."""
    rng = np.random.RandomState(seed)
    Wbar = rng.gamma(1.0, 2.0, (M, K))
    Hbar = rng.gamma(1.0, 2.0, (K, N))
    return dct(np.eye(M), axis=0, norm="ortho"), Wbar, Hbar


def gcm(S, seed=100):
    """S realisations Y_s = Phibar' (randn .* sqrt(Wbar Hbar)); a smaller S is the beginning of a larger."""
    Phibar, Wbar, Hbar = gcm_truth()
    M, N = Phibar.shape[0], Hbar.shape[1]
    G = np.random.RandomState(seed).randn(S, N, M).transpose(0, 2, 1)  # drawn with m fastest
    return Phibar.T @ (G * np.sqrt(Wbar @ Hbar))


def notes_signal(theta1, theta2, f0=5000, f=(440.0, 466.16)):
    """Three seconds: note 1, note 2, both, each under a smooth bump."""
    t = np.arange(1, 3 * f0 + 1)
    x = 2.0 * ((t - 1) % f0 + 1) / (f0 + 1) - 1
    bump = 0.5 * np.exp(1 - 1 / (1 - x**2))
    second = (t - 1) // f0
    y = np.zeros(t.size)
    for silent, fi, theta in ((1, f[0], theta1), (0, f[1], theta2)):
        p = 2 * np.pi * fi * t / f0 + theta
        y += np.where(second == silent, 0.0, bump) * (0.5 * np.cos(p) + 0.25 * np.cos(2 * p))
    return y


def notes_window(M=200, ramp=10):
    w = np.ones(M)
    w[:ramp] = (1 - np.cos(np.pi * np.arange(ramp) / ramp)) / 2
    w[M - ramp + 1:] = w[ramp - 1:0:-1]  # w[M-j] = w[j], j = 1..ramp-1
    return w


def notes(theta1, theta2, M=200, hop=100):
    """Windowed frames, half overlapping, one realisation for each pair of phases."""
    w = notes_window(M)
    Y = []
    for a, b in zip(theta1, theta2):
        y = np.pad(notes_signal(a, b), hop)
        N = (y.size - M) // hop + 1
        Y.append(np.stack([w * y[hop * n:hop * n + M] for n in range(N)], axis=1) / 190)
    return np.array(Y)


def polar(A):
    """Nearest orthogonal matrix."""
    P, _, Qt = np.linalg.svd(A)
    return P @ Qt


def starts(count, M, N, K, seed):
    """The first `count` starts (Phi, W, H) of a random stream."""
    rng = np.random.RandomState(seed)
    out = []
    for _ in range(count):
        Phi = polar(rng.randn(M, M))
        W = np.abs(rng.randn(M, K)) + 1
        H = np.abs(rng.randn(K, N)) + 1
        out.append((Phi, W / W.sum(axis=0), H))
    return out


# ---------------------------------------------------------------------------------------- objectives

def power(Phi, Y):
    """V of (1)."""
    return np.mean((Phi @ Y)**2, axis=0)


def objectives(Phi, W, H, Y, eps):
    """C, L, I by their own definitions (2), (3), (4), so that (5) is a test and not a tautology."""
    V = power(Phi, Y) + eps
    Vhat = W @ H + eps
    r = V / Vhat
    return (float(np.sum(r + np.log(Vhat))), float(V.size + np.sum(np.log(V))), float(np.sum(r - np.log(r) - 1)))


# ----------------------------------------------------------------------------------------------- NMF

def nmf(V, W, H, eps, updates):
    """Multiplicative updates (7), (8), (9) with gamma = 1. The numerator has V + eps, not V."""
    V = V + eps
    for _ in range(updates):
        R = 1 / (W @ H + eps)
        H = H * (W.T @ (V * R**2)) / (W.T @ R)
        R = 1 / (W @ H + eps)
        W = W * ((V * R**2) @ H.T) / (R @ H.T)
        c = W.sum(axis=0)
        W = W / c
        H = H * c[:, None]
    return W, H


# -------------------------------------------------------------------------------------------- TL-NMF

def gradient_tl(X, U):
    """G of (10), the gradient of E -> C(exp(E) Phi) at 0: 2/S sum_s (U .* X_s) X_s'."""
    return 2 / len(X) * np.sum((U * X) @ X.transpose(0, 2, 1), axis=0)


def tl_step(Phi, Y, Vhat, eps):
    """One transform step at fixed W, H. Returns the new Phi, C there and the step length (None: failed)."""
    U = 1 / (Vhat + eps)
    log_term = np.sum(np.log(Vhat + eps))

    def cost(V):
        return np.sum((V + eps) * U) + log_term

    X = Phi @ Y
    V = np.mean(X**2, axis=0)
    G = gradient_tl(X, U)
    Gamma = 2 * U @ V.T
    Ganti, Gsym = (G - G.T) / 2, (Gamma + Gamma.T) / 2
    E = np.divide(-Ganti, Gsym, out=np.zeros_like(G), where=Gsym != 0)  # (11)

    trial = {}  # the slope is always requested at the last step tried

    def phi(a):
        R = expm(a * E)
        trial.update(a=a, R=R, X=R @ X)
        return cost(np.mean(trial["X"]**2, axis=0))

    def slope(a):
        if trial["a"] != a:
            phi(a)
        return np.sum(E * gradient_tl(trial["X"], U))  # exp(aE) and E commute: the gradient at exp(aE) Phi

    C0 = cost(V)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LineSearchWarning)
        # Strong Wolfe; first step 1 because no earlier value is given. scipy's zoom makes up to 11 trials.
        a, C, _, _ = scalar_search_wolfe2(phi, slope, phi0=C0, derphi0=np.sum(E * G), c1=1e-4, c2=0.9, maxiter=30)
    if a is None:
        return Phi, C0, None
    if trial["a"] != a:
        C = phi(a)
    return trial["R"] @ Phi, C, a


def tl_nmf(Y, Phi, W, H, eps, J, j_tl=1, j_nmf=10, tol=1e-12):
    """Algorithm 1: each outer iteration is j_nmf updates of (H, W), then j_tl transform steps."""
    trace, steps, reason = [], [], "iterations"
    C_old = objectives(Phi, W, H, Y, eps)[0]
    for _ in range(J):
        W, H = nmf(power(Phi, Y), W, H, eps, j_nmf)
        for _ in range(j_tl):
            Phi, C, a = tl_step(Phi, Y, W @ H, eps)
            steps.append(a)
        trace.append(float(C))
        if abs(C_old - C) / (abs(C_old) + abs(C)) < tol:
            reason = "converged"
            break
        C_old = C
    return dict(Phi=Phi, W=W, H=H, trace=trace, steps=steps, reason=reason)


# ------------------------------------------------------------------------------------------------ JD

def covariances(Y):
    """Sigma_n of (6), (N, M, M)."""
    Z = Y.transpose(2, 1, 0)
    return Z @ Z.transpose(0, 2, 1) / len(Y)


def jd(Sigma, Phi, eps, J, halvings=30):
    """Minimises L by (12) in the paper's covariance form: D_n = Phi (Sigma_n + eps I) Phi', O(N M^3) per trial."""
    N, M, _ = Sigma.shape
    Sigma = Sigma + eps * np.eye(M)

    def transform(Phi):
        D = Phi @ Sigma @ Phi.T
        d = np.diagonal(D, axis1=1, axis2=2)  # d_na = V_an + eps
        return D, d, N * M + np.sum(np.log(d))  # (6)

    trace, steps, reason = [], [], "iterations"
    D, d, L = transform(Phi)
    for _ in range(J):
        G = np.mean(D / d[:, :, None], axis=0) - np.eye(M)
        Gamma = (1 / d).T @ d / N  # with eps in both, so its diagonal is 1
        Ganti, denominator = (G - G.T) / 2, (Gamma + Gamma.T) / 2 - 1
        E = np.divide(-Ganti, denominator, out=np.zeros_like(G), where=denominator > 1e-9)  # (12)
        a = 1.0
        for _ in range(halvings):
            Phi_new = polar((np.eye(M) + a * E) @ Phi)
            D_new, d_new, L_new = transform(Phi_new)
            if L_new < L:
                break
            a /= 2
        else:
            reason = "line search"
            break
        Phi, D, d, L = Phi_new, D_new, d_new, L_new
        trace.append(float(L))
        steps.append(a)
    return dict(Phi=Phi, trace=trace, steps=steps, reason=reason)


# -------------------------------------------------------------------------------------- command line

class Timer:
    """CPU and wall seconds of a block."""

    def __enter__(self):
        self.cpu, self.wall = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_):
        self.cpu, self.wall = time.process_time() - self.cpu, time.perf_counter() - self.wall


def solve(method, data, S=1, J=100, j_tl=1, j_nmf=10, seed_start=None, start=0, theta=None):
    """One run; a dict with C, L, I, iterations, times, trace, and the final Phi, W, H."""
    setting = DATA[data]
    K, eps = setting["K"], setting["eps"]
    if data == "gcm":
        Y = gcm(S)
    else:
        theta1, theta2 = theta or (THETA1, THETA2)
        if not S <= min(len(theta1), len(theta2)):
            raise SystemExit(f"S = {S} needs {S} pairs of phases: give --theta")
        Y = notes(theta1[:S], theta2[:S])
    _, M, N = Y.shape
    seed = setting["seed_start"] if seed_start is None else seed_start
    Phi, W, H = starts(start + 1, M, N, K, seed)[start]

    times = {}
    with Timer() as total:
        if method == "tl":
            r = tl_nmf(Y, Phi, W, H, eps, J, j_tl, j_nmf)
        elif method == "jd":
            with Timer() as first:
                r = jd(covariances(Y), Phi, eps, J, setting["halvings"])
            with Timer() as second:
                r["W"], r["H"] = nmf(power(r["Phi"], Y), W, H, eps, j_nmf * J)
            times = dict(cpu_seconds_jd=first.cpu, cpu_seconds_nmf=second.cpu)
        else:
            W, H = nmf(power(Phi, Y), W, H, eps, j_nmf * J)
            r = dict(Phi=Phi, W=W, H=H, steps=[], reason="iterations")
    C, L, I = objectives(r["Phi"], r["W"], r["H"], Y, eps)
    r.setdefault("trace", [C])  # nmf: no objective is evaluated during the run, so that the time is of the updates only
    iterations = J if method == "nmf" else len(r["trace"])
    return dict(C=C, L=L, I=I, iterations=iterations, cpu_seconds=total.cpu, wall_seconds=total.wall, **times, **r)


def time_mu(M, N, K, updates, repeats=5):
    """CPU milliseconds per update, the best of `repeats`."""
    rng = np.random.RandomState(0)
    V, W, H = rng.randn(M, N)**2, np.abs(rng.randn(M, K)) + 1, np.abs(rng.randn(K, N)) + 1
    W /= W.sum(axis=0)
    best = np.inf
    for _ in range(repeats):
        with Timer() as t:
            nmf(V, W, H, 1e-8, updates)
        best = min(best, t.cpu)
    return dict(M=M, N=N, K=K, updates=updates, ms_per_update=1e3 * best / updates)


def parse_theta(text):
    """A JSON file with lists theta1 and theta2 (possibly one level down), or "a,b,..;c,d,..": theta1;theta2."""
    if ";" in text:
        return [[float(x) for x in part.split(",")] for part in text.split(";")]
    with open(text, encoding="utf-8") as f:
        d = json.load(f)
    if "theta1" not in d:
        d = next(iter(d.values()))
    return d["theta1"], d["theta2"]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("method", choices=["tl", "jd", "nmf", "mu"])
    p.add_argument("--data", choices=sorted(DATA), default="gcm")
    p.add_argument("--S", type=int, default=1, help="realisations")
    p.add_argument("-J", type=int, default=100, help="outer iterations")
    p.add_argument("--j-tl", type=int, default=1)
    p.add_argument("--j-nmf", type=int, default=10)
    p.add_argument("--seed-start", type=int, help="default 2021 (gcm), 100 (notes)")
    p.add_argument("--start", type=int, default=0, help="which start of the stream, from 0")
    p.add_argument("--theta", type=parse_theta, help='notes: JSON file, or "theta1,..;theta2,.."')
    p.add_argument("--m", type=int, default=200, help="mu: rows")
    p.add_argument("--n", type=int, default=151, help="mu: columns")
    p.add_argument("--k", type=int, default=2, help="mu: rank")
    p.add_argument("--updates", type=int, default=100, help="mu: updates timed")
    p.add_argument("--json", action="store_true", help="everything as JSON, with the trace; else a summary")
    o = p.parse_args()
    if o.method == "mu":
        r = time_mu(o.m, o.n, o.k, o.updates)
    else:
        r = solve(o.method, o.data, o.S, o.J, o.j_tl, o.j_nmf, o.seed_start, o.start, o.theta)
        r = {name: value for name, value in r.items() if name not in ("Phi", "W", "H")}
    if o.json:
        print(json.dumps(r))
    else:
        for name, value in r.items():
            if not isinstance(value, list):
                print(f"{name:16s} {value}")


if __name__ == "__main__":
    main()
