"""Finds libtlnmf and libtlnmf_io, loads them, and declares the functions of their headers."""
from __future__ import annotations

import ctypes as c
import os
import re
from pathlib import Path
from typing import Any, Dict, List, Optional

HANDLE = c.c_void_p
INTEGERS = c.POINTER(c.c_int64)
PROGRESS = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p)
LOG = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)

def plain(text: bytes) -> bytes:
    """Returns the text; raises ValueError if it has a NUL, at which C would cut it off."""
    if b"\0" in text:
        raise ValueError(f"{text.decode(errors='replace')!r} contains a NUL character")
    return text


# One letter per type: p a handle or pointer, P a handle that is written, s text, z size_t, q int64,
# Q uint64, d double, i enum or int32, I int64 array, D address of doubles, v nothing.
_TYPES: Dict[str, Any] = {
    "p": HANDLE, "P": c.POINTER(HANDLE), "s": c.c_char_p, "z": c.c_size_t, "q": c.c_int64,
    "Q": c.c_uint64, "d": c.c_double, "i": c.c_int, "I": INTEGERS, "D": c.c_void_p, "v": None,
}  # fmt: skip

# Name, return type, parameters: as in tlnmf/tlnmf.h, sound.h and paper.h.
_CORE = """
version s -; blas s -; error_name s i; outcome_name s i; ctx_create i P; ctx_free v p
ctx_set_log v ppp; ctx_set_progress v ppp; ctx_set_threads i pi; message s p; record_create i pP
record_free v p; record_count z p; record_name s pz; record_type i ps; record_get_integer q ps
record_get_real d ps; record_get_text s ps; record_get_text_at s psz; record_get_array D psDI
record_set_integer i ppsq; record_set_real i ppsd; record_set_text i ppss
record_set_texts i ppspz; record_set_array i ppsDiI; record_pack i ppDp; record_unpack i pDzP
result_count z -; result_name s z; result_type i z; result_shape s z; result_where s z
result_help s z; settings_create i psP; settings_free v p; settings_set_text i ppss
settings_check i pp; settings_get_text s psDz; task_name s z; option_name s sz
option_kind_of i ss; option_help s ss; option_choices s ss; option_default s ssDz
option_range i ssDD; nearest s spz; data_from_realisations i pDIP; data_from_covariances i pDIP
data_from_neighbours i pDIiqP; data_set_weights i ppD; data_record p p
data_from_incomplete i pDIP; data_set_mask i ppD; data_set_realisations i ppDI; data_set_dof i ppq
fill_missing_powers i pDIDI; compare_ranks i pppIpP; data_free v p; fit i ppppP; diagonalise i ppppP; apply i ppppP
likelihood i ppppP; applier_create i pppP; applier_frame i ppDDD; applier_free v p
evaluate i pppP; draw_start i pppqP; memory i pppD; usual_starts q ppp; transform_matrix i psqD; atoms i ppdqP
sound_from_array i pDqqdP; sound_add_label i ppsdd; sound_free v p; learn_sources i pppP
separate_plan i ppppP; separate_array i ppppDP; activations i ppppP; score i pDDIpP
simulate_gcm i ppP; simulate_notes i pDqP; random_phases i pQiqD; transform_distance i pqDDD
principal_angles i pqqDDD
"""
_IO = """
io_read_array i psP; io_write_model i psp; io_read_model i psP; io_read_labels i psP
io_write_report i psppp; io_cores i -
"""


class LibraryMissing(ImportError):
    """libtlnmf, libtlnmf_io or a library that they need could not be loaded."""


def _folders() -> List[Path]:
    """Folders to search for the libraries: TLNMF_LIBRARY, or `_lib` in this package."""
    named = os.environ.get("TLNMF_LIBRARY")
    if named:
        path = Path(named)
        return [path if path.is_dir() else path.parent]
    return [Path(__file__).parent / "_lib"]


def _abi() -> str:
    """The number in the names of the libraries: a wheel carries it, a source tree has the header."""
    carried = Path(__file__).parent / "ABI"
    if carried.exists():
        return carried.read_text().strip()
    header = Path(__file__).resolve().parents[2] / "include" / "tlnmf" / "tlnmf.h"
    return str(re.findall(r"define TLNMF_ABI +(\d+)", header.read_text())[0])


def _load_bundled(library: Path) -> None:
    """Loads the dependencies that a wheel may carry with a library, each after its own."""
    order = library.with_name(f"{library.name}.order")
    if order.exists():
        for name in order.read_text().split():
            c.CDLL(str(library.with_name(name)))


def _open(name: str) -> Any:
    file = f"lib{name}.so"
    soname = f"{file}.{_abi()}"
    wrong = []
    for folder in _folders():
        for path in (folder / soname, folder / file):
            if path.exists():
                try:
                    _load_bundled(path)
                    return c.CDLL(str(path))
                except OSError as error:
                    wrong.append(str(error))
    if not os.environ.get("TLNMF_LIBRARY"):
        try:
            return c.CDLL(soname)
        except OSError as error:
            wrong.append(str(error))
    raise LibraryMissing(
        f"cannot load {file}: {'; '.join(wrong) or 'not found'}. Install the library "
        "(./run install), or set TLNMF_LIBRARY to the folder that contains it."
    )


def _declare(library: Any, table: str) -> None:
    for row in table.replace("\n", ";").split(";"):
        if row.strip():
            name, returns, parameters = row.split()
            try:
                function = getattr(library, "tlnmf_" + name)
            except AttributeError:
                raise LibraryMissing(
                    f"{library._name} is older than this package: it lacks tlnmf_{name}. "
                    "Install the same version of both."
                ) from None
            function.restype = _TYPES[returns]
            function.argtypes = [_TYPES[p] for p in parameters.replace("-", "")]


core: Any = _open("tlnmf")
_declare(core, _CORE)

# A native progress function that stops a run when an int32 is not 0. It runs no Python code, so a
# fit without callback never waits for the interpreter.
stop_flag = c.cast(core.tlnmf_stop_flag, c.c_void_p)

_io: Optional[Any] = None


def io() -> Any:
    """Returns libtlnmf_io, which is loaded on first use because it brings HDF5 with it."""
    global _io
    if _io is None:
        _io = _open("tlnmf_io")
        _declare(_io, _IO)
    return _io


def names(function: Any, *of: Any) -> List[str]:
    """Collects the texts of a table that is read by index, up to the end."""
    found: List[str] = []
    while True:
        text = function(*of, len(found))
        if text is None:
            return found
        found.append(text.decode())


