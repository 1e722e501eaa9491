"""The default number of threads of a call: its share of the cores that this process may use."""
from __future__ import annotations

import os
import sys
import threading
from typing import Any, Optional

from ._library import LibraryMissing, core, io

MOST = 1024  # of tlnmf_ctx_set_threads
_group: Optional[int] = None
_running = 0  # calls of this process that run now
_lock = threading.Lock()


def _cores_of_group() -> int:
    """The cores that the control group allows; 0: no limit, or unknown."""
    global _group
    if _group is None:
        try:
            _group = int(io().tlnmf_io_cores())
        except LibraryMissing:  # the package also works without libtlnmf_io
            _group = 0
    return _group


def cores() -> int:
    """The cores that this process may use: affinity mask, control group, LOKY_MAX_CPU_COUNT."""
    if hasattr(os, "sched_getaffinity"):
        allowed = [len(os.sched_getaffinity(0))]
    else:
        allowed = [os.cpu_count() or 1]
    named = os.environ.get("LOKY_MAX_CPU_COUNT", "")
    allowed += [_cores_of_group(), int(named) if named.isdecimal() else 0]
    return min(n for n in allowed if n > 0)


def _openmp() -> int:
    """OpenMP's limit in this thread: OMP_NUM_THREADS, or what threadpoolctl has set."""
    try:
        return int(core.omp_get_max_threads())
    except AttributeError:
        return MOST


def _workers(at_once: int) -> int:
    """How many workers share the cores with this one, itself included; 0: unknown, but several."""
    processes: Any = sys.modules.get("multiprocessing")  # not loaded: there is no pool
    threads: Any = sys.modules.get("multiprocessing.dummy")
    if processes is not None and processes.parent_process() is not None:
        return 0
    if threads is None or not isinstance(threading.current_thread(), threads.DummyProcess):
        return at_once
    pool = [t for t in threading.enumerate() if isinstance(t, threads.DummyProcess)]
    return max(at_once, len(pool))


def default_threads(at_once: int = 0) -> int:
    """The threads of a call that does not name a number; `at_once` calls run, with this one.

    OMP_NUM_THREADS, which joblib sets in its processes, is taken as it is. Otherwise workers of
    multiprocessing use one thread, and concurrent calls of one process divide the cores.
    """
    limit = min(_openmp(), MOST)
    if "OMP_NUM_THREADS" in os.environ:
        return limit
    workers = _workers(at_once or _running + 1)
    return max(1, min(limit, cores() // workers)) if workers else 1


class running:
    """Counts a call while it runs, and gives it its threads. Counting and dividing are one step, so
    that of two threads that begin at the same time the second sees the first."""

    def __enter__(self) -> int:
        global _running
        with _lock:
            _running += 1
            return default_threads(_running)

    def __exit__(self, *failure: object) -> None:
        global _running
        with _lock:
            _running = max(0, _running - 1)  # 0: a callback forked, and this is the child


def _reset() -> None:
    """A forked process has none of its parent's calls."""
    global _running, _lock
    _running, _lock = 0, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset)
