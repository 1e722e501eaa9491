"""One call of the library: its context, its settings, callbacks, Ctrl-C, warnings and errors.

A solve runs in a thread of its own while the thread that asked for it waits. That thread stays free
for Ctrl-C and for the caller's callback, wherever the library reports from; and since OpenMP keeps
its threads for each thread that called it, a process forked afterwards finds none that are lost.
"""
from __future__ import annotations

import _thread
import ctypes as c
import queue
import warnings
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from ._errors import error_of
from ._library import HANDLE, LOG, PROGRESS, core, stop_flag
from ._options import library_name, text_of

State = Dict[str, Any]
Callback = Callable[[State], Any]
_INTEGERS = ("start", "starts", "iteration", "iterations")
_REALS = ("C", "L", "I", "step", "seconds")
_WAIT = 0.05  # seconds between two looks at signals, should one have gone to another thread


class Handle:
    """An object of the library that is freed with its last reference."""

    __slots__ = ("pointer", "_free")

    def __init__(self, pointer: c.c_void_p, free: Callable[[c.c_void_p], None]):
        self.pointer = pointer
        self._free = free

    def __del__(self) -> None:
        free = getattr(self, "_free", None)
        if free is not None and self.pointer:
            free(self.pointer)


def state_of(record: int) -> State:
    """What a progress record holds, as a dictionary."""
    state: State = {"stage": core.tlnmf_get_text(record, b"stage").decode()}
    for name in _INTEGERS:
        state[name] = core.tlnmf_get_integer(record, name.encode())
    for name in _REALS:
        state[name] = core.tlnmf_get_real(record, name.encode())
    return state


class Call:
    """A context and what belongs to it. Use one for each call of the public functions."""

    def __init__(self) -> None:
        pointer = HANDLE()
        code = core.tlnmf_ctx_create(c.byref(pointer))
        if code:
            raise error_of(code, "no memory for a context")
        self.ctx = pointer
        self._owner = Handle(pointer, core.tlnmf_ctx_free)
        self._flag = c.c_int32(0)
        self._warnings: List[str] = []
        self._log = LOG(self._note)
        core.tlnmf_ctx_set_log(pointer, self._log, None)

    def _note(self, level: int, message: bytes, user: Any) -> None:
        if level == 1:
            self._warnings.append(message.decode(errors="replace"))

    def check(self, code: int) -> None:
        """Raises the exception for an error number, with the library's message."""
        if code:
            raise error_of(code, core.tlnmf_message(self.ctx).decode(errors="replace"))

    def make(self, function: Any, *arguments: Any, free: Any = None) -> Handle:
        """Calls a function whose last argument receives a new object."""
        out = HANDLE()
        self.check(function(self.ctx, *arguments, c.byref(out)))
        return Handle(out, free or core.tlnmf_record_free)

    def settings(self, task: str, values: Mapping[str, Any], function: str) -> Handle:
        """Settings of a task; None leaves an option at its default."""
        settings = self.make(
            core.tlnmf_settings_create, task.encode(), free=core.tlnmf_settings_free
        )
        for name, value in values.items():
            if value is not None:
                key = library_name(task, name, function)
                text = text_of(value).encode()
                self.check(core.tlnmf_settings_set_text(self.ctx, settings.pointer, key, text))
        return settings

    @property
    def stopped(self) -> bool:
        """Whether Ctrl-C or a callback has ended this call."""
        return bool(self._flag.value)

    def solve(self, function: Any, *arguments: Any, callback: Optional[Callback] = None) -> Handle:
        """As `make`, for calls that may take long: can be interrupted, reports to `callback`."""
        made: Handle = self.away(lambda: self.make(function, *arguments), callback)
        return made

    def away(self, work: Callable[[], Any], callback: Optional[Callback] = None) -> Any:
        """Runs `work` in another thread. Ctrl-C and an exception of the callback stop it."""
        inbox: Any = queue.SimpleQueue()
        replies: Any = queue.SimpleQueue()
        result: List[Tuple[Any, Optional[BaseException]]] = []  # one, once it is there

        def run() -> None:
            try:
                result.append((work(), None))
            except BaseException as error:  # to be raised where the caller is
                result.append((None, error))
            inbox.put(None)

        def report(record: int, user: Any) -> int:
            if core.tlnmf_get_integer(record, b"complete") == 1 and not self._flag.value:
                inbox.put(state_of(record))
                while not self._flag.value:
                    try:
                        return int(replies.get(timeout=_WAIT))
                    except queue.Empty:  # the answer takes long, or was interrupted
                        pass
            return int(self._flag.value)

        if callback is None:
            core.tlnmf_ctx_set_progress(self.ctx, stop_flag, c.addressof(self._flag))
        else:
            self._progress = PROGRESS(report)  # kept as long as the context may call it
            core.tlnmf_ctx_set_progress(self.ctx, self._progress, None)
        _thread.start_new_thread(run, ())
        failure: Optional[BaseException] = None
        while not result:
            try:
                state = inbox.get(timeout=_WAIT)
                if state is not None and callback is not None:
                    replies.put(bool(callback(state)))
            except queue.Empty:
                pass
            except BaseException as error:  # KeyboardInterrupt, or the callback's own
                failure = failure or error
                self._flag.value = 1
        core.tlnmf_ctx_set_progress(self.ctx, None, None)
        for message in self._warnings:
            warnings.warn(message, RuntimeWarning, stacklevel=4)
        value, wrong = result[0]
        if failure is not None:
            raise failure
        if wrong is not None:
            raise wrong
        return value
