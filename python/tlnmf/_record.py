"""Records of the library as mappings of names to numbers, texts, lists of texts and arrays."""
from __future__ import annotations

import ctypes as c
from typing import Any, Dict, Iterator, List, Mapping, Tuple, Type, TypeVar

import numpy as np

from ._arrays import address, as_real, int64, shape_of, view
from ._base import not_fitted
from ._call import Call, Handle
from ._library import core, names, plain

_MAX_RANK = 4
R = TypeVar("R", bound="Record")


class Record(Mapping[str, Any]):
    """A set of named values, as a mapping. Names without a dot are also attributes.

    Arrays are read-only views of the library's memory: no copy is made, and the memory lives as
    long as a view does. Records can be pickled. `tlnmf.results()` explains the names.

    Examples
    --------
    >>> r = Record.of({"eps": 0.5, "Phi": [[1.0, 0.0], [0.0, 1.0]], "names": ["a", "b"]})
    >>> r["eps"], r.Phi.shape, r["names"], sorted(r)
    (0.5, (2, 2), ['a', 'b'], ['Phi', 'eps', 'names'])
    >>> import pickle
    >>> pickle.loads(pickle.dumps(r))["names"]
    ['a', 'b']
    """

    _handle: Handle

    def __init__(self, handle: Handle):
        self._handle = handle

    @classmethod
    def of(cls: Type[R], values: Mapping[str, Any]) -> R:
        """A record with these values: numbers, texts, lists of texts, arrays."""
        record = cls(Call().make(core.tlnmf_record_create))
        set_values(record, values)
        return record

    @classmethod
    def unpack(cls: Type[R], packed: bytes) -> R:
        """Converts the bytes of `pack` back to a record."""
        return cls(Call().make(core.tlnmf_record_unpack, packed, len(packed)))

    def pack(self) -> bytes:
        """Converts the record to bytes, which are the same on every machine and have a checksum."""
        call, size = Call(), c.c_size_t(0)
        call.check(core.tlnmf_record_pack(call.ctx, self._handle.pointer, None, c.byref(size)))
        packed = c.create_string_buffer(size.value)
        call.check(core.tlnmf_record_pack(call.ctx, self._handle.pointer, packed, c.byref(size)))
        return packed.raw[: size.value]

    def __getitem__(self, name: str) -> Any:
        record, key = self._handle.pointer, str(name).encode()
        kind = core.tlnmf_record_type(record, key)
        if kind == 1:
            return core.tlnmf_record_get_integer(record, key)
        if kind == 2:
            return core.tlnmf_record_get_real(record, key)
        if kind == 3:
            return core.tlnmf_record_get_text(record, key).decode(errors="replace")
        if kind == 4:
            return names(core.tlnmf_record_get_text_at, record, key)
        if kind == 5:
            rank, shape = c.c_int32(0), (c.c_int64 * _MAX_RANK)()
            pointer = core.tlnmf_record_get_array(record, key, c.byref(rank), shape)
            return view(self._handle, pointer, tuple(shape[: rank.value]))
        raise KeyError(name)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            try:
                return self[name]
            except KeyError:
                pass
        raise AttributeError(f"{type(self).__name__} has no {name!r}")

    def __iter__(self) -> Iterator[str]:
        return iter(names(core.tlnmf_record_name, self._handle.pointer))

    def __len__(self) -> int:
        return int(core.tlnmf_record_count(self._handle.pointer))

    def __contains__(self, name: object) -> bool:
        return bool(core.tlnmf_record_type(self._handle.pointer, str(name).encode()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self.pack() == other.pack()

    __hash__ = None  # type: ignore[assignment]

    def __dir__(self) -> List[str]:
        return sorted(set(object.__dir__(self)) | {n for n in self if n.isidentifier()})

    def _ipython_key_completions_(self) -> List[str]:
        return list(self)

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self).unpack, (self.pack(),)

    def scalars(self) -> Dict[str, Any]:
        """The numbers and texts as a dictionary, such as a row of a data frame.

        Values of options, which records hold as texts, are numbers where possible, and NaN if the
        option was not set. The summary that the program stores in a model is omitted.

        Examples
        --------
        >>> Record.of({"C": 0.5, "Phi": [[1.0]], "outcome": "time", "option.k": "3"}).scalars()
        {'C': 0.5, 'outcome': 'time', 'option.k': 3}
        """
        single = (1, 2, 3)  # integer, real, text
        return {
            name: _number(self[name]) if name.startswith("option.") else self[name]
            for name in self
            if core.tlnmf_record_type(self._handle.pointer, name.encode()) in single
            and name != "summary"
        }

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(self)}>"


def _number(value: Any) -> Any:
    """The number that a text stands for, NaN for an empty text, or the value itself."""
    if value == "":
        return np.nan
    for kind in (int, float) if isinstance(value, str) else ():
        try:
            return kind(value)
        except ValueError:
            pass
    return value


def _set(call: Call, record: Any, name: str, value: Any) -> None:
    key = plain(name.encode())
    if isinstance(value, str):
        call.check(core.tlnmf_record_set_text(call.ctx, record, key, plain(value.encode())))
    elif isinstance(value, (bool, int, np.integer)):
        call.check(core.tlnmf_record_set_integer(call.ctx, record, key, int64(value, name)))
    elif isinstance(value, (float, np.floating)):
        call.check(core.tlnmf_record_set_real(call.ctx, record, key, float(value)))
    elif isinstance(value, (list, tuple)) and value and all(isinstance(v, str) for v in value):
        texts = (c.c_char_p * len(value))(*[plain(v.encode()) for v in value])
        call.check(core.tlnmf_record_set_texts(call.ctx, record, key, texts, len(value)))
    else:
        x = as_real(value, name, range(1, _MAX_RANK + 1))
        shape = shape_of(x.shape)
        call.check(core.tlnmf_record_set_array(call.ctx, record, key, address(x), x.ndim, shape))


def set_values(record: Record, values: Mapping[str, Any]) -> None:
    """Adds values to a new record."""
    call = Call()
    for name, value in values.items():
        _set(call, record._handle.pointer, name, value)


def record_of(model: Any, advice: str = "") -> Record:
    """Returns a record unchanged, or the model of a fitted estimator. `advice` ends the message for
    anything else."""
    record = getattr(model, "model_", model)
    if isinstance(record, Record):
        return record
    if hasattr(model, "get_params"):
        raise not_fitted(model)
    raise TypeError(f"expected a model or a fitted estimator, not a {type(model).__name__}{advice}")


def results() -> Dict[str, str]:
    """The names that the library uses in records, with their meanings.

    Examples
    --------
    >>> results()["Phi"].startswith("the orthogonal transform")
    True
    """
    count = core.tlnmf_result_count()
    return {
        core.tlnmf_result_name(i).decode(): core.tlnmf_result_help(i).decode() for i in range(count)
    }
