"""One call of the library: its context, its settings, callbacks, Ctrl-C, warnings and errors.

A solve runs in a new thread while the calling thread waits. The calling thread stays free for
Ctrl-C and runs the caller's callback, whichever thread of the library reports. OpenMP keeps its
threads with the thread that started them, so a process that is forked later has lost no threads.
"""
from __future__ import annotations

import _thread
import atexit
import ctypes as c
import os
import queue
import time
import weakref
from typing import Any, Callable, Dict, List, Mapping, Optional, Set, Tuple

import numpy as np

from ._errors import error_of, warn
from ._library import HANDLE, LOG, PROGRESS, core, plain, stop_flag
from ._options import option_of, required, text_of
from ._threads import default_threads, running

State = Dict[str, Any]
Callback = Callable[[State], Any]
_INTEGERS = ("start", "starts", "iteration", "iterations")
_REALS = ("C", "L", "I", "step", "seconds")
_WAIT = 0.05  # seconds between two checks for signals that another thread received
_LEAVE = 0.05  # seconds that the library has to end after Ctrl-C before the caller continues


class Handle:
    """An object of the library that is freed with its last reference."""

    __slots__ = ("pointer", "_free", "keep")

    def __init__(self, pointer: c.c_void_p, free: Callable[[c.c_void_p], None]):
        self.pointer = pointer
        self._free = free
        self.keep: Any = None  # memory that the object refers to

    def __del__(self) -> None:
        free = getattr(self, "_free", None)
        if free is not None and self.pointer:
            free(self.pointer)


def state_of(record: int) -> State:
    """Converts a progress record to a dictionary."""
    state: State = {"stage": core.tlnmf_record_get_text(record, b"stage").decode()}
    for name in _INTEGERS:
        state[name] = core.tlnmf_record_get_integer(record, name.encode())
    for name in _REALS:
        state[name] = core.tlnmf_record_get_real(record, name.encode())
    return state


def _raw(argument: Any) -> Any:
    """Converts an object of this package or an array for ctypes."""
    owner = getattr(argument, "_handle", argument)
    if isinstance(owner, Handle):
        return owner.pointer
    return owner.ctypes.data if isinstance(owner, np.ndarray) else owner


class Call:
    """A context with its callbacks. Each call of a public function uses a new one."""

    def __init__(self) -> None:
        pointer = HANDLE()
        code = core.tlnmf_ctx_create(c.byref(pointer))
        if code:
            raise error_of(code, "no memory for a context")
        self.ctx = pointer
        self._owner = Handle(pointer, core.tlnmf_ctx_free)
        self._flag = c.c_int32(0)
        self._warnings = noted = []  # type: List[str]
        self.said: Set[str] = set()  # warnings that are not issued again

        def note(level: int, message: bytes, user: Any) -> None:
            if level == 1:
                noted.append(message.decode(errors="replace"))

        self._log = LOG(note)
        core.tlnmf_ctx_set_log(pointer, self._log, None)
        self.check(core.tlnmf_ctx_set_threads(pointer, default_threads()))

    def check(self, code: int) -> None:
        """Raises the exception for an error number, with the library's message."""
        if code:
            raise error_of(code, core.tlnmf_message(self.ctx).decode(errors="replace"))

    def warn(self) -> None:
        """Issues the library's warnings so far."""
        for message in self._warnings:
            if message not in self.said:
                warn(message, RuntimeWarning)
            self.said.add(message)
        self._warnings.clear()

    def make(self, function: Any, *arguments: Any, free: Any = None) -> Handle:
        """Calls a function whose last argument receives a new object.

        Arguments are objects of this package, arrays, or values that ctypes accepts.
        """
        out = HANDLE()
        self.check(function(self.ctx, *map(_raw, arguments), c.byref(out)))
        return Handle(out, free or core.tlnmf_record_free)

    def settings(self, task: str, values: Mapping[str, Any], function: str) -> Handle:
        """Creates settings of a task. None means the default; TypeError if a required option is None."""
        settings = self.make(
            core.tlnmf_settings_create, task.encode(), free=core.tlnmf_settings_free
        )
        for name, value in values.items():
            if value is not None:
                option = option_of(task, name, function)
                key, text = option.name.encode(), plain(text_of(value, option).encode())
                self.check(core.tlnmf_settings_set_text(self.ctx, settings.pointer, key, text))
        for option in required(task):
            if values.get(option.python) is None and values.get(option.name) is None:
                what = option.help.replace(" (required)", "")
                raise TypeError(f"{function}() requires {option.python} ({what})")
        return settings

    def usual_starts(self, *arguments: Any) -> int:
        """The number of starts of a fit that does not name it; 0: auto."""
        return int(core.tlnmf_usual_starts(*map(_raw, arguments)))

    @property
    def stopped(self) -> bool:
        """Whether Ctrl-C or a callback has ended this call."""
        return bool(self._flag.value)

    def solve(self, function: Any, *arguments: Any, callback: Optional[Callback] = None) -> Handle:
        """Like `make`, for long calls: they can be interrupted and report to `callback`."""
        made: Handle = self.away(lambda: self.make(function, *arguments), callback)
        return made

    def away(self, work: Callable[[], Any], callback: Optional[Callback] = None) -> Any:
        """Runs `work` in another thread. Ctrl-C or an exception in the callback stops it.

        `work` must hold references to everything it uses: after Ctrl-C the caller may continue
        before `work` has ended.
        """
        errand = _Errand(self, work, callback)
        with running() as threads:
            self.check(core.tlnmf_ctx_set_threads(self.ctx, threads))
            errand.start()
            try:
                errand.wait()
            finally:
                self._flag.value = 1
                if errand.running:
                    _leave(errand)
        if errand.running and errand.failure is not None:
            raise errand.failure
        self.warn()
        self._flag.value = 0
        return errand.outcome()


