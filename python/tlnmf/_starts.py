"""The start of a fit and the options that it gives: Phi, W, H, eps, method, k."""
from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import numpy as np

from ._arrays import as_real
from ._data import POWER_DOF, Data, start_of
from ._errors import warn
from ._record import Record

POWER_FLOOR = 1e-6  # of the mean of V; docs/measurements/constants.md says why


def resolve(
    k: Any, start: Any, options: Dict[str, Any], Y: Any, reading: Dict[str, Any], several: bool
) -> Tuple[Any, Optional[Record], Dict[str, Any]]:
    """k, start and options of a fit of data or powers, or of fits of several k. Sets input and dof of
    `reading`, the options of Data, to those of a model of powers, unless they are given."""
    options, start = fixed_transform(options, start)
    given = start_of(start)
    k, options = inherit(given, k, options)
    reading.update(powers_of(given, Y, reading["input"], reading["dof"]))
    power = bool(Y.dof) if isinstance(Y, Data) else reading["input"] == "power"
    if given is not None and given.get("given.input") == "power" and not power:
        raise TypeError(
            'the start was fitted to powers: pass Y with input="power", or '
            'start={"W": start.W, "H": start.H} to use only its arrays'
        )
    if several:
        given = only_Phi(given)
    return k, given, of_power(options, given) if power else options


def powers_of(model: Optional[Record], Y: Any, input: str, dof: Optional[int]) -> Dict[str, Any]:
    """input and dof for an array Y: those of a model of powers, unless they are given."""
    if model is None or Y is None or isinstance(Y, Data):
        return {"input": input, "dof": dof}
    if input == "auto" and model.get("given.input") == "power":
        input = "power"
    if input == "power" and dof is None:
        dof = int(model.get("given.dof") or POWER_DOF)
    return {"input": input, "dof": dof}


def fixed_transform(options: Dict[str, Any], start: Any) -> Tuple[Dict[str, Any], Any]:
    """Moves a matrix given as the option `transform` into the start."""
    matrix = options.get("transform")
    if matrix is None or isinstance(matrix, str):
        return options, start
    if start is not None and "Phi" in start_of(start):  # type: ignore[operator]
        raise TypeError("transform and start both give Phi")
    rest = {name: value for name, value in options.items() if name != "transform"}
    Phi = as_real(matrix, "transform", (2,))
    return rest, {**(start or {}), "Phi": Phi}


def of_power(options: Dict[str, Any], start: Optional[Record]) -> Dict[str, Any]:
    """The options of a fit of V itself."""
    Phi = None if start is None else start.get("Phi")
    if Phi is not None and not np.array_equal(Phi, np.eye(len(Phi))):
        raise TypeError('input="power" keeps the identity; the start has another Phi')
    for name, word in (("method", "nmf"), ("transform", "identity")):
        if options.get(name) not in (None, word):
            raise TypeError(f'input="power" requires {name}={word!r}')
    usual = {"eps_rel": POWER_FLOOR} if options.get("eps_rel") is None else {}
    return {**options, "method": "nmf", "transform": "identity", **usual}


def inherit(start: Optional[Record], k: Any, options: Dict[str, Any]) -> Tuple[Any, Dict[str, Any]]:
    """k, eps and method of a model that a fit starts from, unless they are given."""
    if start is None:
        return k, options
    found: Dict[str, Any] = {}
    if "W" in start and "method" in start:
        found["method"] = start["method"]
    if options.get("eps_rel") is None and start.get("eps", 0.0) > 0.0:
        found["eps"] = start["eps"]
    given = {name: value for name, value in options.items() if value is not None}
    if k is None and "W" in start:
        k = int(start["W"].shape[1])
    return k, {**found, **given}


def fitting(start: Optional[Record], k: Any, N: int) -> Optional[Record]:
    """A model without W and H of another k, or H of another number of frames, as with `--init`.
    Such arrays that the caller passes are refused later."""
    if start is None or "method" not in start or "W" not in start or "Phi" not in start:
        return start
    W, H = start["W"], start.get("H")
    if W.shape[1] != k:
        warn(f"W and H of the start are not used: its k is {W.shape[1]}, not {k}", UserWarning)
        return Record.of({"Phi": start["Phi"]})
    if H is not None and H.shape[1] != N:
        words = f"it has {H.shape[1]} frames, the data have {N}"
        warn(f"H of the start is not used: {words}", UserWarning)
        return Record.of({"Phi": start["Phi"], "W": W})
    return start


def only_Phi(start: Optional[Record]) -> Optional[Record]:
    """The part of a model that fits of any k can start from. Arrays W and H are refused later."""
    if start is None or "method" not in start or "Phi" not in start:
        return start
    return Record.of({"Phi": start["Phi"]})
