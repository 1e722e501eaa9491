"""Data in the library's form: realisations, covariances or neighbouring frames, without loss."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Tuple

import numpy as np

from ._arrays import Real, address, as_real, int64, reorder, reorder_matrices, shape_of
from ._call import Call
from ._errors import DataError, error_of, warn
from ._gaps import fill
from ._library import core
from ._record import Record, record_of


POWER_DOF = 2  # of |STFT|^2
DATA_ERROR = 3  # TLNMF_ERR_DATA


class Data:
    """Frames in the form that the solvers use. Pass either Y or covariances.

    Parameters
    ----------
    Y : array (M, N) or (S, M, N)
        N frames of length M in columns; S realisations of them. float64 in C order is not copied.
    covariances : array (N, M, M)
        Symmetric and positive semidefinite matrices, instead of Y.
    weights : array (N,), optional
        Weights of the frames in C, L and I; only their ratios matter.
    mask : array (M, N), optional
        Weights of the entries of V, for method="nmf" and `apply`: 0 ignores an entry, 1 uses it. A
        power under a mask of 0 may be NaN.
    missing : bool
        If True, a frame of a realisation that contains NaN or a masked entry is missing. The weight
        of a frame is the number of its realisations. With input="power" only the entry is missing:
        its mask is 0.
    block, moving : int, optional
        Averages frames: every `block` consecutive frames, or the `moving` frames around each.
    input : {"auto", "data", "covariances", "power"}
        What Y holds. "auto": covariances if all slices are symmetric, with a UserWarning; data
        otherwise. Slices that are nearly symmetric are refused. "power": V itself, such as a power
        spectrogram (M, N). If Y is (S, M, N), V is the mean over S.
    dof : int, optional
        With input="power": degrees of freedom of each power. Held-out scores and the verdict of
        `apply` use it. 2 (the default) for |STFT|^2, 1 for squares of real coefficients, 2 n if
        each power is the mean of n periodograms. If Y is (S, M, N), pass the degrees of freedom of
        one spectrogram.
    axes : str or sequence of str, optional
        Names of the axes of Y in their order, such as "epochs,channels,times". docs/arrays.md
        lists the names.

    Examples
    --------
    >>> data = Data([[1.0, 2.0, 0.5], [0.0, 1.0, 2.0]])
    >>> data.M, data.N, data.S
    (2, 3, 1)
    >>> Data([[1.0, float("nan"), 0.5], [0.0, 1.0, 2.0]], missing=True).missing
    1
    """

    M: int
    N: int
    S: int
    dof: Optional[int]  # None: not powers

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
        input: str = "auto",
        axes: Any = None,
        dof: Optional[int] = None,
    ):
        if dof is not None and input != "power":
            raise TypeError('dof requires input="power"')
        if (Y is None) == (covariances is None):
            raise TypeError("pass either Y or covariances")
        if covariances is None:
            x, is_covariances = arrange(Y, missing, input, axes, block is None and moving is None)
        else:
            x, is_covariances = as_covariances(covariances, "covariances"), True
        if (block is not None) + (moving is not None) + is_covariances + missing > 1:
            raise TypeError("block, moving, missing and covariances are mutually exclusive")
        b, power = None, input == "power"
        if power:
            check_power(x)
        if mask is not None:
            b = as_real(mask, "mask", (2,))
        if not is_covariances and (b is None or b.shape == x.shape[1:]):
            x, b = fill(x, b, missing, power)
        call = Call()
        if is_covariances:
            self._make(call, core.tlnmf_data_from_covariances, x)
        elif block is not None or moving is not None:
            B = int64(block, "block") if moving is None else int64(moving, "moving")
            self._make(call, core.tlnmf_data_from_neighbours, x, int(block is None), B)
        elif missing and not power:
            self._make(call, core.tlnmf_data_from_incomplete, x)
        else:
            self._make(call, core.tlnmf_data_from_realisations, x)
        call.warn()
        if not is_covariances:
            self._made_of(call, x)
        for name in ("M", "N", "S", "columns"):
            setattr(self, name, self._integer(name))
        if weights is not None:
            w = as_real(weights, "weights", (1,))
            if len(w) != self.N:
                raise ValueError(f"weights has {len(w)} entries for N = {self.N} frames")
            call.check(core.tlnmf_data_set_weights(call.ctx, self._handle.pointer, address(w)))
        if b is not None:
            if b.shape != (self.M, self.N):
                raise ValueError(f"mask has the shape {b.shape}, V has ({self.M}, {self.N})")
            call.check(core.tlnmf_data_set_mask(call.ctx, self._handle.pointer, address(b)))
        self.dof = None
        if power:
            self._count(POWER_DOF if dof is None else dof)

    def _make(self, call: Call, function: Any, x: Real, *more: int) -> None:
        try:
            arguments = (x, shape_of(x.shape), *more)
            self._handle = call.make(function, *arguments, free=core.tlnmf_data_free)
        except DataError as error:
            if not np.isnan(x).any() or function is core.tlnmf_data_from_incomplete:
                raise
            advice = "pass missing=True to treat NaN as missing"
            if function is core.tlnmf_data_from_covariances:
                advice = "omit covariances that contain NaN"
            raise error_of(error.code, f"{error}: {advice}") from None

    def _made_of(self, call: Call, x: Real) -> None:
        """Called with the realisations (S, M, N); Data do not keep them."""

    def _count(self, dof: Any) -> None:
        """The data are square roots of powers with `dof` degrees of freedom."""
        if dof != int(dof) or dof < 1:
            raise ValueError(f"dof = {dof} is not a positive integer")
        call, self.dof = Call(), int64(dof, "dof")
        call.check(core.tlnmf_data_set_dof(call.ctx, self._handle.pointer, self.dof))

    def _integer(self, name: str) -> int:
        record = core.tlnmf_data_record(self._handle.pointer)
        return int(core.tlnmf_record_get_integer(record, name.encode()))

    @property
    def missing(self) -> int:
        """Number of missing frames of realisations; of powers, missing or masked entries of V."""
        return self._integer("missing")

    def __copy__(self) -> Data:
        return self  # Data do not change

    def __reduce__(self) -> Any:
        raise TypeError(
            "Data can be neither pickled nor deep-copied; keep the array, and create Data from it "
            "again"
        )

    def __repr__(self) -> str:
        return f"<Data: S = {self.S}, M = {self.M}, N = {self.N}>"


def check_power(roots: Real) -> None:
    """Refuses powers whose mean the library refuses, in a message with the power, not its root."""
    tiny = float(np.finfo(np.float64).tiny)
    largest = float(np.fmax.reduce(roots, axis=None, initial=0.0)) ** 2
    if 0.0 < largest < tiny * roots.size and np.nanmean(roots**2) < tiny:
        raise error_of(
            DATA_ERROR, f"the powers do not fit a double (largest entry {largest:g}): rescale them"
        )


class DataOfRealisations(Data):
    """Data that refer to the realisations they were created from, so that some can be held out."""

    def _made_of(self, call: Call, x: Real) -> None:
        refer, shape = core.tlnmf_data_set_realisations, shape_of(x.shape)
        call.check(refer(call.ctx, self._handle.pointer, address(x), shape))
        self._handle.keep = x


def data_of(Y: Any, covariances: Any = None, kind: Any = Data, **reading: Any) -> Data:
    """Returns Data unchanged, or creates them from arrays. `reading` has options of Data."""
    if isinstance(Y, Data):
        given = [v for v in reading.values() if not (v is None or v is False or str(v) == "auto")]
        if covariances is not None or given:
            raise TypeError(
                "pass covariances, weights, mask and layout to Data(), not together with a Data object"
            )
        return Y
    made: Data = kind(Y, covariances=covariances, **reading)
    return made


def start_of(start: Any) -> Optional[Record]:
    """A start as a record: a model, a fitted estimator, or a mapping with any of Phi, W, H."""
    if start is None:
        return None
    if isinstance(start, Mapping) and not isinstance(start, Record):
        return Record.of(start)
    advice = 'pass a matrix as start={"Phi": Phi}, or as transform=Phi (estimators: init_transform)'
    return record_of(start, f"; {advice}")


# ---- the layout of Y ---------------------------------------------------------------------------

_KINDS = ("auto", "data", "covariances", "power")


def arrange(
    Y: Any, missing: bool = False, input: str = "auto", axes: Any = None, guess: bool = True
) -> Tuple[Real, bool]:
    """Returns Y as (S, M, N), or as covariances (N, M, M) and True."""
    if input not in _KINDS:
        raise ValueError(f"input = {input!r} is not one of {', '.join(_KINDS)}")
    if missing and isinstance(Y, np.ma.MaskedArray):
        Y = np.ma.filled(Y.astype(np.float64), np.nan)  # type: ignore[no-untyped-call]
    x = as_real(Y, "Y", (2, 3), kind="covariances" if input == "covariances" else "data")
    if axes is not None:
        x = reorder(x, axes)
    if input == "covariances" and x.ndim != 3:
        raise ValueError(f"Y has the shape {x.shape}; covariances are (N, M, M)")
    if x.ndim == 3 and axes is None and (input == "covariances" or (input == "auto" and guess)):
        axis = _covariance_axis(x)
        if axis is not None or input == "covariances":
            if input == "auto":
                _say_covariances(x, int(axis or 0))
            return as_covariances(np.moveaxis(x, axis or 0, 0), "Y"), True
        _refuse_asymmetry(x)
    if input == "power":
        if (x < 0).any():
            at = tuple(int(i) for i in np.argwhere(x < 0)[0])
            raise ValueError(f"powers must not be negative: Y{list(at)} is {x[at]}")
        x = np.sqrt(x)
    return (x[np.newaxis] if x.ndim == 2 else x), False


def as_covariances(C: Any, name: str, axes: Any = None) -> Real:
    """C as covariances (N, M, M). Raises ValueError, with advice, if it has another shape."""
    x = as_real(C, name, (3,), kind="covariances")
    if axes is not None:
        x = reorder_matrices(x, axes, name)
    N, M, columns = x.shape
    if M == columns:
        return x
    of_signals = f"{name} @ {name}.swapaxes(1, 2) / {name}.shape[2]"
    advice = f"If {name} holds signals (epochs, channels, times), pass {of_signals}"
    if axes is None and (N == M or N == columns):
        axis = 2 if N == M else 1
        words = ("channels,epochs,channels", "channels,channels,epochs")[axis - 1]
        other = f'axes="{words}" or ' if name in ("C", "X") else ""  # calls that have axes
        advice = f"If axis {axis} counts the matrices, pass {other}np.moveaxis({name}, {axis}, 0)"
    raise ValueError(f"{name} has the shape {x.shape}; covariances are (N, M, M). {advice}")


def _is_symmetric(c: Real) -> bool:
    """Symmetric to the rounding that the library accepts in covariances."""
    rounding = 1e-6
    return bool(np.abs(c - c.T).max() <= rounding * np.abs(c).max())


def _covariance_axis(x: Real) -> Optional[int]:
    """The axis that counts the frames if the slices along it are symmetric: as the program."""
    for axis in (0, 2, 1):
        slices = np.moveaxis(x, axis, 0)
        if slices.size and slices.shape[1] == slices.shape[2] > 1 and all(map(_is_symmetric, slices)):
            return axis
    return None


def _refuse_asymmetry(x: Real) -> None:
    """Slices that are nearly symmetric may be covariances or data: as the program."""
    share = 0.02  # of the largest entry; slices of data differ by about the largest entry
    for axis, place, pair in ((0, "", "1, 2"), (2, " along the last axis", "0, 1")):
        slices = np.moveaxis(x, axis, 0)
        if slices.shape[1] != slices.shape[2] or slices.shape[1] < 2 or not slices.size:
            continue
        if not all(np.abs(c - c.T).max() <= share * np.abs(c).max() for c in slices):
            continue
        n = next(n for n, c in enumerate(slices) if not _is_symmetric(c))
        off = np.abs(slices[n] - slices[n].T)
        i, j = sorted(int(a) for a in np.unravel_index(off.argmax(), off.shape))
        raise error_of(
            DATA_ERROR,
            f"slice {n}{place} of Y is not symmetric: entries ({i}, {j}) and ({j}, {i}) differ by "
            f"{off.max():.3g} of {np.abs(slices[n]).max():.3g}. If Y holds covariances, pass "
            f'(Y + Y.swapaxes({pair})) / 2; if it holds data (S, M, N), pass input="data"',
        )


def _say_covariances(x: Real, axis: int) -> None:
    order = ("(N, M, M)", "(M, N, M)", "(M, M, N)")[axis]
    warn(
        f"every slice of Y is symmetric: read as covariances {order} of {x.shape[axis]} frames. "
        'Pass input="covariances" to confirm, or input="data" for realisations (S, M, N)',
        UserWarning,
    )
