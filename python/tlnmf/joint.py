"""Joint diagonalisation as an estimator and as a function, in pyRiemann's conventions."""
from __future__ import annotations

import inspect
from typing import Any, Dict, Optional, Tuple

import numpy as np

from ._arrays import Real, as_real, reorder_matrices
from ._base import Estimator, not_fitted, seed_of
from ._data import as_covariances
from ._errors import warn
from ._model import Model, diagonalise, warn_of_outcome
from ._options import describe, parameters

_OWN = ("whiten", "rank-reduce")  # options of the library that the class handles
_RENAMED = {"seed": "random_state", "transform": "init_transform"}  # transform is a method


def ajd(
    X: Any,
    *,
    init: Any = None,
    tol: float = 1e-7,
    n_iter_max: int = 1000,
    sample_weight: Any = None,
    rank: Any = None,
    axes: Any = None,
    eps: Optional[float] = None,
) -> Tuple[Real, Real]:
    """Minimises the sum of log(diag(D) + 0.01) over the D = V X V', where V whitens the mean of X.

    This is L of the paper after whitening, with a floor of 0.01. Pham's criterion (`ajd_pham` of
    pyRiemann) has no floor, and its V is any invertible matrix. Arguments and shapes of the results
    are those of `ajd_pham`, apart from `tol` and `rank`.

    Parameters
    ----------
    X : array (n_matrices, n, n)
        Symmetric and positive definite; with `rank`, positive semidefinite.
    init : array (n, n), or (rank, n), optional
        A diagonaliser to start from. The nearest rotation of the whitened matrices is used.
    tol : float
        Stop when the gradient norm falls below this value.
    n_iter_max : int
    sample_weight : array (n_matrices,), optional
    rank : int or "auto", optional
        As for `JointDiagonalizer`, for matrices of lower rank.
    axes : str, optional
        Names of the axes of X in another order, such as "channels,channels,epochs".
    eps : float, optional
        Deprecated name of `tol`. It is not the floor 0.01, which is fixed.

    Returns
    -------
    V : array (n, n), or (rank, n)
        The diagonaliser.
    D : array (n_matrices, n, n), or (n_matrices, rank, rank)
        V @ X @ V.T, nearly diagonal; its weighted mean is the identity.

    Notes
    -----
    If the matrices can be diagonalised exactly, V also minimises Pham's criterion. For noisy
    matrices it does not, because only rotations of the whitened matrices are searched.
    """
    start = None
    if eps is not None:
        warn("eps of ajd is called tol: it is a tolerance", DeprecationWarning)
        tol = eps
    if axes is not None:
        X = as_covariances(X, "X", axes)
    if init is not None:
        V = as_real(init, "init", (2,))
        first = diagonalise(X, sample_weight, rank, None, None, None, False, {"whiten": True, "J": 1})
        before = first.Phi.T @ first.unmixing  # whitens
        if V.shape != before.shape:
            raise ValueError(f"init has the shape {V.shape}; it must have {before.shape}")
        u, _, vt = np.linalg.svd(V @ np.linalg.pinv(before))
        start = u @ vt
    model = JointDiagonalizer(grad_tol=tol, J=n_iter_max, start=start, rank=rank)
    model._learn(X, sample_weight)
    warn_of_outcome(model.info_, "n_iter_max")
    return model.filters_, model.transform(X)


