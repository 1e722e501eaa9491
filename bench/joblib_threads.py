"""Fits in two concurrent workers: all cores each, the default number of threads, one thread each.

Prints seconds and processor seconds for each kind of joblib's workers. Until 0.3.0 the default was all
cores, except in processes of loky.

usage: TLNMF_LIBRARY=BUILD PYTHONPATH=python joblib_threads.py [--quick]
"""
import os
import resource
import sys
import time

import numpy as np
from joblib import Parallel, delayed

import tlnmf

rng = np.random.default_rng(0)
X = rng.standard_normal((300, 64)) * np.repeat(rng.uniform(0.1, 2.0, (30, 1)), 10, axis=0)
FITS = 4 if "--quick" in sys.argv else 12
CORES = len(os.sched_getaffinity(0))


def fit(seed, **options):
    before = time.process_time()
    tlnmf.TLNMF(3, random_state=seed, J=100, certify=False, **options).fit(X)
    return time.process_time() - before


def processor():
    return sum(resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


print("workers          threads        s   processor s")
for backend in ("loky", "multiprocessing", "threading"):
    for name, options in (("all", {"threads": CORES}), ("default", {}), ("one", {"threads": 1})):
        workers = Parallel(2, backend=backend)
        workers(delayed(fit)(i) for i in range(2))  # start them
        since, before = time.perf_counter(), processor()
        spent = sum(workers(delayed(fit)(i, **options) for i in range(FITS)))
        spent = processor() - before if backend == "threading" else spent
        print(f"{backend:16} {name:8} {time.perf_counter() - since:7.2f} {spent:13.2f}", flush=True)
