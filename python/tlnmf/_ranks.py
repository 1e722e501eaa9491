"""Chooses the number of components by comparing several k on held-out data."""
from __future__ import annotations

import ctypes as c
import re
import time
from typing import Any, Dict, List, Optional, Tuple

from ._arrays import int64
from ._call import Call
from ._data import Data, DataOfRealisations, data_of
from ._errors import warn_of_limit
from ._html import limits_of, ranks_html
from ._library import core
from ._options import documented
from ._record import Record, set_values
from ._starts import resolve

_COLUMNS = ("k", "C_per_entry", "above_best", "standard_error", "folds_done", "cut_short")
_TITLES = ("k", "C per entry", "above best", "standard error", "folds")
_KEPT = (
    "rank_by", "rank_limits", "rank_folds", "rank_folds_wanted", "rank_realisations", "k_sparing"
)  # fmt: skip


def rank_table(record: Record) -> List[Dict[str, Any]]:
    """The rows of a table of scores, one per k; [] if there is no table."""
    columns = [record[f"rank.{name}"] for name in _COLUMNS if f"rank.{name}" in record]
    rows = [dict(zip(_COLUMNS, map(float, row))) for row in zip(*columns)]
    return [
        {**row, "k": int(row["k"]), "folds_done": int(row["folds_done"]),
         "cut_short": bool(row["cut_short"])}
        for row in rows
    ]  # fmt: skip


class Ranks(Record):
    """The result of a comparison: the best `k`, and `k_sparing`, the smallest k within one
    standard error of it."""

    @property
    def rank_table(self) -> List[Dict[str, Any]]:
        """A row for each k: k, C_per_entry, above_best, standard_error, folds_done, cut_short."""
        return rank_table(self)

    def _head(self) -> str:
        return f"k = {self.get('k')}, k_sparing = {self.get('k_sparing')}, by {self.get('rank_by')}"

    def _cells(self) -> List[Tuple[str, ...]]:
        """The rows of the table as text; the best k is marked by * and k_sparing by +."""
        marks = {self.get("k_sparing"): "+", self.get("k"): "*"}
        return [
            (f"{row['k']}{marks.get(row['k'], ' ')}", f"{row['C_per_entry']:.6g}",
             f"{row['above_best']:.4g}", f"{row['standard_error']:.4g}", str(row["folds_done"]),
             "(cut short)" if row["cut_short"] else "")
            for row in self.rank_table
        ]  # fmt: skip

    def __repr__(self) -> str:
        """The table, with the best k marked by * and k_sparing by +, and what limits the choice.

        Examples
        --------
        >>> import tlnmf
        >>> Y = tlnmf.simulate.gcm(s=20, m=4, n=15, kbar=2).Y
        >>> print(repr(tlnmf.compare_ranks(Y, "1:2", method="jd")).splitlines()[1])
           k   C per entry   above best   standard error   folds
        """
        form = "{:>5} {:>12} {:>12} {:>16} {:>7} {}"
        lines = [f"<Ranks: {self._head()}>", form.format(_TITLES[0] + " ", *_TITLES[1:], "")]
        lines += [form.format(*cells) for cells in self._cells()]
        if limits_of(self):
            lines.append(f"{limits_of(self)}.")
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        return ranks_html(self._head(), _TITLES, self._cells(), limits_of(self))


def is_several(k: Any) -> bool:
    """Whether k asks for a comparison: "1:8", "auto" or a range."""
    return isinstance(k, range) or (isinstance(k, str) and not re.fullmatch(r"-?\d+", k.strip()))


def _limits(k: Any) -> Optional[Tuple[int, int]]:
    """The first and the last k; None for "auto"."""
    if isinstance(k, range) and len(k) and k.step == 1:
        return k[0], k[-1]
    if isinstance(k, str):
        if k == "auto":
            return None
        found = re.fullmatch(r"(\d+):(\d+)", k)
        if found:
            return int(found[1]), int(found[2])
    raise ValueError(f'k = {k!r} is neither a number nor "A:B", "auto" or a range')


