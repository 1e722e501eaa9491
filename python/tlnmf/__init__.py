"""tlnmf: transform-learning nonnegative matrix factorisation and joint diagonalisation.

Functions on arrays (frames in columns): `fit`, `compare_ranks`, `joint_diagonalize`, `apply`,
`evaluate`, `separate`, `bss_eval`, `load`, `save`, `report`, `simulate.gcm`, `simulate.notes`.
Estimators with the interface of scikit-learn (frames in rows): `TLNMF`, `JDNMF`, `ISNMF`,
`JointDiagonalizer`. Frames that arrive one by one: `Applier`. Figures: `tlnmf.plot`.
"""
from __future__ import annotations

from typing import Any

from . import simulate
from ._data import Data
from ._errors import (
    ArgumentError,
    ConvergenceWarning,
    DataError,
    Error,
    InputError,
    NumericError,
    OptionError,
    OutOfMemory,
    OutputError,
    ShapeError,
    TooLarge,
)
from ._library import LibraryMissing, core
from ._model import (
    Applier,
    Model,
    apply,
    draw_start,
    evaluate,
    fit,
    joint_diagonalize,
    load,
    save,
    transform,
    transform_matrix,
)
from ._options import Option, options
from ._page import Page, report
from ._ranks import Ranks, compare_ranks
from ._record import Record, results
from ._sound import Separation, bss_eval, separate
from .estimators import ISNMF, JDNMF, TLNMF
from .joint import JointDiagonalizer, ajd

__version__: str = core.tlnmf_version().decode()
__all__ = [
    "Applier", "ArgumentError", "ConvergenceWarning", "Data", "DataError", "Error", "ISNMF", "InputError",
    "JDNMF", "JointDiagonalizer", "LibraryMissing", "Model", "NumericError", "Option", "OptionError",
    "OutOfMemory", "OutputError", "Page", "Ranks", "Record", "Separation", "ShapeError", "TLNMF",
    "TooLarge", "__version__", "ajd", "apply", "bss_eval", "compare_ranks", "draw_start", "evaluate", "fit",
    "joint_diagonalize", "load", "options", "plot", "report", "results", "save", "separate", "simulate",
    "transform", "transform_matrix",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "plot":  # matplotlib is imported with the first figure
        import importlib

        return importlib.import_module(".plot", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
