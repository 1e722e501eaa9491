"""Entries that are not read: NaN in powers, and NaN under a mask of 0."""
from __future__ import annotations

from typing import Optional, Tuple

import numpy as np

from ._arrays import Real


def fill(
    x: Real, mask: Optional[Real], missing: bool, power: bool
) -> Tuple[Real, Optional[Real], int]:
    """Fills entries of x (S, M, N) that are not read. Returns x, its mask and the number of entries
    that are missing.

    x holds roots of powers, or data. A missing power becomes the mean of the realisations that have
    it, and its mask the fraction of those. For data, the mask is of V = |Phi Y|^2: only frames whose
    mask is all 0 are not read.

    >>> x, mask, count = fill(np.array([[[1.0, np.nan], [2.0, 3.0]]]), None, True, True)
    >>> mask.tolist(), count
    ([[1.0, 0.0], [1.0, 1.0]], 1)
    """
    if mask is None and not (missing and power):
        return x, mask, 0
    gaps = np.isnan(x)
    if mask is not None and not (missing and power):
        gaps &= mask == 0 if power else ~mask.any(axis=0)
    seen = (~gaps).sum(axis=0)
    if not gaps.any():
        return x, mask, 0
    if not seen.any():
        raise ValueError("every entry is missing")
    V = np.where(gaps, 0.0, x**2).sum(axis=0) / np.maximum(seen, 1)
    V[seen == 0] = V[seen > 0].mean()  # leaves the mean power, and thus the default eps, as it is
    weights = seen / len(x) if power else 1.0
    filled = np.where(gaps, np.sqrt(V), x)
    return filled, weights * (1.0 if mask is None else mask), int(gaps.sum()) if missing else 0
