"""Models: fitting, joint diagonalisation, new data, files, notebooks."""
from __future__ import annotations

import os
import threading
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

import numpy as np

from ._arrays import Real, address, as_real, int64
from ._call import Call, Callback
from ._data import Data, as_covariances, data_of, start_of
from ._errors import DataError, warn_of_limit
from ._html import applied_html, excess_of, limits_of, outcome_of, starts_of, table_html
from ._library import core, io, plain
from ._options import documented
from ._page import Page, report
from ._progress import Progress
from ._ranks import choose, data_with_realisations, is_several, note, rank_table
from ._record import Record, record_of, set_values
from ._starts import fitting, powers_of, resolve

Path = Union[str, "os.PathLike[str]"]


class Model(Record):
    """The result of a fit: `Phi` (M, M), `W` (M, K), `H` (K, N), `C`, `L`, `I`, `outcome`, ..

    Examples
    --------
    >>> import tlnmf
    >>> Y = tlnmf.simulate.gcm(s=5, m=6, n=20, kbar=2).Y
    >>> model = tlnmf.fit(Y, k=2, trace=True)
    >>> model.W.shape, model.H.shape, model.converged, len(model.history["C"]) > 1
    ((6, 2), (2, 20), True, True)
    """

    @property
    def converged(self) -> bool:
        """Whether the run converged: the outcome is "converged" (the objective no longer changes)
        or "stationary" (the gradient vanishes). False if the model has no outcome."""
        return outcome_of(self) == "converged"

    @property
    def history(self) -> Dict[str, Real]:
        """The trace: stage, iteration, C, L, I, step, seconds; {} without the option `trace`."""
        return {name[6:]: self[name] for name in self if name.startswith("trace.")}

    def scalars(self) -> Dict[str, Any]:
        """As `Record.scalars`, and `converged`."""
        return {**super().scalars(), "converged": self.converged}

    @property
    def rank_table(self) -> List[Dict[str, Any]]:
        """The scores of a comparison of several k, one row per k; [] if one k was given."""
        return rank_table(self)

    def apply(self, Y: Any, **options: Any) -> Record:
        """Fits H to new data; see `tlnmf.apply`."""
        return apply(self, Y, **options)

    def applier(self, **options: Any) -> "Applier":
        """A prepared `Applier` for frames that arrive one by one."""
        return Applier(self, **options)

    def save(self, path: Path) -> None:
        """Writes the model to a file, which is replaced if it exists; see `tlnmf.save`."""
        save(path, self)

    def report(self, path: Optional[Path] = None, V: Any = None, **options: Any) -> Page:
        """Writes the report page, or returns it for a notebook to show; see `tlnmf.report`."""
        return report(self, path, V, **options)

    def atoms(self, rate: float = 1.0, count: int = 8) -> Record:
        """The strongest rows of Phi as cosines: row, energy, frequency, note, cents, error, .."""
        count = min(count, int(self["Phi"].shape[0]))
        return Record(Call().make(core.tlnmf_atoms, self, rate, count))

    def __repr__(self) -> str:
        of = ", ".join(f"{n} = {self[n]}" for n in ("method", "M", "N", "K") if self.get(n))
        values = [n for n in ("C", "L", "I") if np.isfinite(self.get(n, np.nan))]
        numbers = ", ".join(f"{n} = {self[n]:.6g}" for n in values)
        parts = [of, numbers, outcome_of(self), starts_of(self)]
        count = len(self.get("caveats", ()))
        if count > 0:
            parts.append(f"{count} warning{'' if count == 1 else 's'}, see caveats")
        if limits_of(self):
            parts.append(f"choice of k: {limits_of(self)}")
        return f"<Model: {'; '.join(part for part in parts if part)}>"

    def _repr_html_(self) -> str:
        return table_html(self)


class Applied(Record):
    """The result of `apply`."""

    def __repr__(self) -> str:
        """Whether the model fits, how well, and the names of the other results.

        >>> import tlnmf
        >>> Y = tlnmf.simulate.gcm(s=20, m=6, n=20, kbar=2).Y
        >>> tlnmf.apply(tlnmf.fit(Y, k=2), Y)  # doctest: +ELLIPSIS
        <Applied: fits = 'these are its own data'; I_per_entry = 0.0...; H, C, ...>
        """
        parts, shown = [f"fits = {self.get('fits')!r}"], {"fits"}
        if np.isfinite(self.get("I_per_entry", np.nan)):
            parts.append(f"I_per_entry = {self['I_per_entry']:.4g}")
            shown.add("I_per_entry")
        if excess_of(self):
            parts.append(f"excess = {excess_of(self)}")
            shown.update(("excess", "excess_error", "excess_random"))
        parts.append(", ".join(name for name in self if name not in shown))
        return f"<Applied: {'; '.join(parts)}>"

    def _repr_html_(self) -> str:
        return applied_html(self)


