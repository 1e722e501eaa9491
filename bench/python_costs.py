"""The costs of the Python package: import, a call, Ctrl-C to the end of a call.

Prints milliseconds of wall time and of processor time. On a busy computer only the latter count.

usage: TLNMF_LIBRARY=BUILD PYTHONPATH=python python_costs.py [--quick]
"""
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np

import tlnmf
from tlnmf._call import Call
from tlnmf._library import core

REPEATS = 3 if "--quick" in sys.argv else 200
GCM = tlnmf.simulate.gcm(s=20).Y


def now():
    return np.array([time.perf_counter(), time.process_time()])


def show(what, seconds):
    print(f"{what:40} {1e3 * seconds[0]:9.2f} {1e3 * seconds[1]:12.2f}", flush=True)


def measure_import():
    code = """
import time, numpy
t, cpu = time.perf_counter(), time.process_time()
import tlnmf
print(time.perf_counter() - t, time.process_time() - cpu)"""
    runs = [subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout.split()
            for _ in range(3)]  # fmt: skip
    show("import, in addition to numpy", np.min(np.array(runs, float), axis=0))


def measure_call():
    def bare():  # the same calls of C without the package
        call = Call()
        data = tlnmf.Data(GCM)
        settings = call.settings("fit", {"k": 5, "starts": 1, "J": 1, "threads": 1}, "fit")
        start = now()
        call.make(core.tlnmf_fit, data._handle.pointer, settings.pointer, None)
        return now() - start

    def whole():
        data = tlnmf.Data(GCM)
        start = now()
        tlnmf.fit(data, 5, starts=1, J=1, threads=1)
        return now() - start

    pairs = np.array([[bare(), whole()] for _ in range(REPEATS)])
    show("a call, in addition to the C solve", np.diff(np.median(pairs, axis=0), axis=0)[0])


def interrupt(work):
    """Wall and processor time between SIGINT and KeyboardInterrupt."""
    sent = []

    def send():
        time.sleep(0.3)
        sent[:] = now()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        work()
        raise SystemExit("the call ended before it was interrupted")
    except KeyboardInterrupt:
        return now() - sent
    finally:
        thread.join()


def measure_interrupts():
    for M, N in ((10, 50), (200, 600), (512, 2000)):
        data = tlnmf.Data(np.random.default_rng(0).standard_normal((1, M, N)))
        for method in ("tl", "jd"):
            options = dict(k=5, method=method, starts=10**4)
            show(f"Ctrl-C to the end of a call, {method}, {M} x {N}",
                 interrupt(lambda: tlnmf.fit(data, **options)))  # fmt: skip


warnings.simplefilter("ignore")
print(f"{'':40} {'wall, ms':>9} {'processor, ms':>12}")
measure_import()
measure_call()
measure_interrupts()
