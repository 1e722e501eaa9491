"""Converts arrays to doubles in C order, as the library needs them; copies only if necessary."""
from __future__ import annotations

import ctypes as c
from typing import Any, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]


_OF_MASKED = {
    "data": "pass missing=True to treat them as missing, or fill them: {name}.filled(value)",
    "covariances": "omit covariances with masked entries",
}
_OF_COMPLEX = {
    "data": "Pass the real and the imaginary part as two realisations, np.stack([{name}.real, "
    '{name}.imag]), or the power abs({name})**2 with input="power" or to ISNMF',
    "covariances": "Pass the real part, {name}.real, or the real form, np.block([[{name}.real, "
    "-{name}.imag], [{name}.imag, {name}.real]])",
}


def as_real(
    x: Any, name: str, ranks: Sequence[int], numbers_in_objects: bool = False, kind: str = ""
) -> Real:
    """Returns `x` as float64 in C order. It is copied only if it has another type or order.
    `kind` is "data", "covariances" or "", and decides on the advice in messages.

    Raises TypeError if values are not numbers, and ValueError if they are complex or masked or if
    the number of dimensions is wrong.

    Examples
    --------
    >>> as_real([[1, 2], [3, 4]], "Y", (2,)).dtype
    dtype('float64')
    """
    if hasattr(x, "toarray") and hasattr(x, "nnz"):
        raise TypeError(f"{name} is sparse; the library needs a dense array: use {name}.toarray()")
    if isinstance(x, np.ma.MaskedArray) and np.any(x.mask):
        advice = _OF_MASKED.get(kind, "fill them first: {name}.filled(value)").format(name=name)
        raise ValueError(f"{name} has masked entries; {advice}")
    array = np.asarray(x)
    if array.dtype.kind == "c":
        advice = _OF_COMPLEX.get(kind, "Pass real numbers").format(name=name)
        raise ValueError(f"{name}: Complex data not supported. {advice}")
    if array.dtype.kind not in "fiub" and not (array.dtype.kind == "O" and numbers_in_objects):
        raise TypeError(f"{name} has dtype {array.dtype}; it must hold numbers")
    array = np.ascontiguousarray(array, dtype=np.float64) if array.ndim else array
    if array.ndim not in ranks:
        raise ValueError(
            f"{name} has {array.ndim} dimensions, shape {array.shape}; "
            f"it must have {' or '.join(map(str, ranks))}"
        )
    return array


def int64(x: Any, name: str) -> int:
    """Returns an integer that fits 64 bits. ctypes would drop the higher bits of a larger one.

    Examples
    --------
    >>> int64(2**64, "dof")
    Traceback (most recent call last):
    OverflowError: dof = 18446744073709551616 does not fit 64 bits
    """
    if not -(2**63) <= int(x) < 2**63:
        raise OverflowError(f"{name} = {x} does not fit 64 bits")
    return int(x)


def shape_of(shape: Sequence[int]) -> Any:
    """A shape as an array of int64."""
    return (c.c_int64 * len(shape))(*shape)


def address(array: Real) -> int:
    return int(array.ctypes.data)


class _Owner:
    """Memory of the library as numpy sees it; keeps the owner of the memory alive."""

    def __init__(self, owner: Any, pointer: int, shape: Tuple[int, ...]):
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "typestr": np.dtype(np.float64).str,
            "shape": shape,
            "data": (pointer, True),  # read-only
        }


def view(owner: Any, pointer: int, shape: Tuple[int, ...]) -> Real:
    """A read-only array over memory of `owner`, without a copy."""
    return np.asarray(_Owner(owner, pointer, shape))


# ---- named axes --------------------------------------------------------------------------------

_ROLES = {
    "trials": 0, "epochs": 0, "realisations": 0,
    "channels": 1, "sensors": 1, "length": 1,
    "time": 2, "times": 2, "frames": 2,
}  # fmt: skip


def reorder_matrices(x: Real, axes: Any, name: str = "C") -> Real:
    """Returns matrices with named axes, such as "channels,channels,epochs", as (N, M, M)."""
    words = axes.split(",") if isinstance(axes, str) else list(axes)
    roles = [_ROLES.get(str(word).strip(), -1) for word in words]
    if len(roles) != 3 or -1 in roles or roles.count(1) != 2:
        raise ValueError(
            f"axes = {axes!r} of {name}: name channels, sensors or length twice, and the axis that "
            "counts the matrices once: trials, epochs, realisations, time, times or frames"
        )
    at = next(i for i, role in enumerate(roles) if role != 1)
    return np.ascontiguousarray(np.moveaxis(x, at, 0))


def reorder(x: Real, axes: Any, name: str = "Y") -> Real:
    """Returns x with its named axes in the order (M, N) or (S, M, N)."""
    words = axes.split(",") if isinstance(axes, str) else list(axes)
    roles = [_ROLES.get(str(word).strip(), -1) for word in words]
    if -1 in roles or len(set(roles)) < len(roles) or not {1, 2} <= set(roles):
        raise ValueError(
            f"axes = {axes!r}: name each axis once: trials, epochs or realisations (may be absent); "
            "channels, sensors or length; time, times or frames"
        )
    if len(roles) != x.ndim:
        raise ValueError(f"{name} has {x.ndim} axes, but axes = {axes!r} names {len(roles)}")
    return np.ascontiguousarray(x.transpose(np.argsort(roles)))
