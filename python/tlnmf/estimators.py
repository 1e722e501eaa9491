"""Estimators with the interface of scikit-learn: TLNMF, JDNMF, ISNMF. Samples are rows.

A row of X is a frame: X is Y transposed, n_samples is N, n_features is the frame length M. Several
realisations of the same frames are an X of shape (S, N, M). `components_` is W transposed and
`activations_` is H transposed, as in scikit-learn's NMF.
"""
from __future__ import annotations

import ctypes as c
import inspect
from typing import Any, ClassVar, Dict, Iterator, Optional, Tuple, TypeVar

import numpy as np

from ._arrays import Real, address, as_real, shape_of
from ._base import Estimator, Output, not_fitted, seed_of
from ._call import Call
from ._data import Data, check_power
from ._errors import warn
from ._gaps import fill
from ._html import table_html
from ._library import core
from ._model import Model, Path, fit as fit_model, load
from ._options import describe, parameters
from ._page import Page, report
from ._ranks import is_several
from ._record import Record
from ._starts import POWER_FLOOR

# As scikit-learn calls them; `transform` is a method there.
_RENAMED = {"k": "n_components", "seed": "random_state", "transform": "init_transform"}
_METHOD = ("method",)  # given by the class
_TINY = float(np.finfo(np.float64).tiny)  # the least mean power of data; eps is larger
T = TypeVar("T", bound="_Factorisation")

_DOC = """{purpose}

    Parameters
    ----------
{options}
    missing : bool, default False
        {gaps}
    start : Model, fitted estimator or mapping, default None
        Any of Phi (M, M), W (M, K), H (K, N) to start from.
    axes : str, default None
        Names of the axes of X if they are not (N, M) or (S, N, M), as in "epochs,channels,times".

    Attributes
    ----------
    transform_matrix_ : array (M, M)
        Phi: a row is an atom.
    components_ : array (K, M)
        W transposed: the spectrum of each component over the rows of Phi.
    activations_ : array (N, K)
        H transposed, at the end of the fit.
    history_ : dict of arrays
        C, L, I, step, seconds of every iteration; {{}} with trace=False.
    stop_reason_ : str
    n_iter_ : int
    reconstruction_err_ : float
        I, the Itakura-Saito divergence of the power from W H.
    certificate_ : float
        Upper bound on C - C*, valid if the run found the global minimum of L; NaN: unknown.
        JDNMF always has it (it is I). TLNMF with certify=True minimises L after the fit, which
        adds up to a quarter to the time.
    certificate_reason_ : str
        Why certificate_ is NaN; "" if it is not.
    model_ : Model
        All results of the library.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """


