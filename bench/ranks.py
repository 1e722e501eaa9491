"""Which k do GridSearchCV and compare_ranks choose? Prints a table for docs/measurements/ranks.md.

Frames of the Gaussian composite model: Phi is the DCT, W and H are exponential (or H is gamma), 5
folds, candidates 1 to 6. tl: TLNMF of S realisations. is1, is2: ISNMF of powers with 1 and 2 degrees
of freedom. GridSearchCV holds out realisations of an X (S, N, M), and frames of an X (N, S, M) whose
axes are named.

usage: TLNMF_LIBRARY=build PYTHONPATH=python python3 bench/ranks.py KIND S TRUTH SHAPE SEEDS FIRST [M N]
    KIND tl, is1 or is2; SHAPE of the gamma distribution of H (1: exponential); 16 x 100 by default
"""
import sys
import time
from collections import Counter

import numpy as np
from scipy.fft import dct
from sklearn.model_selection import GridSearchCV, KFold

import tlnmf

CANDIDATES = [1, 2, 3, 4, 5, 6]


def draw(rng, truth, shape, size):
    """The powers W H (M, N)."""
    M, N = size
    W = rng.exponential(size=(M, truth))
    return (W / W.sum(0)) @ (M * rng.gamma(shape, 1 / shape, size=(truth, N)))


def searched(estimator, X, cv):
    search = GridSearchCV(estimator, {"n_components": CANDIDATES}, cv=cv, refit=False)
    return search.fit(X).best_params_["n_components"]


def excess(model, X, v):
    """The score per entry above the likelihood at the true powers v, with the same floor."""
    eps = model.model_["eps"]
    M = v.shape[0]
    power = np.mean((X @ dct(np.eye(M), norm="ortho", axis=0).T) ** 2, axis=0).T if X.ndim == 3 else X.T
    truth = -0.5 * np.mean((power + eps) / (v + eps) + np.log(v + eps) + np.log(2 * np.pi))
    return model.score(X) / M - truth


def one_of_transform(rng, S, truth, shape, size, seed):
    """The k of GridSearchCV by realisations, by frames, of compare_ranks, and the excess."""
    (M, N), basis = size, dct(np.eye(size[0]), norm="ortho", axis=0)
    v = draw(rng, truth, shape, size)
    Y = np.einsum("am,san->smn", basis, np.sqrt(v) * rng.standard_normal((S, M, N)))
    X = np.ascontiguousarray(Y.transpose(0, 2, 1))
    options = dict(random_state=seed, threads=1, trace=False, certify=False)
    grid = searched(tlnmf.TLNMF(**options), X, min(5, S)) if S > 1 else None
    by_frames = tlnmf.TLNMF(axes="frames,realisations,length", **options)
    frames = searched(by_frames, Y.transpose(2, 0, 1), KFold(5, shuffle=True, random_state=seed))
    ranks = tlnmf.compare_ranks(Y, "1:6", method="tl", seed=seed, threads=1)
    model = tlnmf.TLNMF(truth, **options).fit(X[:, : N * 4 // 5])
    return grid, frames, ranks.k, excess(model, X[:, N * 4 // 5 :], v[:, N * 4 // 5 :])


def one_of_powers(rng, dof, truth, shape, size, seed):
    v = draw(rng, truth, shape, size)
    X, cut = (v * rng.chisquare(dof, v.shape) / dof).T, size[1] * 4 // 5
    estimator = tlnmf.ISNMF(random_state=seed, threads=1, trace=False, dof=dof)
    ranks = tlnmf.compare_ranks(X.T, "1:6", input="power", dof=dof, seed=seed, threads=1)
    model = tlnmf.ISNMF(truth, random_state=seed, threads=1, dof=dof).fit(X[:cut])
    return None, searched(estimator, X, 5), ranks.k, excess(model, X[cut:], v[:, cut:])


def listed(choices):
    """The choices and their mean, for two cells."""
    if None in choices:
        return "- | -"
    text = " ".join(f"{k}:{n}" for k, n in sorted(Counter(choices).items()))
    return f"{text} | {np.mean(choices):.1f}"


def row(kind, S, truth, shape, seeds, first, M=16, N=100):
    results, began = [], time.process_time()
    for seed in range(first, first + seeds):
        rng = np.random.default_rng([11, S, truth, seed])
        if kind == "tl":
            results.append(one_of_transform(rng, S, truth, shape, (M, N), seed))
        else:
            results.append(one_of_powers(rng, int(kind[2:]), truth, shape, (M, 2 * N), seed))
    grid, frames, ranks, above = zip(*results)
    agree = [sum(a == b for a, b in zip(other, ranks)) for other in (grid, frames)]
    print(f"| {kind} | {M} x {N} | {S} | {truth} | {shape:g} | {listed(grid)} | {listed(frames)} | "
          f"{listed(ranks)} | {agree[0]}, {agree[1]} | {np.mean(above):+.4f} |", flush=True)  # fmt: skip
    print(f"{time.process_time() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    kind, S, truth, shape, *numbers = sys.argv[1:]
    row(kind, int(S), int(truth), float(shape), *map(int, numbers))
