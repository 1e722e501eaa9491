"""The paper's data sets: the Gaussian composite model and two notes of music."""
from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import address, as_real
from ._call import Call
from ._library import core
from ._options import documented
from ._record import Record


@documented("gcm")
def gcm(**options: Any) -> Record:
    """Gaussian composite model: Y = Phi' (randn * sqrt(W H)), Phi the DCT-II.

    Parameters
    ----------
    {options}

    Returns
    -------
    Record
        Y (S, M, N) and the truth: Phi (M, M), W (M, K), H (K, N).

    Examples
    --------
    >>> gcm(s=3).Y.shape
    (3, 10, 50)
    """
    call = Call()
    settings = call.settings("gcm", options, "gcm")
    return Record(call.make(core.tlnmf_simulate_gcm, settings))


def notes(S: int = 1, *, seed: int = 1, stream: str = "own", theta: Any = None) -> Record:
    """Two notes, 440 and 466.16 Hz, alone and together, for 3 s at 5000 Hz.

    Parameters
    ----------
    S : int
        Number of realisations.
    seed : int
        Seed of the phases, which are uniform in [0, 2 pi).
    stream : {"own", "numpy"}
        Random number generator: the library's own, or that of numpy's RandomState.
    theta : array (S, 2), optional
        The phases, instead of random ones.

    Returns
    -------
    Record
        Y (S, 200, 151), signal (S, 15000), rate.

    Examples
    --------
    >>> notes(2, seed=7).Y.shape
    (2, 200, 151)
    """
    call = Call()
    if theta is not None:
        phases = as_real(theta, "theta", (2,))
        if phases.shape[1] != 2:
            raise ValueError(f"theta has the shape {phases.shape}; it must be (S, 2)")
    else:
        if stream not in ("own", "numpy"):
            raise ValueError(f"stream is {stream!r}; it must be 'own' or 'numpy'")
        if S < 1:
            raise ValueError(f"S = {S} must be at least 1")
        phases = np.empty((S, 2))
        kind = int(stream == "numpy")
        call.check(core.tlnmf_random_phases(call.ctx, seed, kind, phases.size, address(phases)))
    return Record(call.make(core.tlnmf_simulate_notes, phases, len(phases)))