class _Life:
    """Only a thread refers to it, so it ends with the thread, however that ends."""


class _Errand:
    """Work in one thread, and the waiting thread that runs its callback."""

    def __init__(self, call: Call, work: Callable[[], Any], callback: Optional[Callback]):
        self.call, self.work, self.callback = call, work, callback
        self.flag = call._flag
        self.inbox: Any = queue.SimpleQueue()  # states for the callback; None: the work is done
        self.replies: Any = queue.SimpleQueue()
        self.result: List[Tuple[Any, Optional[BaseException]]] = []  # one entry, when the work has ended
        self.failure: Optional[BaseException] = None
        self.until = float("inf")  # when to stop waiting: some time after Ctrl-C
        self.process = os.getpid()

    def start(self) -> None:
        life = _Life()
        self.life = weakref.ref(life)
        _thread.start_new_thread(self.run, (life,))

    @property
    def running(self) -> bool:
        """Whether a result may still come. Without memory, the thread can end without one. A process
        that the callback forks does not have the thread."""
        return not self.result and self.life() is not None and self.process == os.getpid()

    def run(self, life: _Life) -> None:
        """Runs in the working thread."""
        ctx, progress = self.call.ctx, PROGRESS(self.report) if self.callback else None
        if progress is None:
            core.tlnmf_ctx_set_progress(ctx, stop_flag, c.addressof(self.flag))
        else:
            core.tlnmf_ctx_set_progress(ctx, progress, None)
        try:
            answer = (self.work(), None)  # type: Tuple[Any, Optional[BaseException]]
        except BaseException as error:  # raised in the calling thread
            answer = (None, error)
        core.tlnmf_ctx_set_progress(ctx, None, None)
        self.result.append(answer)
        self.inbox.put(None)

    def report(self, record: int, user: Any) -> int:
        """Runs in any thread of the library: passes the state to the waiting thread's callback."""
        if core.tlnmf_record_get_integer(record, b"complete") == 1 and not self.flag.value:
            self.inbox.put(state_of(record))
            while not self.flag.value:
                try:
                    return int(self.replies.get(timeout=_WAIT))
                except queue.Empty:  # the callback is slow, or was interrupted
                    pass
        return int(self.flag.value)

    def wait(self) -> None:
        """Runs in the waiting thread. Any exception stops the work and is raised later."""
        while self.running and time.monotonic() < self.until:
            try:
                self.answer()
            except BaseException as error:  # KeyboardInterrupt, or the callback's own
                self.flag.value = 1
                self.failure = self.failure or error
                if isinstance(error, KeyboardInterrupt):
                    self.until = time.monotonic() + _LEAVE

    def answer(self) -> None:
        while self.running and time.monotonic() < self.until:
            try:
                state = self.inbox.get(timeout=_WAIT)
            except queue.Empty:
                continue
            if state is not None and self.callback is not None:
                self.replies.put(bool(self.callback(state)))

    def outcome(self) -> Any:
        if self.failure is not None:
            raise self.failure
        if self.process != os.getpid():
            raise RuntimeError("the callback forked; only the parent process continues the call")
        if not self.result:
            raise MemoryError("the thread of the call ended without a result")
        value, wrong = self.result[0]
        if wrong is not None:
            raise wrong
        return value


_left: List[_Errand] = []  # work that still runs after Ctrl-C; it ends soon


def _leave(errand: _Errand) -> None:
    _left[:] = [e for e in _left if e.running] + [errand]


def _settle() -> None:
    """Waits for such work before the process ends or forks."""
    end = time.monotonic() + 60  # a hanging library must not keep the process alive
    while any(e.running for e in _left) and time.monotonic() < end:
        time.sleep(0.005)
    _left.clear()


atexit.register(_settle)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_settle)
