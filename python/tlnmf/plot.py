"""Pictures of models with matplotlib: atoms, factors, convergence."""
from __future__ import annotations

from typing import Any, Dict, Optional, Set

import numpy as np

from ._html import energy_of
from ._record import record_of

_STAGES = ("TL-NMF", "JD", "NMF")  # trace.stage
_MOST_NAMES = 20  # of single lines in a legend


def _axes(ax: Any, count: int = 1) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(count, 1, squeeze=False)
    figure.set_layout_engine("tight")
    return axes[:, 0] if count > 1 else axes[0, 0]


def _colours(starts: Any) -> Dict[int, Any]:
    """A colour for each start, all different and none of them black."""
    import matplotlib.pyplot as plt

    return dict(zip(starts.tolist(), plt.get_cmap("turbo")(np.linspace(0.1, 0.95, len(starts)))))


def atoms(model: Any, count: int = 6, rate: float = 1.0, ax: Optional[Any] = None) -> Any:
    """The `count` strongest rows of Phi, strongest on top, each next to the frequency of the cosine
    that fits it best; returns the axes.

    model : Model or fitted estimator. rate : samples per second; frequencies are then in Hz.
    """
    record: Any = record_of(model)
    found = record.atoms(rate, count)
    ax = _axes(ax)
    rows = found["row"].astype(int)
    for i, row in enumerate(rows):
        ax.plot(record["Phi"][row] / np.abs(record["Phi"]).max() / 2 - i, lw=1)
    ax.set_yticks(-np.arange(len(rows)), [f"{f:.4g}" for f in found["frequency"]])
    ax.set_ylabel("frequency (cycles per sample)" if rate == 1.0 else "frequency (Hz)")
    ax.set_xlabel("sample")
    ax.set_title("strongest atoms")
    return ax


def factors(model: Any, ax: Optional[Any] = None) -> Any:
    """W by row of Phi (above) and H by frame (below), one line per component; returns both axes.

    The legend counts components from 1, as the report page does: component 1 is W[:, 0] and H[0].
    ax : two axes, such as `plt.subplots(2, 1)[1]`.
    """
    if ax is not None and np.size(ax) != 2:
        raise TypeError("factors needs two axes, for W and H: ax=plt.subplots(2, 1)[1], or omit ax")
    record, ax = record_of(model), _axes(ax, 2)
    order = np.argsort(energy_of(record))[::-1]
    lines = ax[0].semilogy(np.maximum(record["W"][order], 1e-12))
    ax[0].legend(lines, [f"component {k + 1}" for k in range(len(lines))], fontsize="small")
    ax[0].set_title("W")
    ax[0].set_xlabel("row of Phi, by energy")
    ax[1].plot(record["H"].T)
    ax[1].set_title("H")
    ax[1].set_xlabel("frame")
    return ax


def convergence(model: Any, ax: Optional[Any] = None) -> Any:
    """C minus its smallest value, by iteration, a line per start and stage; returns the axes.

    Starts count from 1. Lines of one start have one colour; NMF is dashed. TL-NMF that started from
    the result of JD+NMF is black. The legend lies to the right of the axes. It names the kinds of
    lines if there are more than 20. JD has no C, so its stage is not drawn. If the model has no C
    at all, L is drawn instead. The fit needs trace=True, which records the best start, or
    trace_all=True for all starts.
    """
    record = record_of(model)
    history = record.history
    if not history:
        raise ValueError("the model has no trace: fit with trace=True")
    ax = _axes(ax)
    name = "C" if np.isfinite(history["C"]).any() else "L"
    y, stage, start = history[name], history["stage"], history["start"]
    rows = np.isfinite(y)
    lines = np.unique(np.stack([start, stage])[:, rows], axis=1).T.astype(int)
    named: Set[str] = set()
    colours = _colours(np.unique(lines[:, 0]))
    for at, part in lines:
        line = rows & (start == at) & (stage == part)
        kind = _STAGES[part]
        label, colour, width = f"start {at + 1}, {kind}", colours[at], 1.5
        if part == 0 and at >= record.get("starts", np.inf):
            kind = label = "TL-NMF from JD+NMF"
            colour, width = "black", 2.5
        if len(lines) > _MOST_NAMES:
            label = "_" if kind in named else kind  # legends omit names that begin with _
            named.add(kind)
        ax.semilogy(
            history["iteration"][line], np.maximum(y[line] - y[rows].min(), 1e-12),
            "--" if part == 2 else "-", color=colour, lw=width, label=label,
        )  # fmt: skip
    if len(lines) > 1:
        ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    ax.set_xlabel("iteration")
    ax.set_ylabel(f"{name} - smallest {name}")
    return ax
