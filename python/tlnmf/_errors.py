"""Errors of the library as exceptions, with the message of the library."""
from __future__ import annotations

from typing import Dict, Type


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