class JointDiagonalizer(Estimator):
    """Joint diagonalisation of covariances by one matrix, orthogonal only if whiten=False.

    Parameters
    ----------
    whiten : bool, default True
        Whitens first: the weighted mean of the covariances becomes the identity.
    rank : int or "auto", optional
        With whiten: the number R of principal components of the mean covariance to keep, for
        covariances of lower rank (as after an average reference); "auto": its rank.
    start : array (n, n), optional
        An orthogonal matrix to start from; (rank, rank) with rank.
    axes : str, optional
        Names of the axes of covariances in another order, such as "channels,channels,epochs".
        Signals for `transform` are always (epochs, channels, times).
{options}

    Attributes
    ----------
    filters_ : array (n, n), or (rank, n)
        V: V @ X @ V.T is nearly diagonal. Rows are spatial filters, as in pyRiemann and MNE.
    patterns_ : array (n, n), or (n, rank)
        The (pseudo)inverse of filters_; columns are patterns.
    n_iter_ : int
    stop_reason_ : str
    info_ : Model
        All results of the library.

    Examples
    --------
    >>> A = np.random.RandomState(1).randn(3, 3)
    >>> X = np.array([A @ np.diag(d) @ A.T for d in ([1, 2, 3], [3, 1, 2], [1, 3, 1])])
    >>> D = JointDiagonalizer().fit_transform(X)
    >>> bool(abs(D[1] - np.diag(np.diag(D[1]))).max() < 1e-5)
    True
    """

    whiten: bool
    rank: Any
    start: Any
    axes: Any
    random_state: Any
    filters_: Real
    patterns_: Real
    n_iter_: int
    stop_reason_: str
    info_: Model

    def __init__(
        self, whiten: bool = True, start: Any = None, rank: Any = None, axes: Any = None,
        **options: Any,
    ) -> None:  # fmt: skip
        self._assign({"whiten": whiten, "start": start, "rank": rank, "axes": axes, **options})

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "JointDiagonalizer":
        """Learns from covariances X (n_matrices, n, n). y is ignored."""
        self._learn(X, sample_weight)
        warn_of_outcome(self.info_)
        return self

    def _learn(self, X: Any, weights: Any) -> None:
        """`fit` without its warning."""
        options = self.get_params()
        x = as_covariances(X, "X", options.pop("axes"))
        options["seed"] = seed_of(options.pop("random_state"))
        options["transform"] = options.pop("init_transform")
        rank, start = options.pop("rank"), options.pop("start")
        self.info_ = diagonalise(x, weights, rank, None, start, None, False, options)
        self.filters_ = np.array(self.info_["unmixing" if self.whiten else "Phi"])
        self.patterns_ = np.linalg.pinv(self.filters_)
        self.n_iter_ = max(1, int(self.info_["iterations"]))
        self.stop_reason_ = self.info_["outcome"]
        self.n_features_in_ = x.shape[1]

    def transform(self, X: Any) -> Real:
        """filters_ @ X @ filters_.T of covariances (n_matrices, n, n); of signals (n_matrices, n,
        times), the sources filters_ @ X."""
        if not hasattr(self, "filters_"):
            raise not_fitted(self)
        x, are_covariances = self._arrange(X)
        if x.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {x.shape[1]} channels; the estimator expects {self.n_features_in_}")
        if are_covariances:
            return np.asarray(self.filters_ @ x @ self.filters_.T)
        return np.asarray(self.filters_ @ x)

    def _arrange(self, X: Any) -> Tuple[Real, bool]:
        """X as (N, n, n), and whether these are covariances; other arrays are signals, unchanged."""
        x = as_real(X, "X", (3,))
        turned = x if self.axes is None else reorder_matrices(x, self.axes, "X")
        return (turned, True) if _are_symmetric(turned) else (x, False)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Real:
        """Fits to X, then transforms it."""
        return self.fit(X, y, sample_weight).transform(X)

    def inverse_transform(self, X: Any) -> Real:
        """Reverses `transform`, of covariances (n_matrices, n, n) or signals."""
        if not hasattr(self, "filters_"):
            raise not_fitted(self)
        x = as_real(X, "X", (3,))
        if _are_symmetric(x):
            return np.asarray(self.patterns_ @ x @ self.patterns_.T)
        return np.asarray(self.patterns_ @ x)

    def _repr_html_(self) -> str:
        return self.info_._repr_html_() if hasattr(self, "info_") else f"<pre>{self!r}</pre>"


def _are_symmetric(x: Real) -> bool:
    return bool(x.shape[1] == x.shape[2] and np.allclose(x, x.transpose(0, 2, 1)))


def _with_options(cls: Any) -> None:
    """Puts the options of task jd into the signature and the docstring."""
    own = list(inspect.signature(cls.__init__).parameters.values())[:5]
    found: Dict[str, inspect.Parameter] = parameters("jd", _OWN, _RENAMED)
    signature = inspect.Signature(own + list(found.values()))
    cls.__init__.__signature__ = signature
    cls.__doc__ = cls.__doc__.replace("{options}", describe("jd", _OWN, _RENAMED, "    "))


_with_options(JointDiagonalizer)
