"""NMF alone on one V: scikit-learn's Itakura-Saito updates against the program's, from the same start.

scikit-learn minimises D(V + eps | W H), the program D(V + eps | W H + eps). With eps of a millionth of the mean power,
the problems are the same. The exponent of scikit-learn is 1/2 (--gamma 0.5 here); the paper's is 1.
"""
import os
import time
import warnings

import numpy as np

CASES = [(200, 151, 2, 200), (1024, 2000, 10, 50)]  # M, N, K, updates
HEAD = ["V", "solver", "updates", "CPU s", "sklearn / ours", "updates alone, s", "loss"]


def sklearn_run(V, W, H, updates):
    """CPU seconds and loss of scikit-learn."""
    from sklearn.decomposition import NMF
    model = NMF(n_components=len(H), init="custom", solver="mu", beta_loss="itakura-saito", tol=0, max_iter=updates)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it did not converge
        since = time.process_time()
        model.fit_transform(V, W=W.copy(), H=H.copy())
    return time.process_time() - since, model.reconstruction_err_**2 / 2


def save(program, **arrays):
    words = []
    for name, array in arrays.items():
        path = os.path.join(program.folder, f"sklearn_{name}.npy")
        np.save(path, array)
        words += [f"--init-{name}", path]
    return words


def compare(program, M, N, K, updates):
    """Rows of the table: sklearn, the same updates, the paper's updates, and fast mode in sklearn's time."""
    path = program.gcm_of_size(M, N, K)
    V = np.load(path)[0]**2  # as Phi = I gives it
    eps = 1e-6 * V.mean()
    rng = np.random.RandomState(0)
    W, H = np.abs(rng.randn(M, K)) + 0.1, np.abs(rng.randn(K, N)) + 0.1
    theirs, loss = sklearn_run(V + eps, W, H, updates)
    yield dict(solver="scikit-learn", updates=updates, seconds=theirs, ratio=1.0, updates_seconds=None, loss=loss)
    words = ["--method", "nmf", "--transform", "identity", "--eps", repr(eps), *save(program, w=W, h=H)]
    same = [*words, "--solver", "paper", "-J", updates // 10, "--tol", 0]
    for solver, count, options in [("tlnmf, gamma = 1/2", updates, [*same, "--gamma", 0.5]),
                                   ("tlnmf, gamma = 1", updates, same),
                                   ("tlnmf, fast", None, [*words, "-J", 100000, "--max-seconds", max(theirs, 1e-3)])]:
        r = program.fit(path, K, *options)
        yield dict(solver=solver, updates=count, seconds=r["cpu_seconds"], ratio=theirs / r["cpu_seconds"],
                   updates_seconds=r["nmf_seconds"], loss=r["I"])


def measure(program, quick):
    try:
        import sklearn  # noqa: F401
    except ImportError:
        return None
    out = []
    for M, N, K, updates in CASES[:1] if quick else CASES:
        out += [dict(V=f"{M}x{N} K={K}", **row) for row in compare(program, M, N, K, updates)]
    return out


def rows(results):
    return [[r["V"], r["solver"], r["updates"] and str(r["updates"]), r["seconds"], r["ratio"], r["updates_seconds"],
             f"{r['loss']:.8g}"] for r in results]
