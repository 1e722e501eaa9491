"""The report page of a model: one HTML file, or shown inside a notebook."""
from __future__ import annotations

import html
import os
import tempfile
from typing import Any, Dict, Optional, Union

from ._call import Call
from ._library import io, plain
from ._options import documented
from ._record import Record, record_of


class Page:
    """A report page. A notebook shows it; `html` is its text, `path` the file, if there is one."""

    def __init__(self, text: str, path: Optional[str]):
        self.html = text
        self.path = path

    def __repr__(self) -> str:
        return f"<Page: {self.path or 'in memory'}, {len(self.html)} characters>"

    def _repr_html_(self) -> str:
        # A separate page: its script and style do not interfere with the notebook.
        return (
            f'<iframe srcdoc="{html.escape(self.html, quote=True)}" width="100%" height="720" '
            'sandbox="allow-scripts allow-downloads" title="Report of a tlnmf model" '
            'style="border: 1px solid #8995a1"></iframe>'
        )


@documented("report")
def report(
    model: Any,
    path: Union[None, str, "os.PathLike[str]"] = None,
    V: Any = None,
    *,
    title: Optional[str] = None,
    **options: Any,
) -> Page:
    """Writes the report page of a model: one HTML file that opens without a network.

    Parameters
    ----------
    model : Model or fitted estimator
    path : path, optional
        The file; an existing one is replaced. If None, the page is only returned, which a notebook
        shows.
    V : array (M, N), optional
        The power of the coefficients, shown next to W H: `tlnmf.apply(model, Y, keep_v=True).V`.
    title : str, optional
        The heading. By default it says what was fitted, such as "TL-NMF with 3 components".
    {options}

    Returns
    -------
    Page

    Examples
    --------
    >>> import tlnmf
    >>> model = tlnmf.fit(tlnmf.simulate.gcm(s=5, m=6, n=20, kbar=2).Y, k=2)
    >>> "2 components" in tlnmf.report(model).html
    True
    """
    record, call = record_of(model), Call()
    settings = call.settings("report", options, "report")
    about: Dict[str, Any] = {}
    if title:
        about["title"] = title
    if V is not None:
        about["V"] = V
    known = Record.of(about)
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "page.html") if path is None else os.fspath(path)
        arguments = (record._handle.pointer, known._handle.pointer, settings.pointer)
        call.check(io().tlnmf_io_write_report(call.ctx, plain(os.fsencode(target)), *arguments))
        with open(target, encoding="utf-8") as file:
            return Page(file.read(), None if path is None else target)