class Applier:
    """Fits h frame by frame with the Phi and W of a model, which are checked only once.

    The options J, tol and grad_tol and the results are the same as for `apply`. A frame of
    zeros has h = 0.

    Examples
    --------
    >>> import tlnmf
    >>> Y = tlnmf.simulate.gcm(s=1, m=6, n=20, kbar=2).Y[0]
    >>> activations = tlnmf.fit(Y, k=2).applier()
    >>> activations(Y[:, 0]).shape, activations(0 * Y[:, 0]).sum()
    ((2,), 0.0)
    """

    def __init__(self, model: Any, **options: Any):
        self._model = record_of(model)
        self._call = Call()
        settings = self._call.settings("apply", options, "Applier")
        create, free = core.tlnmf_applier_create, core.tlnmf_applier_free
        self._handle = self._call.make(create, self._model, settings, free=free)
        self._lock = threading.Lock()

    def __copy__(self) -> "Applier":
        return self  # a lock guards its calls

    def __reduce__(self) -> Any:
        raise TypeError(
            "an Applier can be neither pickled nor deep-copied; keep the model, and create an Applier "
            "from it again"
        )

    def __call__(self, y: Any) -> Real:
        """The K activations of the frame y."""
        frame = as_real(y, "y", (1,))
        M, K = self._model["W"].shape
        if frame.shape != (M,):
            raise ValueError(f"y has {len(frame)} samples; the model expects {M}")
        h = np.empty(K)
        with self._lock:
            code = core.tlnmf_applier_frame(
                self._call.ctx, self._handle.pointer, address(frame), address(h), None
            )
            self._call.check(code)
        return h


@documented("fit")
def fit(
    Y: Any = None,
    k: Union[None, int, str, range] = None,
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
    start: Any = None,
    starts: Union[None, int, str] = None,
    callback: Optional[Callback] = None,
    progress: bool = False,
    **options: Any,
) -> Model:
    """Learns an orthogonal Phi and nonnegative W, H such that the power of Phi Y is close to W H.

    Parameters
    ----------
    Y : array (M, N) or (S, M, N), or Data
        N frames of length M in columns; S realisations of them.
    k : int, "A:B", "auto" or range
        The number of components K. A range is compared on held-out data (see `compare_ranks`), in
        half of max_seconds; the best k is then fitted, and the model's `rank_table` has the scores.
    covariances : array (N, M, M), optional
        Covariances of the frames, instead of Y.
    weights : array (N,), optional
        Weights of the frames.
    mask : array (M, N), optional
        Weights of the entries of V, for method="nmf": 0 ignores an entry.
    missing, block, moving, axes, dof
        As for `Data`.
    input : {"auto", "data", "covariances", "power"}
        What Y holds, as for `Data`. With "power", Y is V: Itakura-Saito NMF of V with the identity
        as the transform, and a floor of 1e-6 of the mean of V.
    start : Model, fitted estimator or mapping, optional
        Any of Phi (M, M), W (M, K), H (K, N) to start from. Zeros of W and H stay. The options k,
        eps and method default to those of a model or estimator, and so do input and dof if it was
        fitted to powers. W and H of a model with another k, and H of a model with another number of
        frames, are not used, with a UserWarning. If several k are compared, a model gives Phi, eps
        and method.
    starts : int or "auto", optional
        The number of random starts; the best result is kept. "auto" runs 4 starts at a time until
        three have found the best minimum, at most 50. The default is "auto" for small problems (at
        most 500 unknowns M M + (M + N) K, without M M with a fixed transform; solver="fast", no
        start, hops or exchange), else 1. The model's `starts_agree` of `starts_completed` starts
        found the best minimum.
    callback : function, optional
        Called with a dictionary (stage, start, starts, iteration, iterations, C, L, I, step,
        seconds) after each iteration. Return True to stop the run. An exception also stops it and
        is raised here.
    progress : bool
        Shows a progress bar (tqdm, if installed).
    {options}

    Returns
    -------
    Model
        A mapping with Phi (M, M), W (M, K), H (K, N), C, L, I, outcome, ..

    Examples
    --------
    >>> import tlnmf
    >>> model = tlnmf.fit(tlnmf.simulate.gcm(s=5, m=6, n=20, kbar=2).Y, k=2, seed=3)
    >>> model.Phi.shape, bool(abs(model.C - model.L - model.I) < 1e-6)
    ((6, 6), True)
    """
    call, ranks = Call(), None
    reading = dict(weights=weights, mask=mask, missing=missing, block=block, moving=moving,
                   input=input, axes=axes, dof=dof)  # fmt: skip
    if starts is not None:
        options["starts"] = starts
    k, given, options = resolve(k, start, options, Y, reading, is_several(k))
    if is_several(k):
        data = data_with_realisations(Y, covariances, **reading)
        ranks, options = choose(call, data, k, given, options)
        k = ranks["k"]
    else:
        data = data_of(Y, covariances, **reading)
    given = fitting(given, k, data.N)
    settings = call.settings("fit", {"k": k, **options}, "fit")
    if starts is None:
        usual = call.usual_starts(data, settings, given)
        settings = call.settings("fit", {"k": k, **options, "starts": usual}, "fit")
    with Progress(progress, callback) as report:
        model = Model(call.solve(core.tlnmf_fit, data, settings, given, callback=report))
    warn_of_outcome(model)
    if ranks is not None:
        note(model, ranks)
    if data.dof:
        set_values(model, {"given.input": "power", "given.dof": str(data.dof)})
    return model