def data_with_realisations(Y: Any, covariances: Any, **reading: Any) -> Data:
    """Data that refer to the Y they were created from, if there is one."""
    if isinstance(Y, Data) and Y.S > 0:
        raise TypeError("comparing several k requires the array Y: Data do not keep the realisations")
    return data_of(Y, covariances, DataOfRealisations, **reading)


def compare(
    call: Call, data: Data, k: Any, start: Optional[Record], options: Dict[str, Any]
) -> Ranks:
    """Runs the comparison."""
    limits = _limits(k)
    settings = call.settings("fit", {**options, "k": 1}, "compare_ranks")
    span = None if limits is None else (c.c_int64 * 2)(*(int64(x, "k") for x in limits))
    ranks = Ranks(call.solve(core.tlnmf_compare_ranks, data, settings, span, start))
    if ranks["outcome"] == "time":
        warn_of_limit(
            f"max_seconds ended the comparison of k after {ranks['rank_folds']} of "
            f"{ranks['rank_folds_wanted']} folds; use a larger max_seconds, or accept a "
            "provisional k"
        )
    return ranks


@documented("fit", skip=("k",))
def compare_ranks(
    Y: Any = None,
    k: Any = "auto",
    *,
    covariances: Any = None,
    weights: Any = None,
    missing: bool = False,
    block: Optional[int] = None,
    moving: Optional[int] = None,
    input: str = "auto",
    axes: Any = None,
    dof: Optional[int] = None,
    start: Any = None,
    **options: Any,
) -> Ranks:
    """Compares several numbers of components on held-out data, as `fit -k A:B` does.

    Parameters
    ----------
    Y : array (M, N) or (S, M, N)
        Frames are held out if there are at least 40, and at least 4 realisations or
        method="nmf"; otherwise realisations. If there is only one, neighbouring frames and entries of V are.
    k : "A:B", "auto" or range
        The values to compare: from A to B. "auto": from 1 to 8, or fewer for small data.
    covariances : array (N, M, M), optional
        Instead of Y; entries of V are held out.
    weights : array (N,), optional
        Weights of the frames.
    missing, block, moving, input, axes, dof
        As for `fit`.
    start : mapping or Model, optional
        A Phi (M, M) to start from, or with method="nmf" to keep. The options eps and method default
        to those of a model.
    {options}

    Returns
    -------
    Ranks
        A mapping with the k that predicts best, k_sparing (the smallest k within one standard
        error of it), rank_by, rank_limits (what limits the choice, such as too few data), and
        rank_table (a list with a row for each k). docs/howto/components.md says how reliable it is.

    Examples
    --------
    >>> import tlnmf
    >>> Y = tlnmf.simulate.gcm(s=20, m=4, n=15, kbar=2).Y
    >>> ranks = tlnmf.compare_ranks(Y, "1:3", method="jd")
    >>> ranks.rank_by, [row["k"] for row in ranks.rank_table], 1 <= ranks.k <= 3
    ('realisations', [1, 2, 3], True)
    """
    reading = dict(weights=weights, missing=missing, block=block, moving=moving, input=input,
                   axes=axes, dof=dof)  # fmt: skip
    k, given, options = resolve(k, start, options, Y, reading, True)
    data = data_with_realisations(Y, covariances, **reading)
    return compare(Call(), data, k, given, options)


def choose(
    call: Call, data: Data, k: Any, start: Optional[Record], options: Dict[str, Any]
) -> Tuple[Ranks, Dict[str, Any]]:
    """Compares in half of max_seconds. Returns the options of the fit with the time left."""
    seconds, began = options.get("max_seconds"), time.monotonic()
    if seconds is None:
        ranks = compare(call, data, k, start, options)
        return ranks, options
    ranks = compare(call, data, k, start, {**options, "max_seconds": max(0.5 * seconds, 1e-3)})
    left = max(seconds - (time.monotonic() - began), 0.01 * seconds, 1e-3)
    return ranks, {**options, "max_seconds": left}


def note(model: Record, ranks: Ranks) -> None:
    """Adds the table to a model, so that files and pickles contain it."""
    columns = [f"rank.{name}" for name in _COLUMNS]
    set_values(model, {name: ranks[name] for name in (*_KEPT, *columns)})


__all__: List[str] = ["Ranks", "compare_ranks"]
