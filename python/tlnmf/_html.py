"""Shows a model in a notebook: headline, convergence and the strongest atoms, as HTML and SVG."""
from __future__ import annotations

import html
from typing import Any, Sequence, Tuple

import numpy as np


def polyline(y: Sequence[float], width: int = 180, height: int = 36) -> str:
    """A line chart without axes."""
    values = np.asarray(y, dtype=float)
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return ""
    span = float(np.ptp(values)) or 1.0
    x = np.linspace(1, width - 1, len(values))
    up = height - 2 - (values - values.min()) / span * (height - 4)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, up))
    return (
        f'<svg width="{width}" height="{height}"><polyline points="{points}" fill="none" '
        'stroke="#2a6fbb" stroke-width="1.2"/></svg>'
    )


def energy_of(model: Any) -> Any:
    """The energy of each row of Phi, (M,): of the data; of W H in a model from a file; or None."""
    if "energy" in model:
        return model["energy"]
    if "W" in model:
        W = model["W"]
        return W @ model["H"].sum(axis=1) if "H" in model else W.sum(axis=1)
    return None


def outcome_of(model: Any) -> str:
    """The outcome as the program prints it: "stationary" is one way to converge."""
    outcome = str(model.get("outcome", "not run"))
    return "converged" if outcome == "stationary" else outcome


def stop_of(model: Any) -> str:
    """Why and when the run stopped: "converged after 41 iterations", "limit of 20 iterations"."""
    count, outcome = model.get("iterations", 0), outcome_of(model)
    iterations = f"{count} iteration{'' if count == 1 else 's'}"
    return f"limit of {iterations}" if outcome == "iterations" else f"{outcome} after {iterations}"


def table_html(model: Any, atoms: int = 4) -> str:
    """A model as a table."""
    rows = []
    for name in ("C", "L", "I", "eps", "certificate"):
        if name in model and np.isfinite(model[name]):
            rows.append((name, f"{model[name]:.8g}"))
    if not np.isfinite(model.get("certificate", np.nan)) and "certificate_means" in model:
        rows.append(("certificate", html.escape(model["certificate_means"])))
    for caveat in model.get("caveats", ()):
        rows.append(("warning", html.escape(caveat)))
    stop = stop_of(model)
    rows.append(("stopped", html.escape(stop)))
    trace = [n for n in ("trace.C", "trace.L") if n in model]
    if trace:  # the distance from the last value, on a logarithmic scale
        values = np.asarray(model[trace[0]])
        best = model["trace.start"] == model.get("best_start", 0)  # with trace_all: every start
        values = values[np.isfinite(values) & best]
        gap = np.log10(np.maximum(values - values.min(), 1e-12)) if len(values) else values
        rows.append(("convergence", polyline(gap) or "a single iteration"))
    else:
        rows.append(("convergence", "not recorded: fit with <code>trace=True</code>"))
    energy = energy_of(model)
    if "Phi" in model and energy is not None:
        order = np.argsort(energy)[::-1][:atoms]
        rows.append(("atoms", " ".join(polyline(model["Phi"][m], 110, 30) for m in order)))
    size = ", ".join(f"{n} = {model[n]}" for n in ("M", "N", "K") if n in model)
    return _table(f"{model.get('method', 'model')}: {size}", rows)


def applied_html(applied: Any) -> str:
    """The result of `apply` as a table: whether the model fits, and how well."""
    rows = [("fits", html.escape(str(applied.get("fits", "not known"))))]
    for name in ("C", "I", "I_per_entry", "excess"):
        if name in applied and np.isfinite(applied[name]):
            rows.append((name, f"{applied[name]:.4g}"))
    rows.append(("stopped", html.escape(stop_of(applied))))
    return _table("a model applied to data", rows)


def _table(head: str, rows: Sequence[Tuple[str, str]]) -> str:
    body = "".join(f"<tr><th align=left>{a}</th><td>{b}</td></tr>" for a, b in rows)
    return f"<table><caption>{html.escape(head)}</caption>{body}</table>"