class _Factorisation(Output, Estimator):
    """The common part of the three estimators, which differ in method and meaning of X."""

    _method: ClassVar[str]
    _comparison: ClassVar[str] = 'tlnmf.compare_ranks(Y, "auto")'
    _gaps: ClassVar[str] = "Rows of a realisation that contain NaN or masked entries are missing."
    n_components: int
    random_state: Any
    missing: bool
    start: Any
    axes: Any
    model_: Model
    transform_matrix_: Real
    components_: Real
    activations_: Real
    history_: Dict[str, Real]
    stop_reason_: str
    n_iter_: int
    reconstruction_err_: float
    certificate_: float
    certificate_reason_: str

    def __init_subclass__(cls) -> None:
        defaults = cls._usual()
        found = parameters("fit", _METHOD + cls._hidden(), _RENAMED)
        keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD
        first = inspect.Parameter("self", keyword)
        listed = [
            p.replace(
                kind=keyword if p.name == "n_components" else p.kind,
                default=defaults.get(p.name, p.default),
            )
            for p in found.values()
        ]
        listed += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)
                   for name, (value, _) in cls._own().items()]  # fmt: skip

        def __init__(self: Any, n_components: int = 2, **options: Any) -> None:
            self._assign({"n_components": n_components, **options})

        __init__.__signature__ = inspect.Signature([first] + listed)  # type: ignore[attr-defined]
        cls.__init__ = __init__  # type: ignore[assignment]
        text = describe("fit", _METHOD + cls._hidden(), _RENAMED, "    ")
        text = text.replace(
            "default None\n        rank: the number of components (required)",
            "default 2\n        The number of components K.",
        )
        for name, value in defaults.items():
            line = f"    {name} : bool, default "
            text = text.replace(f"{line}False", f"{line}{value}")
        for name, (value, help) in cls._own().items():
            kind = "object" if value is None else type(value).__name__
            text += f"\n    {name} : {kind}, default {value}\n        {help}"
        if "eps_rel" in defaults:
            line = "    eps_rel : float, default "
            text = text.replace(f"{line}0.01", f"{line}{defaults['eps_rel']}")
        cls.__doc__ = _DOC.format(purpose=(cls.__doc__ or "").strip(), options=text, gaps=cls._gaps)

    def __init__(self, n_components: int = 2, **options: Any) -> None:  # see __init_subclass__
        raise NotImplementedError

    @classmethod
    def _hidden(cls) -> Tuple[str, ...]:
        return ()

    @classmethod
    def _own(cls) -> Dict[str, Tuple[Any, str]]:
        """Parameters that are not options of the library: their defaults and help."""
        return {
            "missing": (False, "NaN and masked entries are missing values"),
            "start": (None, "a model or arrays to start from, as for `tlnmf.fit`"),
            "axes": (None, "names of the axes of X, as for `tlnmf.fit`"),
        }

    @classmethod
    def _usual(cls) -> Dict[str, Any]:
        """Defaults that differ from the library's table."""
        return {"n_components": 2, "trace": True}

    def _frames(self, x: Real) -> Real:
        """Rows of X as Y (S, M, N)."""
        y = x[np.newaxis] if x.ndim == 2 else x
        return np.ascontiguousarray(y.transpose(0, 2, 1))

    def _data(self, y: Real, **layout: Any) -> Data:
        """Data from what _frames returns."""
        return Data(y, input="data", **layout)

    def _filled(self, y: Real) -> Tuple[Real, Optional[Real]]:
        """Rows for `transform`, and a mask (M, N) if entries can be missing."""
        return y, None

    def _options(self) -> Dict[str, Any]:
        own = self._own()
        values = {name: x for name, x in self.get_params().items() if name not in own}
        for option, name in _RENAMED.items():
            if name in values:
                values[option] = values.pop(name)
        values["seed"] = seed_of(values["seed"])
        values["method"] = self._method
        if is_several(values["k"]):
            raise ValueError(
                f"n_components = {values['k']!r} is not a number. Choose one with GridSearchCV, or with "
                f"{self._comparison}.k, where Y is X with the last two axes exchanged"
            )
        return values

    def fit(self: T, X: Any, y: Any = None, sample_weight: Any = None) -> T:
        """Learns from the rows of X: (N, M), or (S, N, M) with S realisations. y is ignored.
        sample_weight (N,) has weights of the rows."""
        x = self._check(X, (2, 3), True, self.missing, self.axes)
        options, y_ = self._options(), self._frames(x)
        if x.any():
            data = self._data(y_, weights=sample_weight, missing=self.missing)
            self._keep(fit_model(data, options.pop("k"), start=self.start, **options))
        else:
            self._keep(_silence(y_.shape, options))
        return self

    def _keep(self, model: Model) -> None:
        """Sets the attributes that the docstring lists."""
        self.model_ = model
        self.transform_matrix_ = np.array(model["Phi"])
        self.components_ = np.array(model["W"].T, order="C")
        self.activations_ = np.array(model["H"].T, order="C") if "H" in model else np.empty((0, 0))
        self.history_ = {name: np.array(x) for name, x in model.history.items()}
        self.stop_reason_ = str(model.get("outcome", ""))
        self.n_iter_ = max(1, int(model.get("iterations", 1)))
        self.reconstruction_err_ = float(model.get("I", np.nan))
        self.certificate_ = float(model.get("certificate", np.nan))
        self.certificate_reason_ = "" if np.isfinite(self.certificate_) else str(model.get("certificate_means", ""))
        self.n_features_in_ = int(self.transform_matrix_.shape[0])

    def _activations(self, X: Any) -> Real:
        """Returns H transposed (N, K). Frames are independent."""
        if not hasattr(self, "model_"):
            raise not_fitted(self)
        y, mask = self._filled(self._frames(self._check(X, (2, 3), False, self.missing, self.axes)))
        S, M, N = y.shape
        H = np.zeros((N, len(self.components_)))
        columns = np.ascontiguousarray(y.transpose(2, 0, 1))
        silent = _largest(columns, (1, 2)) < np.sqrt(S * M * _TINY)
        absent = np.isnan(columns).any(axis=2).all(axis=1)  # no realisation is complete
        if mask is not None:
            mask = np.ascontiguousarray(mask.T)
            absent = ~mask.any(axis=1)
        shape, call, row = shape_of((S, M, 1)), Call(), 8 * H.shape[1]
        settings = call.settings("apply", {"threads": 1}, "transform")
        make, free = core.tlnmf_data_from_realisations, core.tlnmf_data_free
        if self.missing:
            make = core.tlnmf_data_from_incomplete

        def work() -> None:
            for n in range(N):
                if call.stopped:
                    return
                # (0 + eps) / (W h + eps) + log(W h + eps) is least at h = 0, and eps hides silent rows
                if absent[n] or silent[n]:
                    continue
                data = call.make(make, columns[n], shape, free=free)
                if mask is not None:
                    call.check(core.tlnmf_data_set_mask(call.ctx, data.pointer, address(mask[n])))
                record = call.make(core.tlnmf_apply, self.model_, data, settings)
                pointer = core.tlnmf_record_get_array(record.pointer, b"H", None, None)
                c.memmove(address(H) + n * row, pointer, row)

        call.away(work)
        return H

    def transform(self, X: Any) -> Any:
        """Fits activations (N, K) to the rows of X, each independently, with the learnt Phi and W."""
        return self._output(self._activations(X), X)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fits to X, then transforms it."""
        return self.fit(X, y, sample_weight).transform(X)

    def inverse_transform(self, H: Any) -> Any:
        """Expected power of the coefficients, (N, M): H @ components_. It has no signs."""
        if not hasattr(self, "model_"):
            raise not_fitted(self)
        h = as_real(H, "H", (2,), numbers_in_objects=True)
        if h.shape[1] != len(self.components_):
            raise ValueError(f"H has {h.shape[1]} columns for {len(self.components_)} components")
        return h @ self.components_

    def score_samples(self, X: Any) -> Real:
        """Log-likelihood of each row, y ~ N(0, Phi' diag(W h + eps) Phi), with h integrated out.

        The prior of h_k is exponential with the mean of `activations_[:, k]`. Rows are independent
        of each other. With S realisations it is the log-likelihood of all divided by S. Scores of
        models with different eps are not comparable: eps is added to the power of the data and of
        the model. With missing=True, S counts the realisations that have the row; the score is NaN
        if none has it. ISNMF scores the entries that all of these realisations have.
        """
        if not hasattr(self, "model_"):
            raise not_fitted(self)
        y = self._frames(self._check(X, (2, 3), False, self.missing, self.axes))
        scores = np.full(y.shape[2], np.nan)
        for group in self._groups(np.isnan(y)):
            if all(len(indices) > 0 for indices in group):
                scores[group[2]] = self._likelihood(y[np.ix_(*group)], group[1])
        return scores

    def _groups(self, gaps: Any) -> Iterator[Tuple[Any, Any, Any]]:
        """Realisations, entries and frames that are scored together, as indices of gaps (S, M, N)."""
        S, M, N = gaps.shape
        known = ~gaps.any(axis=1)
        yield np.arange(S), np.arange(M), np.flatnonzero(known.any(axis=0))

    def _likelihood(self, y: Real, entries: Any) -> Real:
        """Log-likelihood of the frames y (S, M, N), which have these entries of a row."""
        model = self.model_
        S, M, N = y.shape
        if M < len(model["Phi"]):  # only if Phi is the identity
            part = {"Phi": np.eye(M), "W": model["W"][entries], "H": model["H"], "eps": model["eps"]}
            model = Model.of(part)
        if _largest(y) < np.sqrt(y.size * _TINY):  # the library rejects it: a frame more, to be dropped
            y = np.append(y, np.full((S, M, 1), np.sqrt(model["eps"])), axis=2)
        call = Call()
        settings = call.settings("apply", {"threads": self.get_params()["threads"]}, "score")
        data = self._data(y, missing=self.missing)
        record = Record(call.solve(core.tlnmf_likelihood, model, data, settings))
        return np.array(record["log_likelihood"][:N])

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of the rows with h integrated out; see `score_samples`."""
        scores = self.score_samples(X)
        if np.isnan(scores).all():
            raise ValueError(
                "no row of X can be scored: every realisation of every row has missing values"
            )
        return float(np.nanmean(scores))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns that transform returns: tlnmf0, tlnmf1, .."""
        if not hasattr(self, "model_"):
            raise not_fitted(self)
        name = type(self).__name__.lower()
        return np.asarray([f"{name}{i}" for i in range(len(self.components_))], dtype=object)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def save(self, path: Path) -> None:
        """Writes the model to a file that `load` and the program read; see `tlnmf.save`."""
        if not hasattr(self, "model_"):
            raise not_fitted(self)
        self.model_.save(path)

    def report(self, path: Optional[Path] = None, V: Any = None, **options: Any) -> Page:
        """Writes the report page, or returns it for a notebook to show; see `tlnmf.report`.

        V is (M, N), as `tlnmf.apply(estimator, X.T, keep_v=True).V` gives it.
        """
        return report(self, path, V, **options)

    @classmethod
    def load(cls: Any, path: Path) -> Any:
        """Reads a fitted estimator from a file that `save` or the program wrote."""
        model = load(path)
        estimator = cls(n_components=int(model["W"].shape[1]))
        if "dof" in cls._own() and "given.dof" in model:
            estimator.dof = int(model["given.dof"])
        estimator._keep(model)
        return estimator

    def _more_tags(self) -> Dict[str, Any]:
        reason = "starts are random and depend on the number and order of the rows"
        return {
            "preserves_dtype": [np.float64],
            "_xfail_checks": {"check_sample_weights_invariance": reason},
        }

    def _repr_html_(self) -> Optional[str]:
        if not hasattr(self, "model_"):
            return f"<pre>{self!r}</pre>"
        return table_html(self.model_)


def _largest(x: Real, axis: Optional[Tuple[int, ...]] = None) -> Real:
    """The largest absolute value over the axes, without NaN."""
    most = np.fmax.reduce(x, axis=axis, initial=0.0)
    return np.asarray(np.maximum(most, -np.fmin.reduce(x, axis=axis, initial=0.0)))


def _silence(shape: Tuple[int, ...], options: Dict[str, Any]) -> Model:
    """A model for data that are all zeros, which the library rejects: W is constant, H is 0."""
    _, M, N = shape
    K = int(options["k"])
    if K < 1:
        raise ValueError(f"n_components = {K} is less than 1")
    warn("X is all zeros: there is nothing to learn", RuntimeWarning)
    eps = float(options["eps"] or 1.0)
    C = M * N * (1.0 + float(np.log(eps)))
    arrays = {"Phi": np.eye(M), "W": np.full((M, K), 1.0 / M), "H": np.zeros((K, N))}
    scalars = {"eps": eps, "C": C, "L": C, "I": 0.0, "M": M, "N": N, "K": K, "iterations": 0}
    words = {"outcome": "nothing to learn", "method": options["method"]}
    return Model.of({**scalars, **words, **arrays})


class TLNMF(_Factorisation):
    """Transform-learning NMF: Phi, W and H are learnt together. Frames are rows of X."""

    _method = "tl"

    @classmethod
    def _usual(cls) -> Dict[str, Any]:
        return {**super()._usual(), "certify": True}


class JDNMF(_Factorisation):
    """Joint diagonalisation, then NMF with the resulting transform. Frames are rows of X."""

    _method = "jd"


class ISNMF(_Factorisation):
    """Itakura-Saito NMF of a nonnegative X, such as a power spectrogram. Spectra are rows of X.

    The transform is the identity. inverse_transform(transform(X)) is an estimate of X. The floor
    is 1e-6 of the mean of X by default.
    """

    _method = "nmf"
    _comparison = 'tlnmf.compare_ranks(Y, "auto", input="power")'
    _gaps = "Entries that are NaN or masked are missing; the other entries of their row are used."
    dof: int

    @classmethod
    def _usual(cls) -> Dict[str, Any]:
        return {**super()._usual(), "eps_rel": POWER_FLOOR}

    @classmethod
    def _hidden(cls) -> Tuple[str, ...]:
        return ("transform",)

    @classmethod
    def _own(cls) -> Dict[str, Tuple[Any, str]]:
        text = (
            "degrees of freedom of each power, as for `tlnmf.Data`: 2 for |STFT|^2, 1 for squares\n"
            "        of real coefficients (DCT), 2 n if each power is the mean of n periodograms;\n"
            "        for an X (S, N, M), the degrees of freedom of one spectrogram"
        )
        return {**super()._own(), "dof": (2, text)}

    def _options(self) -> Dict[str, Any]:
        return {**super()._options(), "transform": "identity"}

    def _data(self, y: Real, missing: bool = False, **layout: Any) -> Data:
        check_power(y)
        y, mask = fill(y, None, missing, True)
        data = super()._data(y, mask=mask, **layout)
        data._count(self.dof)
        return data

    def _filled(self, y: Real) -> Tuple[Real, Optional[Real]]:
        return fill(y, None, self.missing, True)

    def _groups(self, gaps: Any) -> Iterator[Tuple[Any, Any, Any]]:
        patterns, of = np.unique(~gaps, axis=2, return_inverse=True)
        for i, known in enumerate(np.moveaxis(patterns, 2, 0)):
            realisations = known.any(axis=1)
            entries = known[realisations].all(axis=0)
            yield tuple(map(np.flatnonzero, (realisations, entries, of.ravel() == i)))  # type: ignore

    def _frames(self, x: Real) -> Real:
        if (x < 0).any():
            at = tuple(int(i) for i in np.argwhere(x < 0)[0])
            raise ValueError(f"Negative values in data passed to ISNMF: X{list(at)} is {x[at]}")
        return super()._frames(np.sqrt(x))  # the power of the frames is X

    def _more_tags(self) -> Dict[str, Any]:
        return {**super()._more_tags(), "requires_positive_X": True}
