"""Data in the library's form: realisations, covariances or neighbouring frames, without loss."""
from __future__ import annotations

import sys
import warnings
from typing import Any, Mapping, Optional

import numpy as np

from ._arrays import Real, address, as_real, shape_of
from ._call import Call
from ._library import core
from ._record import Record, record_of


class Data:
    """Frames in the form that the solvers use. Pass either Y or covariances.

    Parameters
    ----------
    Y : array (M, N) or (S, M, N)
        N frames of length M in columns; S realisations of them. float64 in C order is not copied.
        If all slices are symmetric, a UserWarning says that Y could be covariances.
    covariances : array (N, M, M)
        Symmetric and positive semidefinite matrices, instead of Y.
    weights : array (N,), optional
        Weights of the frames in C, L and I; only their ratios matter.
    mask : array (M, N), optional
        Weights of the entries of V, for method="nmf" and `apply`: 0 ignores an entry, 1 uses it.
    missing : bool
        If True, a frame of a realisation that contains NaN is missing. The weight of a frame is
        the number of its realisations.
    block, moving : int, optional
        Averages frames: every `block` consecutive frames, or the `moving` frames around each.

    >>> data = Data([[1.0, 2.0, 0.5], [0.0, 1.0, 2.0]])
    >>> data.M, data.N, data.S
    (2, 3, 1)
    >>> Data([[1.0, float("nan"), 0.5], [0.0, 1.0, 2.0]], missing=True).missing
    1
    """

    M: int
    N: int
    S: int
    missing: int

    def __init__(
        self,
        Y: Any = None,
        *,
        covariances: Any = None,
        weights: Any = None,
        mask: Any = None,
        missing: bool = False,
        block: Optional[int] = None,
        moving: Optional[int] = None,
    ):
        if (Y is None) == (covariances is None):
            raise TypeError("pass either Y or covariances")
        if (block is not None) + (moving is not None) + (covariances is not None) + missing > 1:
            raise TypeError("block, moving, missing and covariances are mutually exclusive")
        call, free = Call(), core.tlnmf_data_free
        if covariances is not None:
            x = as_real(covariances, "covariances", (3,))
            arguments = (x, shape_of(x.shape))
            self._handle = call.make(core.tlnmf_data_from_covariances, *arguments, free=free)
        else:
            x = as_real(Y, "Y", (2, 3))
            B = block if block is not None else moving
            if x.ndim == 3 and B is None:
                _warn_of_covariances(x)
            x = x[np.newaxis] if x.ndim == 2 else x
            arguments = (x, shape_of(x.shape))
            if B is None:
                make = core.tlnmf_data_from_realisations
                if missing:
                    make = core.tlnmf_data_from_incomplete
                self._handle = call.make(make, *arguments, free=free)
            else:
                make, kind = core.tlnmf_data_from_neighbours, int(block is None)
                self._handle = call.make(make, *arguments, kind, int(B), free=free)
        for name in ("M", "N", "S", "columns", "missing"):
            key = name.encode()
            value = core.tlnmf_record_get_integer(core.tlnmf_data_record(self._handle.pointer), key)
            setattr(self, name, value)
        if weights is not None:
            w = as_real(weights, "weights", (1,))
            if len(w) != self.N:
                raise ValueError(f"weights has {len(w)} entries for N = {self.N} frames")
            call.check(core.tlnmf_data_set_weights(call.ctx, self._handle.pointer, address(w)))
        if mask is not None:
            b = as_real(mask, "mask", (2,))
            if b.shape != (self.M, self.N):
                raise ValueError(f"mask has the shape {b.shape}, V has ({self.M}, {self.N})")
            call.check(core.tlnmf_data_set_mask(call.ctx, self._handle.pointer, address(b)))

    def __repr__(self) -> str:
        return f"<Data: S = {self.S}, M = {self.M}, N = {self.N}>"


def data_of(Y: Any, covariances: Any = None, weights: Any = None, mask: Any = None) -> Data:
    """Returns Data unchanged, or creates them from arrays."""
    if isinstance(Y, Data):
        if any(x is not None for x in (covariances, weights, mask)):
            raise TypeError("Data hold covariances, weights and a mask already")
        return Y
    return Data(Y, covariances=covariances, weights=weights, mask=mask)


def start_of(start: Any) -> Optional[Record]:
    """A start as a record: a model, a fitted estimator, or a mapping with any of Phi, W, H."""
    if start is None:
        return None
    if isinstance(start, Mapping) and not isinstance(start, Record):
        return Record.of(start)
    return record_of(start)


def _are_symmetric(slices: Real) -> bool:
    """Whether all slices are symmetric, to the rounding that the library accepts in covariances."""
    rounding = 1e-10
    if not (np.abs(slices[0, 0] - slices[0, :, 0]) <= rounding * np.abs(slices[0]).max()).all():
        return False  # the first row rules out most data
    return all(np.abs(c - c.T).max() <= rounding * np.abs(c).max() for c in slices)


def _warn_of_covariances(x: Real) -> None:
    """Data (S, M, N) whose slices are symmetric may have been meant as covariances."""
    for axis, name in ((0, "(N, M, M)"), (2, "(M, M, N)"), (1, "(M, N, M)")):
        slices = np.moveaxis(x, axis, 0)
        if slices.size and slices.shape[1] == slices.shape[2] > 1 and _are_symmetric(slices):
            given = "Y" if axis == 0 else f"np.moveaxis(Y, {axis}, 0)"
            warnings.warn(
                f"Y of shape {x.shape} is interpreted as data (S, M, N), but every slice is "
                f"symmetric. If Y holds covariances {name}, pass covariances={given}",
                UserWarning,
                stacklevel=_callers_level(),
            )
            return


def _callers_level() -> int:
    """The stacklevel, in the function that calls this, of the first frame outside the package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        frame, level = frame.f_back, level + 1
    return level
