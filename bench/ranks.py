"""Which k do GridSearchCV and compare_ranks choose? Prints a table for docs/measurements/ranks.md.

Frames of the Gaussian composite model: Phi is the DCT, W and H are exponential (or H is gamma), 5
folds, candidates 1 to 6. tl: TLNMF of X (S, N, M). is1, is2: ISNMF of powers with 1 and 2 degrees of
freedom.

usage: TLNMF_LIBRARY=build PYTHONPATH=python python3 bench/ranks.py KIND S TRUTH SHAPE SEEDS FIRST
    KIND tl, is1 or is2; SHAPE of the gamma distribution of H (1: exponential)
"""
import sys
import time
from collections import Counter

import numpy as np
from scipy.fft import dct
from sklearn.model_selection import GridSearchCV

import tlnmf

M, N, CANDIDATES = 16, 100, [1, 2, 3, 4, 5, 6]


def draw(rng, truth, shape, frames):
    """The powers W H (M, frames)."""
    W = rng.exponential(size=(M, truth))
    return (W / W.sum(0)) @ (M * rng.gamma(shape, 1 / shape, size=(truth, frames)))


def searched(estimator, X, cv):
    search = GridSearchCV(estimator, {"n_components": CANDIDATES}, cv=cv, refit=False)
    return search.fit(X).best_params_["n_components"]


def excess(model, X, v):
    """The score per entry above the likelihood at the true powers v, with the same floor."""
    eps = model.model_["eps"]
    power = np.mean((X @ dct(np.eye(M), norm="ortho", axis=0).T) ** 2, axis=0).T if X.ndim == 3 else X.T
    truth = -0.5 * np.mean((power + eps) / (v + eps) + np.log(v + eps) + np.log(2 * np.pi))
    return model.score(X) / M - truth


def one_of_transform(rng, S, truth, shape, seed):
    v = draw(rng, truth, shape, N)
    Y = np.einsum("am,san->smn", dct(np.eye(M), norm="ortho", axis=0),
                  np.sqrt(v) * rng.standard_normal((S, M, N)))  # fmt: skip
    X = np.ascontiguousarray(Y.transpose(0, 2, 1))
    estimator = tlnmf.TLNMF(random_state=seed, threads=1, trace=False, certify=False)
    grid = searched(estimator, X if S > 1 else X[0], min(5, S) if S > 1 else 5)
    ranks = tlnmf.compare_ranks(Y, "1:6", method="tl", seed=seed, threads=1)
    model = estimator.set_params(n_components=truth).fit(X[:, : N * 4 // 5])
    return grid, ranks.k, excess(model, X[:, N * 4 // 5 :], v[:, N * 4 // 5 :])


def one_of_powers(rng, dof, truth, shape, seed):
    v = draw(rng, truth, shape, 2 * N)
    X = (v * rng.chisquare(dof, v.shape) / dof).T
    estimator = tlnmf.ISNMF(random_state=seed, threads=1, trace=False, dof=dof)
    ranks = tlnmf.compare_ranks(X.T, "1:6", input="power", dof=dof, seed=seed, threads=1)
    model = tlnmf.ISNMF(truth, random_state=seed, threads=1, dof=dof).fit(X[: N * 8 // 5])
    above = excess(model, X[N * 8 // 5 :], v[:, N * 8 // 5 :])
    return searched(estimator, X, 5), ranks.k, above


def row(kind, S, truth, shape, seeds, first):
    grid, ranks, above, began = Counter(), Counter(), [], time.process_time()
    for seed in range(first, first + seeds):
        rng = np.random.default_rng([11, S, truth, seed])
        if kind == "tl":
            g, r, x = one_of_transform(rng, S, truth, shape, seed)
        else:
            g, r, x = one_of_powers(rng, int(kind[2:]), truth, shape, seed)
        grid[g] += 1
        ranks[r] += 1
        above.append(x)
    texts = [" ".join(f"{k}:{c[k]}" for k in sorted(c)) for c in (grid, ranks)]
    mean = [sum(k * c[k] for k in c) / seeds for c in (grid, ranks)]
    print(f"| {kind} | {S} | {truth} | {shape:g} | {texts[0]} | {mean[0]:.1f} | {texts[1]} | {mean[1]:.1f} "
          f"| {np.mean(above):+.4f} |", flush=True)  # fmt: skip
    print(f"{time.process_time() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    kind, S, truth, shape, seeds, first = sys.argv[1:]
    row(kind, int(S), int(truth), float(shape), int(seeds), int(first))
