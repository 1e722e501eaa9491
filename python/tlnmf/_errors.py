"""Errors of the library as exceptions, with the message of the library; warnings."""
from __future__ import annotations

import sys
import warnings
from typing import Any, Dict, Type


class Error(Exception):
    """Any error that libtlnmf reports. `code` is its number in tlnmf/tlnmf.h."""

    code = 0


class OptionError(Error, ValueError):
    """An option is unknown, out of range, or contradicts another."""


class ShapeError(Error, ValueError):
    """The shapes of arrays do not match."""


class DataError(Error, ValueError):
    """Unusable values: NaN, all zeros, not orthogonal, .."""


class OutOfMemory(Error, MemoryError):
    """Out of memory."""


class TooLarge(Error, OverflowError):
    """A size that BLAS or the address space cannot hold."""


class NumericError(Error, ArithmeticError):
    """LAPACK failed, or a run ended in NaN."""


class ArgumentError(Error, TypeError):
    """An object is missing or has the wrong type."""


class InputError(Error, OSError):
    """A file cannot be read."""


class OutputError(Error, OSError):
    """A file cannot be written."""


_CLASSES: Dict[int, Type[Error]] = {
    1: OptionError,
    2: ShapeError,
    3: DataError,
    4: OutOfMemory,
    5: TooLarge,
    6: NumericError,
    8: ArgumentError,
    9: InputError,
    10: OutputError,
}


def error_of(code: int, message: str) -> Error:
    """The exception for an error number of the library."""
    error = _CLASSES.get(code, Error)(message)
    error.code = code
    return error


class ConvergenceWarning(UserWarning):
    """The limit of iterations or time ended a run. If scikit-learn is loaded, its own class is used
    instead."""


def warn(message: str, kind: Type[Warning]) -> None:
    """Issues a warning that names the caller's line, which is the first one outside the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, kind, stacklevel=level)


def warn_of_limit(message: str) -> None:
    """Warns that a limit ended a run before it was complete."""
    loaded = sys.modules.get("sklearn.exceptions")
    kind: Any = getattr(loaded, "ConvergenceWarning", ConvergenceWarning)
    warn(message, kind)
