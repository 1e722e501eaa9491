"""How much time a trace adds to a fit, with one thread: processor time with a trace over that without.

usage: TLNMF_LIBRARY=BUILD PYTHONPATH=python trace.py [--quick]
"""
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np

import tlnmf

SIZES = [(20, 200, 3), (64, 300, 5), (128, 500, 5), (256, 500, 10)]


def data(M, N, K):
    rng = np.random.default_rng(M)
    Phi = np.linalg.qr(rng.standard_normal((M, M)))[0]
    V = rng.gamma(0.5, size=(M, K)) @ rng.gamma(0.5, size=(K, N))
    return Phi.T @ (np.sqrt(V + 1e-3) * rng.standard_normal((M, N)))


def seconds(data, repeats, **options):
    """The least time of a fit without and with a trace, in turn."""
    best = [np.inf, np.inf]
    for i in range(2 * repeats):
        before = time.process_time()
        tlnmf.fit(data, seed=1, starts=1, trace=i % 2 == 1, **options)
        best[i % 2] = min(best[i % 2], time.process_time() - before)
    return best


quick = "--quick" in sys.argv
print("method     M     N   plain     trace   added")
for M, N, K in SIZES[:2] if quick else SIZES:
    Y = tlnmf.Data(data(M, N, K))
    for method, J in (("tl", 100), ("jd", 100), ("nmf", 200)):
        plain, trace = seconds(Y, 2 if quick else 3 if M > 200 else 10, k=K, method=method, J=J)
        print(f"{method:6} {M:5} {N:5} {1e3 * plain:7.1f} ms {1e3 * trace:6.1f} ms {trace / plain - 1:6.0%}",
              flush=True)  # fmt: skip
