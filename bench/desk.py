"""Measures ranks, applications, whitening and certificates, next to their targets.

usage: desk.py [--only rank|apply|whiten|certificates] [--count N]     needs numpy and the package tlnmf
"""
import argparse
import statistics
import time

import numpy as np

import tlnmf


def ranks(count):
    """Suggested numbers of components for GCM (5) at S = 100, data seeds from 101 on."""
    seeds = range(101, 101 + count)
    found = [tlnmf.compare_ranks(tlnmf.simulate.gcm(s=100, seed_data=s).Y, "1:8").k for s in seeds]
    right = sum(k == 5 for k in found)
    print(f"rank: 5 for {right} of {count} seeds (target 9 of 10); all: {found}")


def timed(run, repeat):
    """The least time of several runs, and the last result."""
    seconds = []
    for _ in range(repeat):
        since = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - since)
    return min(seconds), result


def applications(count):
    """New realisations of the same truth: C per entry and time of `apply`, compared with a fit."""
    for S in (10, 30, 100):
        shares, excess, own = [], [], 0.0
        for seed in range(1, 1 + count):
            old, new = (np.asarray(tlnmf.simulate.gcm(s=S, seed_data=s).Y) for s in (seed, 500 + seed))
            model = tlnmf.fit(old, 5, threads=1)
            own = max(own, np.abs(np.asarray(model.apply(old).H) - model.H).max() / np.asarray(model.H).max())
            fit_time, fitted = timed(lambda: tlnmf.fit(new, 5, eps=model.eps, threads=1), 3)
            apply_time, applied = timed(lambda: model.apply(new, threads=1), 3)
            shares.append(apply_time / fit_time)
            excess.append(applied.C / fitted.C - 1)
        print(
            f"apply, GCM S = {S}: H of its own data off by {own:.1g} (target 1e-10); C {100 * max(excess):.2g} % above "
            f"a fit's at most (target 1); time {statistics.median(shares):.3f} of the fit's (target 0.1)"
        )


def amari(A):
    A = np.abs(A)
    n = len(A)
    rows, columns = (A / A.max(1, keepdims=True)).sum(1) - 1, (A / A.max(0)).sum(0) - 1
    return (rows.sum() + columns.sum()) / (2 * n * (n - 1))


def whitening(count):
    """Eight Gaussian sources whose variances change from block to block, mixed at random."""
    try:
        from sklearn.decomposition import FastICA
    except ImportError:
        FastICA = None
    index = {"whiten": [], "orthogonal": [], "FastICA": []}
    for seed in range(count):
        rng = np.random.RandomState(seed)
        n, blocks, samples = 8, 60, 500
        scale = rng.gamma(1, 1, (blocks, n, 1)) ** 0.5
        sources, mix = scale * rng.randn(blocks, n, samples), rng.randn(n, n)
        X = mix @ sources
        C = np.einsum("bit,bjt->bij", X, X) / samples
        for name, whiten in (("whiten", True), ("orthogonal", False)):
            V, _ = tlnmf.joint_diagonalize((C + C.transpose(0, 2, 1)) / 2, whiten=whiten)
            index[name].append(amari(np.asarray(V) @ mix))
        if FastICA:
            ica = FastICA(n, random_state=0, max_iter=1000, whiten="unit-variance")
            ica.fit(X.transpose(0, 2, 1).reshape(-1, n))
            index["FastICA"].append(amari(ica.components_ @ mix))
    text = ", ".join(f"{name} {statistics.median(x):.4f}" for name, x in index.items() if x)
    print(f"whiten: median Amari index {text} (target 0.03 with whitening)")


def certificates(count):
    """How often a longer search finds a C below the bound of a certificate."""
    printed = broken = 0
    for seed in range(count):
        rng = np.random.RandomState(seed)
        s, m, n, k = rng.randint(1, 11), rng.randint(3, 9), rng.randint(10, 41), rng.randint(1, 4)
        Y = tlnmf.simulate.gcm(s=int(s), m=int(m), n=int(n), kbar=int(k), seed_truth=seed, seed_data=seed).Y
        model = tlnmf.fit(Y, int(k), seed=seed)
        if not np.isfinite(model.certificate):
            continue
        printed += 1
        best = tlnmf.fit(Y, int(k), eps=model.eps, method="tl", continuation=True, starts=20, seed=seed)
        broken += best.C < model.C - model.certificate - 1e-6 * abs(model.C)
    print(f"certificates: {broken} of {printed} printed were violated, of {count} problems (target 2 %)")


def main():
    parts = {"rank": (ranks, 10), "apply": (applications, 5), "whiten": (whitening, 20), "certificates": (certificates, 200)}
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=parts)
    parser.add_argument("--count", type=int)
    given = parser.parse_args()
    for name, (run, count) in parts.items():
        if given.only in (None, name):
            run(given.count or count)


if __name__ == "__main__":
    main()