def warn_of_outcome(model: Model, J: str = "J") -> None:
    """Warns if a limit ended the run. `J` is the caller's name of the limit of iterations."""
    if model["outcome"] == "iterations":
        count = model["option.J"]
        warn_of_limit(f"{J} = {count} iterations were not enough to converge; use a larger {J}")
    if model["outcome"] == "time":
        completed = model["starts_completed"]
        result = "a result that has not converged"
        if completed > 0:
            starts = "start" if completed == 1 else "starts"
            result = f"the best result so far ({completed} {starts} completed)"
        warn_of_limit(f"max_seconds ended the run; use a larger max_seconds, or accept {result}")


def diagonalise(
    C: Any, weights: Any, rank: Union[None, int, str], axes: Any, start: Any,
    callback: Optional[Callback], progress: bool, options: Dict[str, Any],
) -> Model:  # fmt: skip
    """`joint_diagonalize` without its warning. With `whiten`, the model has unmixing and mixing."""
    call = Call()
    if rank is not None and not options.get("whiten"):
        raise TypeError("rank requires whiten=True")
    if isinstance(C, Data):
        if axes is not None:
            raise TypeError("axes needs the covariances, not Data")
        data = data_of(C, weights=weights)
    else:
        data = Data(covariances=as_covariances(C, "C", axes), weights=weights)
    kept = 0 if rank == "auto" else rank
    settings = call.settings("jd", {**options, "rank-reduce": kept}, "joint_diagonalize")
    first = None if start is None else start_of(start if isinstance(start, Record) else {"Phi": start})
    with Progress(progress, callback) as report:
        arguments = (data, settings, first)
        try:
            return Model(call.solve(core.tlnmf_diagonalise, *arguments, callback=report))
        except DataError as error:
            raise DataError(str(error).replace("rank-reduce", "rank")) from None


@documented("jd", skip=("whiten", "rank-reduce"))
def joint_diagonalize(
    C: Any,
    weights: Any = None,
    *,
    whiten: bool = False,
    rank: Union[None, int, str] = None,
    axes: Any = None,
    start: Any = None,
    callback: Optional[Callback] = None,
    progress: bool = False,
    **options: Any,
) -> Tuple[Real, Model]:
    """Finds one matrix that makes N covariances as diagonal as possible.

    Parameters
    ----------
    C : array (N, M, M), or Data
        Symmetric and positive semidefinite matrices.
    weights : array (N,), optional
        Not negative; only their ratios matter.
    whiten : bool
        Whitens first: the weighted mean of C becomes the identity, and the result need not be
        orthogonal (as in independent component analysis). `info.Phi` is then only the rotation;
        `info.unmixing` is the result and `info.mixing` its (pseudo)inverse.
    rank : int or "auto", optional
        With `whiten`: the number R of principal components of the mean covariance to keep, for
        covariances of lower rank; "auto": its rank. The result is then (R, M).
    axes : str or sequence of str, optional
        Names of the axes of C in another order, such as "channels,channels,epochs".
    start : array (M, M), optional
        An orthogonal matrix to start from. With `whiten`, it rotates the whitened matrices; with
        `rank`, it is (R, R).
    callback, progress
        As for `fit`.
    {options}

    Returns
    -------
    Phi : array (M, M)
        Phi @ C[n] @ Phi.T is nearly diagonal. Orthogonal unless whitened.
    info : Model
        L, outcome, iterations, ..

    Examples
    --------
    >>> import numpy as np, tlnmf
    >>> A = np.random.RandomState(0).randn(3, 3)
    >>> C = np.array([A @ np.diag(d) @ A.T for d in ([1, 2, 3], [3, 1, 2], [1, 3, 1])])
    >>> Phi, info = tlnmf.joint_diagonalize(C, whiten=True)
    >>> D = Phi @ C @ Phi.T
    >>> bool(abs(D[0] - np.diag(np.diag(D[0]))).max() < 1e-5)
    True
    """
    options.update(whiten=whiten)
    info = diagonalise(C, weights, rank, axes, start, callback, progress, options)
    warn_of_outcome(info)
    return np.array(info["unmixing" if whiten else "Phi"]), info


