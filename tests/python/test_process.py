"""The package in a process: import, copies, leaks, threads, Ctrl-C, fork."""
import multiprocessing
import multiprocessing.pool
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

import numpy as np

import tlnmf
from tlnmf import _threads

GCM = np.array(tlnmf.simulate.gcm(s=100).Y)
ENDLESS = dict(starts=10**6)  # hours: longer than the time limit of the test


def rss():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def in_child(code, **environment):
    """Runs a script in a new process and returns its output."""
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, timeout=120, check=True,
                          env={**os.environ, **environment})  # fmt: skip
    return done.stdout.decode()


def solve(seed):
    return tlnmf.fit(GCM, 3, seed=seed, J=20).C


class Costs(unittest.TestCase):
    def test_import(self):
        code = "import tlnmf, sys; print('sklearn' in sys.modules, 'matplotlib' in sys.modules)"
        self.assertEqual(in_child(code).split(), ["False", "False"])

    def test_no_copy(self):
        """Y of 160 MB whose compressed form is small: the peak grows by less than a copy."""
        code = """
import numpy as np, resource, tlnmf
Y = np.ones((2000, 10, 1000)); Y *= np.arange(1.0, 11)[:, None]
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak(); tlnmf.Data(Y); print((peak() - before) * 1024, Y.nbytes)"""
        grown, size = map(int, in_child(code).split())
        print(f"peak memory in addition to Y: {grown / size:.3f} of Y", file=sys.stderr)
        self.assertLess(grown, 0.1 * size)

    def test_leaks(self):
        def some(count):
            for i in range(count):
                stop = (lambda s: False) if i % 10 == 0 else None
                model = tlnmf.fit(GCM, 2, J=2, starts=1, callback=stop)
                model.H.sum()
                if i % 50 == 0:
                    self.assertRaises(ValueError, tlnmf.fit, GCM, 0)

        some(200)
        before = rss()
        some(600)
        print(f"600 fits: {(rss() - before) / 1024:.0f} kB", file=sys.stderr)
        self.assertLess(rss() - before, 2 << 20)


class Threads(unittest.TestCase):
    def test_python_runs_during_a_solve(self):
        counted = 0
        worker = threading.Thread(target=lambda: tlnmf.fit(GCM, 5, max_seconds=0.5, **ENDLESS))
        worker.start()
        while worker.is_alive():
            counted += 1
            if counted % 1000 == 0:
                time.sleep(0)
        print(f"counted to {counted} during a solve", file=sys.stderr)
        self.assertGreater(counted, 10**4)

    def test_many_threads(self):
        want, got = [solve(i) for i in range(6)], {}
        threads = [threading.Thread(target=lambda i=i: got.update({i: solve(i)})) for i in range(6)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual([got[i] for i in range(6)], want)


class Interrupts(unittest.TestCase):
    def interrupt(self, work):
        """Sends SIGINT during a call that would take longer than the time limit of the test."""

        def send():
            time.sleep(0.3)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=send)
        thread.start()
        with self.assertRaises(KeyboardInterrupt):
            work()
        thread.join()

    def test_fits(self):
        big, large = (tlnmf.Data(np.random.RandomState(0).randn(1, m, n))
                      for m, n in ((200, 600), (512, 2000)))  # fmt: skip
        for Y, options in (
            (GCM, dict(k=5)),
            (GCM, dict(k=5, callback=lambda s: False)),
            (big, dict(k=10, method="tl")),
            (big, dict(k=10, method="tl", callback=lambda s: False)),
            (big, dict(k=10, method="tl", solver="paper", tol=0)),
            (large, dict(k=10, method="tl")),
            (large, dict(k=10, method="jd")),
        ):
            self.interrupt(lambda: tlnmf.fit(Y, **options, **ENDLESS))
        self.interrupt(lambda: tlnmf.joint_diagonalize(large, **ENDLESS))
        self.assertEqual(solve(1), solve(1))  # the interpreter and the library still work

    def test_storm(self):
        """Ctrl-C at any moment, also twice during one call, never crashes the process."""
        code = """
import os, random, signal, threading, time, tlnmf
Y, caught, left, done = tlnmf.simulate.gcm(s=100).Y, 0, 0, []
def handler(*arguments):  # raises at most twice a call, never between calls
    global left
    if left:
        left -= 1
        raise KeyboardInterrupt
def send():
    while not done:
        time.sleep(random.random() * 0.02)
        os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, handler)
threading.Thread(target=send, daemon=True).start()
end = time.time() + 2
while time.time() < end:
    try:
        try:
            left = 2
            tlnmf.fit(Y, 3, starts=50, callback=random.choice([None, lambda s: False]))
            left = 0
        except KeyboardInterrupt:
            caught += 1
            left = 0
    except KeyboardInterrupt:
        pass
    left = 0
done.append(True)
time.sleep(0.2)
print(caught, tlnmf.fit(Y, 3).outcome)"""
        caught, outcome = in_child(code).split()
        self.assertGreater(int(caught), 10)
        self.assertIn(outcome, ("converged", "stationary"))

    def test_exit_and_fork_after_one(self):
        """The library may still run after KeyboardInterrupt: exit and fork wait for its end."""
        code = """
import multiprocessing, os, signal, threading, time, numpy as np, tlnmf
Y = tlnmf.Data(np.random.RandomState(0).randn(1, 400, 1200))
def interrupted():
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        tlnmf.fit(Y, 5, starts=10**6)
    except KeyboardInterrupt:
        print("interrupted")
interrupted()
with multiprocessing.get_context("fork").Pool(1) as pool:
    print(pool.apply_async(pow, (2, 3)).get(timeout=1200))
interrupted()"""
        self.assertEqual(in_child(code).split(), ["interrupted", "8", "interrupted"])

    def test_transform(self):
        X = np.random.RandomState(0).randn(8000, 800)  # about 0.2 s per row
        model = tlnmf.JDNMF(400, J=1, certify=False).fit(X[:30])
        self.interrupt(lambda: model.transform(X))


