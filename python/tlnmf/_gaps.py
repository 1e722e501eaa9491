"""Entries that are not read: NaN in powers, and NaN under a mask of 0."""
from __future__ import annotations

from typing import Optional, Tuple

import numpy as np

from ._arrays import Real, address, shape_of
from ._call import Call
from ._library import core


def fill(
    x: Real, mask: Optional[Real], missing: bool, power: bool
) -> Tuple[Real, Optional[Real]]:
    """Fills entries of x (S, M, N) that are not read. Returns x and its mask.

    x holds roots of powers, or data. Powers are filled by the library, as in the program. For data, the
    mask is of V = |Phi Y|^2: only frames whose mask is all 0 are not read.

    Examples
    --------
    >>> x, mask = fill(np.array([[[1.0, np.nan], [2.0, 3.0]]]), None, True, True)
    >>> mask.tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    gaps = np.isnan(x) if missing or mask is not None else np.zeros(x.shape, dtype=bool)
    if not gaps.any() or (mask is None and not power):
        return x, mask
    if not power:
        unread = gaps & ~np.any(mask, axis=0)  # type: ignore[arg-type]
        level = np.sqrt(np.mean(x[~gaps] ** 2)) if not gaps.all() else np.nan
        return np.where(unread, level, x), mask  # the mean power, and thus eps, stays the same
    x, weights = x.copy(), np.ones(x.shape[1:]) if mask is None else mask.copy()
    call, count = Call(), shape_of((0,)) if missing else None
    shape, fill_powers = shape_of(x.shape), core.tlnmf_fill_missing_powers
    call.check(fill_powers(call.ctx, address(x), shape, address(weights), count))
    return x, weights
