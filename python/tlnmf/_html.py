"""Shows results as text, and in a notebook as tables with small pictures (HTML and SVG)."""
from __future__ import annotations

import html
from typing import Any, Sequence

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
    iterations, outcome = _iterations(model.get("iterations", 0)), outcome_of(model)
    return f"limit of {iterations}" if outcome == "iterations" else f"{outcome} after {iterations}"


def starts_of(model: Any) -> str:
    """How many starts agree, as the program prints it: "best C found by 3 of 11 starts"; "" for a
    single start."""
    starts, completed = model.get("starts", 0), model.get("starts_completed", 0)
    parts = []
    if completed > 1 and starts > 1:
        value = {"jd": "L", "nmf": "I"}.get(model.get("method"), "C")
        word = "completed starts" if completed < starts else "starts"
        parts.append(f"best {value} found by {model['starts_agree']} of {completed} {word}")
        if completed > starts:
            from_jd = "some of them" if completed > starts + 1 else "one of them"
            parts.append(f"{from_jd} from JD+NMF")
    of_nmf = model.get("nmf_starts_completed", 0)
    if of_nmf > 1:
        parts.append(f"best I by {model['nmf_starts_agree']} of {of_nmf} starts of NMF")
    return ", ".join(parts)


def limits_of(model: Any) -> str:
    """What limits the choice of k; "" if k was given, or if no limit is known."""
    return str(model.get("rank_limits", ""))


def excess_of(applied: Any) -> str:
    """The excess with the numbers that it is compared with; "" if it was not computed."""
    if not np.isfinite(applied.get("excess", np.nan)):
        return ""
    return (
        f"{applied['excess']:.3g} (standard error {applied['excess_error']:.2g}; "
        f"{applied['excess_random']:.3g} with permuted rows of W H)"
    )


def convergence_html(model: Any) -> str:
    """C minus its smallest value, on a logarithmic scale; L if there is no C. Only the start and
    the stage of the result are drawn, because C of JD+NMF does not continue in TL-NMF."""
    if "trace.C" not in model:
        return "not recorded: fit with <code>trace=True</code>"
    name = "C" if np.isfinite(model["trace.C"]).any() else "L"
    for column in (name, "stage", "start", "iteration"):
        if f"trace.{column}" not in model:
            return f"the model has no trace.{column}"
    values = model[f"trace.{name}"]
    stage = (model["trace.stage"] == 0) == (model.get("method") == "tl")
    rows = np.isfinite(values) & stage & (model["trace.start"] == model.get("best_start", 0))
    if not rows.any():
        return "not recorded"
    values, count = values[rows], _iterations(int(model["trace.iteration"][rows][-1]))
    line = polyline(np.log10(np.maximum(values - values.min(), 1e-12)))
    if not line:
        return f"{name} = {values[-1]:.8g} after {count}"
    return f"{line} {name} from {values[0]:.8g} to {values[-1]:.8g} in {count} (log scale)"


def _iterations(count: int) -> str:
    return f"{count} iteration{'' if count == 1 else 's'}"


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
    rows.append(("stopped", html.escape(stop_of(model))))
    for name, text in (("starts", starts_of(model)), ("choice of k", limits_of(model))):
        if text:
            rows.append((name, html.escape(text)))
    rows.append(("convergence", convergence_html(model)))
    energy = energy_of(model)
    if "Phi" in model and energy is not None:
        order = np.argsort(energy)[::-1][:atoms]
        rows.append(("atoms", " ".join(polyline(model["Phi"][m], 110, 30) for m in order)))
    size = ", ".join(f"{n} = {model[n]}" for n in ("M", "N", "K") if model.get(n))
    return _table(f"{model.get('method', 'model')}: {size}", rows)


def applied_html(applied: Any) -> str:
    """The result of `apply` as a table: whether the model fits, and how well."""
    rows = [("fits", html.escape(str(applied.get("fits", "not known"))))]
    for name in ("C", "I", "I_per_entry"):
        if name in applied and np.isfinite(applied[name]):
            rows.append((name, f"{applied[name]:.4g}"))
    if excess_of(applied):
        rows.append(("excess", excess_of(applied)))
    rows.append(("stopped", html.escape(stop_of(applied))))
    return _table("a model applied to data", rows)


def ranks_html(
    head: str, columns: Sequence[str], rows: Sequence[Sequence[str]], limits: str
) -> str:
    """A comparison of several k as a table, with what limits the choice below it."""
    titles = "".join(f"<th>{title}</th>" for title in columns)
    below = f"<p>{html.escape(limits)}.</p>" if limits else ""
    return _table(head, rows, f"<tr>{titles}</tr>") + below


def _table(head: str, rows: Sequence[Sequence[str]], titles: str = "") -> str:
    body = "".join(
        f"<tr><th align=left>{first}</th>{''.join(f'<td>{cell}</td>' for cell in rest)}</tr>"
        for first, *rest in rows
    )
    return f"<table><caption>{html.escape(head)}</caption>{titles}{body}</table>"
