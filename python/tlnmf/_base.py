"""The interface of scikit-learn estimators, without scikit-learn: parameters, checks, output."""
from __future__ import annotations

import inspect
import numbers
import sys
from typing import Any, Dict, List, Optional, Tuple, TypeVar

import numpy as np

from ._arrays import Real, as_real, reorder
from ._errors import warn
from ._options import suggestion

E = TypeVar("E", bound="Estimator")


class _NotFitted(ValueError, AttributeError):
    """The estimator is not fitted. If scikit-learn is loaded, its own class is used instead."""


def not_fitted(estimator: Any) -> Exception:
    loaded = sys.modules.get("sklearn.exceptions")
    kind: Any = getattr(loaded, "NotFittedError", _NotFitted)
    name = type(estimator).__name__
    error: Exception = kind(
        f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before "
        "using this estimator."
    )
    return error


def seed_of(random_state: Any) -> int:
    """Converts the random_state of scikit-learn to a seed: a number, None, or a generator.

    Examples
    --------
    >>> seed_of(7)
    7
    """
    if random_state is None:
        return int(np.random.randint(2**31 - 1))
    if isinstance(random_state, (np.random.RandomState,)):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    raise ValueError(f"{random_state!r} cannot be used to seed a random stream")


class Estimator:
    """Parameters by name, like scikit-learn's BaseEstimator."""

    n_features_in_: int
    feature_names_in_: Any

    @classmethod
    def _defaults(cls) -> Dict[str, Any]:
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        return {p.name: p.default for p in parameters}

    def _assign(self, given: Dict[str, Any]) -> None:
        """Sets every parameter, to its default if it is not given."""
        defaults = self._defaults()
        for name in given:
            if name not in defaults:
                raise TypeError(
                    f"{type(self).__name__}() got an unexpected keyword argument {name!r}"
                    + suggestion(name, list(defaults))
                )
        for name, default in defaults.items():
            setattr(self, name, given.get(name, default))

    def get_params(self, deep: bool = True) -> Dict[str, Any]:
        """The parameters and their values."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self: E, **values: Any) -> E:
        """Sets parameters by name. Raises ValueError if a name is unknown."""
        known = self._defaults()
        for name, value in values.items():
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. "
                    f"Valid parameters are: {list(known)!r}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        defaults = self._defaults()
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name])
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _more_tags(self) -> Dict[str, Any]:
        return {}

    def __sklearn_tags__(self) -> Any:  # scikit-learn 1.6 and later
        from sklearn.utils import Tags, TargetTags, InputTags, TransformerTags

        tags = Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(),
        )
        tags.input_tags.positive_only = bool(self._more_tags().get("requires_positive_X"))
        return tags

    # ---- checks of X ---------------------------------------------------------------------------

    def _check(
        self, X: Any, ranks: Tuple[int, ...], reset: bool, missing: bool = False, axes: Any = None
    ) -> Real:
        """Converts X to real numbers; stores or compares the number and names of its features. With
        `missing`, NaN and masked entries are allowed."""
        self._check_names(X, reset)
        if missing and isinstance(X, np.ma.MaskedArray):
            X = np.ma.filled(X.astype(np.float64), np.nan)  # type: ignore[no-untyped-call]
        if not hasattr(X, "nnz"):
            if not isinstance(X, np.ma.MaskedArray):  # as_real refuses masked entries
                X = np.asarray(X)
            _want_rows(X)
        x = as_real(X, "X", ranks, numbers_in_objects=True, kind="data")
        if axes is not None:
            x = np.ascontiguousarray(reorder(x, axes, "X").swapaxes(-1, -2))  # frames are rows
        if x.shape[-2] == 0:
            raise ValueError(
                f"Found array with 0 sample(s) (shape={x.shape}) while a minimum of 1 is required."
            )
        if x.shape[-1] == 0:
            raise ValueError(
                f"Found array with 0 feature(s) (shape={x.shape}) while a minimum of 1 is required."
            )
        wrong = np.isinf(x) if missing else ~np.isfinite(x)
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            name = type(self).__name__
            advice = f"; pass missing=True to {name} to treat NaN as missing" if np.isnan(x[at]) else ""
            raise ValueError(f"Input X contains NaN or infinity: X{list(at)} is {x[at]}{advice}")
        if reset:
            self.n_features_in_ = x.shape[-1]
        elif x.shape[-1] != self.n_features_in_:
            raise ValueError(
                f"X has {x.shape[-1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return x

    def _check_names(self, X: Any, reset: bool) -> None:
        names = _names(X)
        if reset:
            if names is not None:
                self.feature_names_in_ = names
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            return
        fitted = getattr(self, "feature_names_in_", None)
        name = type(self).__name__
        if names is not None and fitted is None:
            warn(f"X has feature names, but {name} was fitted without feature names", UserWarning)
        elif names is None and fitted is not None:
            warn(
                f"X does not have valid feature names, but {name} was fitted with feature names",
                UserWarning,
            )
        elif names is not None and fitted is not None:
            if len(names) != len(fitted) or any(names != fitted):
                raise ValueError(_names_message(names, fitted))


def _want_rows(X: Any) -> None:
    """Raises the error of scikit-learn for an array of one dimension."""
    if X.ndim < 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead. Reshape your data either using "
            "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) "
            "if it contains a single sample."
        )


def _names(X: Any) -> Optional[Any]:
    """Returns the column names if all are strings. Raises TypeError if only some are."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    kinds = sorted({type(column).__qualname__ for column in columns})
    if len(kinds) > 1 and "str" in kinds:
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your "
            f"input has {kinds} as feature name / column name types. If you want feature names to "
            "be stored and validated, you must convert them all to strings, by using X.columns = "
            "X.columns.astype(str) for example. Otherwise you can remove feature / column names "
            "from your input data, or convert them all to a non-string data type."
        )
    return np.asarray(columns, dtype=object) if kinds == ["str"] else None


def _listed(title: str, names: List[str]) -> str:
    shown = names[:5] + (["..."] if len(names) > 5 else [])
    return title + "".join(f"- {name}\n" for name in shown) if names else ""


def _names_message(names: Any, fitted: Any) -> str:
    """The message of scikit-learn for feature names that differ."""
    text = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
    text += _listed("Feature names unseen at fit time:\n", unseen)
    text += _listed("Feature names seen at fit time, yet now missing:\n", missing)
    if not unseen and not missing:
        text += "Feature names must be in the same order as they were in fit.\n"
    return text


class Output:
    """`set_output`, which selects the type that transform returns."""

    def set_output(self: Any, *, transform: Optional[str] = None) -> Any:
        """"pandas" makes transform return data frames, "default" arrays."""
        if transform is not None:
            if transform not in ("default", "pandas"):
                raise ValueError(f"output config must be 'default' or 'pandas', got {transform}")
            self._sklearn_output_config = {"transform": transform}
        return self

    def _output(self: Any, values: Real, X: Any) -> Any:
        wanted = getattr(self, "_sklearn_output_config", {}).get("transform")
        if wanted is None and "sklearn" in sys.modules:
            config: Dict[str, Any] = getattr(sys.modules["sklearn"], "get_config", dict)()
            wanted = config.get("transform_output")
        if wanted != "pandas":
            return values
        import pandas

        index = getattr(X, "index", None)
        return pandas.DataFrame(values, index=index, columns=self.get_feature_names_out())
