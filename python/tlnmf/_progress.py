"""Shows progress: with tqdm if it is installed, otherwise as one line on standard error."""
from __future__ import annotations

import sys
from typing import Any, Optional, Union

from ._call import Callback, State


class _Line:
    """Writes the progress of a run, at most ten times per second."""

    def __init__(self) -> None:
        self.last = -1.0

    def show(self, state: State, text: str) -> None:
        if state["seconds"] - self.last >= 0.1:
            self.last = state["seconds"]
            print(f"\r{state['stage']} {state['iteration']}: {text}", end="", file=sys.stderr)

    def close(self) -> None:
        print(file=sys.stderr)


class _Bar:
    """The same as a bar of tqdm."""

    def __init__(self, tqdm: Any):
        self.bar = tqdm(unit="it", leave=False)

    def show(self, state: State, text: str) -> None:
        self.bar.total = state["iterations"] or None
        self.bar.n = state["iteration"]
        self.bar.set_description_str(state["stage"], refresh=False)
        self.bar.set_postfix_str(text, refresh=False)
        self.bar.update(0)

    def close(self) -> None:
        self.bar.close()


class Progress:
    """The caller's callback, with a progress bar on request; a context manager."""

    def __init__(self, show: bool, callback: Optional[Callback]):
        self._callback = callback
        self._screen: Union[None, _Bar, _Line] = None
        if show:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                self._screen = _Line()
            else:
                self._screen = _Bar(tqdm)

    def __enter__(self) -> Optional[Callback]:
        return self._report if self._screen is not None else self._callback

    def __exit__(self, *error: Any) -> None:
        if self._screen is not None:
            self._screen.close()

    def _report(self, state: State) -> Any:
        assert self._screen is not None
        value = state["C"] if state["C"] == state["C"] else state["L"]
        text = f"{value:.6g}"
        if state["starts"] == 0:  # auto
            text = f"start {state['start'] + 1}, {text}"
        if state["starts"] > 1:
            text = f"start {state['start'] + 1} of {state['starts']}, {text}"
        self._screen.show(state, text)
        return self._callback(state) if self._callback is not None else False