@documented("apply")
def apply(
    model: Any,
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
    callback: Optional[Callback] = None,
    **options: Any,
) -> Record:
    """Fits H to new data with the Phi, W and eps of a model.

    Parameters
    ----------
    model : Model or fitted estimator
    Y : array (M, N) or (S, M, N), or Data
        New frames of length M, in columns, also if `model` is an estimator.
    covariances : array (N, M, M), optional
        Instead of Y.
    weights : array (N,), optional
        Weights of the frames. A frame of weight 0 gets H = 0.
    mask : array (M, N), optional
        Weights of the entries of V, whose rows are the rows of the model's Phi: 0 ignores an entry.
    missing, block, moving, input, axes, dof
        As for `Data`. If the model was fitted to powers, Y holds powers of the same dof unless
        `input` or `dof` is given.
    {options}

    Returns
    -------
    Applied
        A record with H (K, N), C, L, I, outcome, and with keep_x and keep_v also X (M, columns) and V (M, N).
        `fits` says whether the model fits these data: "about as well as its own data", "worse than
        its own data", "no: these data are different", "cannot tell: " and the reason, or "these are
        its own data", if H is that of the fit. It compares `excess` with `excess_error` and
        `excess_random`, and allows for heavy tails.

    Examples
    --------
    >>> import tlnmf
    >>> Y = tlnmf.simulate.gcm(s=5, m=6, n=20, kbar=2).Y
    >>> model = tlnmf.fit(Y, k=2)
    >>> tlnmf.apply(model, Y[:, :, :4]).H.shape
    (2, 4)
    """
    record, call = record_of(model), Call()
    powers = powers_of(record, Y, input, dof)
    input, dof = powers["input"], powers["dof"]
    if input == "power" and not np.array_equal(record["Phi"], np.eye(len(record["Phi"]))):
        raise TypeError('input="power" requires a model whose transform is the identity')
    data = data_of(Y, covariances, weights=weights, mask=mask, missing=missing, block=block,
                   moving=moving, input=input, axes=axes, dof=dof)  # fmt: skip
    settings = call.settings("apply", options, "apply")
    arguments = (record, data, settings)
    return Applied(call.solve(core.tlnmf_apply, *arguments, callback=callback))


transform = apply


def evaluate(
    Y: Any, point: Union[Record, Mapping[str, Any]], *, covariances: Any = None, axes: Any = None
) -> Record:
    """Computes C, L, I and the gradient (M, M) at a point: a mapping with Phi, W, H and eps."""
    data = data_of(Y, covariances, axes=axes)
    return Record(Call().make(core.tlnmf_evaluate, data, start_of(point)))


def draw_start(
    Y: Any, p: int = 0, *, covariances: Any = None, axes: Any = None, **options: Any
) -> Record:
    """Start number `p` of a fit with these options: Phi (M, M), W (M, K), H (K, N)."""
    data, call = data_of(Y, covariances, axes=axes), Call()
    settings = call.settings("fit", options, "draw_start")
    return Record(call.make(core.tlnmf_draw_start, data, settings, int64(p, "p")))


def transform_matrix(kind: str, M: int) -> Real:
    """The matrix (M, M) of a fixed transform: "dct", "dft" or "identity".

    Examples
    --------
    >>> transform_matrix("identity", 2)
    array([[1., 0.],
           [0., 1.]])
    """
    if M < 1:
        raise ValueError(f"M = {M} is less than 1")
    Phi, call = np.empty((M, M)), Call()
    call.check(core.tlnmf_transform_matrix(call.ctx, plain(kind.encode()), M, address(Phi)))
    return Phi


def load(path: Path) -> Model:
    """Reads a model that `save` or the program `tlnmf` wrote."""
    os.stat(path)  # raises FileNotFoundError, as usual in Python
    return Model(Call().make(io().tlnmf_io_read_model, plain(os.fsencode(path))))


def save(path: Path, model: Any) -> None:
    """Writes a model or a fitted estimator to a file, in one atomic step. A file that exists is
    replaced. The extension selects the format: .h5 (HDF5), .npz or .mat; HDF5 without one."""
    record, call = record_of(model), Call()
    target = plain(os.fsencode(path))
    call.check(io().tlnmf_io_write_model(call.ctx, target, record._handle.pointer))


__all__: List[str] = [
    "Model", "fit", "joint_diagonalize", "apply", "transform", "evaluate", "draw_start",
    "transform_matrix", "load", "save",
]  # fmt: skip