class ThreadCounts(unittest.TestCase):
    """The default number of threads: a share of the cores."""

    def default_in_child(self, code="", **environment):
        text = f"{code}\nfrom tlnmf._threads import default_threads\nprint(default_threads())"
        return int(in_child(text, **environment).split()[-1])

    def test_limits_of_the_process(self):
        self.assertEqual(self.default_in_child(OMP_NUM_THREADS="5"), 5)
        self.assertEqual(self.default_in_child(LOKY_MAX_CPU_COUNT="1"), 1)
        affinity = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])"
        self.assertEqual(self.default_in_child(affinity), 1)
        later = "import tlnmf\n" + affinity  # OpenMP has read the mask
        self.assertEqual(self.default_in_child(later), 1)
        limited = "import tlnmf\ntlnmf._library.core.omp_set_num_threads(1)"  # as threadpoolctl does
        self.assertEqual(self.default_in_child(limited), 1)

    def test_workers(self):
        want = mock.patch.multiple(_threads, cores=lambda: 8, _openmp=lambda: 8)
        with want, mock.patch.dict(os.environ):
            os.environ.pop("OMP_NUM_THREADS", None)
            self.assertEqual(_threads.default_threads(), 8)
            with _threads.running() as first, _threads.running() as second:
                self.assertEqual((first, second), (8, 4))
            with _threads.running():
                self.assertEqual(_threads.default_threads(), 4)
                with _threads.running(), _threads.running():
                    self.assertEqual(_threads.default_threads(), 2)
            with multiprocessing.pool.ThreadPool(4) as pool:  # joblib's threads
                self.assertEqual(pool.apply(_threads.default_threads), 2)
            with multiprocessing.get_context("fork").Pool(2) as pool:
                self.assertEqual(pool.apply(_threads.default_threads), 1)
            self.assertEqual(_threads.default_threads(), 8)

    def test_calls_keep_to_it(self):
        code = """
import os, tlnmf
from tlnmf import _call, _threads
_call.default_threads = _threads.default_threads = lambda n=0: {}
seen = []
Y = tlnmf.simulate.gcm(s=4, m=8, n=30, kbar=2).Y
tlnmf.fit(Y, 3, starts=4, J=20, callback=lambda s: seen.append(len(os.listdir("/proc/self/task"))))
print(max(seen))"""
        one, three = (int(in_child(code.format(threads))) for threads in (1, 3))
        self.assertEqual(three - one, 2)


class EndedThreads(unittest.TestCase):
    """A call whose thread does not exist any more raises an exception instead of waiting."""

    def test_no_memory_for_the_thread(self):
        code = """
import sys, tlnmf, numpy as np
from unittest import mock
sys.unraisablehook = lambda _: None
Y = np.random.RandomState(0).randn(3, 12, 200)
with mock.patch("tlnmf._call.core.tlnmf_ctx_set_progress", side_effect=MemoryError):
    try:
        tlnmf.fit(Y, k=3, J=5)
    except MemoryError as error:
        print(error)
tlnmf.fit(Y, k=3, J=5)"""
        self.assertEqual(in_child(code), "the thread of the call ended without a result\n")

    def test_fork_in_a_callback(self):
        code = """
import os, tlnmf, numpy as np
Y = np.random.RandomState(0).randn(3, 12, 200)
pid = None
def fork(state):
    global pid
    pid = os.fork() if pid is None else pid
try:
    print("parent", tlnmf.fit(Y, k=3, J=5, callback=fork).iterations, os.waitpid(pid, 0)[1])
except RuntimeError as error:
    print(error, tlnmf._threads._running)"""
        self.assertEqual(
            in_child(code),
            "the callback forked; only the parent process continues the call 0\nparent 5 0\n",
        )


class Forks(unittest.TestCase):
    def test_fork(self):
        want = [tlnmf.fit(GCM, 3, seed=i, starts=4, J=20).C for i in range(4)]  # OpenMP has threads
        with multiprocessing.get_context("fork").Pool(2) as pool:
            got = pool.map_async(fit_starts, range(4)).get(timeout=1200)
        self.assertEqual(got, want)

    def test_joblib(self):
        try:
            import joblib
        except ImportError:
            self.skipTest("no joblib")
        want = [solve(i) for i in range(3)]
        for backend in ("loky", "multiprocessing", "threading"):
            jobs = (joblib.delayed(solve)(i) for i in range(3))
            got = joblib.Parallel(2, backend=backend, timeout=90)(jobs)
            self.assertEqual(got, want)


def fit_starts(seed):
    return tlnmf.fit(GCM, 3, seed=seed, starts=4, J=20).C


if __name__ == "__main__":
    unittest.main()
