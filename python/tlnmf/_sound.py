"""Recordings: separation into stems, and scores of stems against the true sources."""
from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, Mapping, Optional, Tuple

import numpy as np

from ._arrays import Real, address, as_real, shape_of
from ._call import Call, Callback, Handle
from ._library import core, plain
from ._model import Model
from ._options import documented, options as table
from ._progress import Progress
from ._record import Record

Label = Tuple[float, float, str]


class Separation(Mapping[str, Real]):
    """Stems by name, each of the shape of the recording; together they sum to it.

    `model` is the learnt model, `report` the report of the separation, `score` the SI-SDR in dB on
    remixed parts of the recording, and `quality` a description of the score.
    """

    def __init__(self, stems: Dict[str, Real], model: Model, report: Record):
        self._stems = stems
        self.model = model
        self.report = report

    @property
    def score(self) -> float:
        """SI-SDR in dB on remixed parts; NaN if no parts could be remixed."""
        return float(self.model["score"])

    @property
    def quality(self) -> str:
        """Describes the score."""
        if not np.isfinite(self.score):
            return "unknown: the recording has no passages of two different sources to remix"
        # 10 dB: other sources have a tenth of the power; 0 dB: the same power as the source
        word = "good" if self.score >= 10 else "fair" if self.score >= 5 else "poor"
        return f"{word}: {self.score:.1f} dB SI-SDR on {self.model['remixes']} remixes"

    def __getitem__(self, name: str) -> Real:
        return self._stems[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._stems)

    def __len__(self) -> int:
        return len(self._stems)

    def __repr__(self) -> str:
        return f"<Separation: {', '.join(self)}; {self.quality}>"


def _split(options: Mapping[str, Any]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """Divides options into those of learning and of separating; common options go to both."""
    of_stems = {o.python for o in table("separate")}
    of_learning = {o.python for o in table("learn")}
    stems = {n: v for n, v in options.items() if n in of_stems}
    learning = {n: v for n, v in options.items() if n in of_learning or n not in of_stems}
    return learning, stems


def _sound(call: Call, x: Real, rate: float, labels: Iterable[Label]) -> Handle:
    length, channels = x.shape
    if channels > 256:
        raise ValueError(f"y has the shape {x.shape}: samples are rows, channels are columns")
    arguments = (x, length, channels, float(rate))
    sound = call.make(core.tlnmf_sound_from_array, *arguments, free=core.tlnmf_sound_free)
    sound.keep = x
    for begin, end, name in labels:
        call.check(
            core.tlnmf_sound_add_label(call.ctx, sound.pointer, plain(name.encode()), begin, end)
        )
    return sound


@documented("learn", "separate")
def separate(
    y: Any,
    sr: float,
    labels: Optional[Iterable[Label]] = None,
    *,
    model: Optional[Record] = None,
    callback: Optional[Callback] = None,
    progress: bool = False,
    **options: Any,
) -> Separation:
    """Separates a recording into its sources.

    Parameters
    ----------
    y : array (samples,) or (samples, channels)
    sr : float
        Samples per second.
    labels : list of (begin, end, name), optional
        The source `name` sounds from begin to end, in seconds. Without labels, `k` is the number
        of sources to find.
    model : Model, optional
        A model that was learnt before.
    callback, progress
        As for `fit`.
    {options}

    Returns
    -------
    Separation
        A mapping from names to stems of the shape of y; with `model`, `score`, `quality`.
    """
    x = as_real(y, "y", (1, 2))
    flat, call = x.reshape(len(x), -1) if x.size else x.reshape(0, 1), Call()
    learning, taking = _split(options)
    settings = call.settings("learn", learning, "separate")
    stems_settings = call.settings("separate", taking, "separate")
    sound = _sound(call, flat, sr, labels or ())
    with Progress(progress, callback) as report:
        if model is None:
            arguments = (sound, settings)
            model = Model(call.solve(core.tlnmf_learn_sources, *arguments, callback=report))
        of = (model, sound, stems_settings)
        plan = Record(call.make(core.tlnmf_separate_plan, *of))
        stems = np.empty((plan["stems"],) + x.shape)
        work = core.tlnmf_separate_array
        handle = call.solve(work, *of, stems, callback=report)
    found = dict(zip(plan["names"], stems))
    return Separation(found, Model(model._handle), Record(handle))


@documented("score")
def bss_eval(reference: Any, estimate: Any, **options: Any) -> Record:
    """SDR, SIR, SAR of BSS Eval 3 and SI-SDR of estimates against the true sources, in dB.

    Parameters
    ----------
    reference, estimate : array (sources, samples) or (sources, samples, channels)
    {options}

    Returns
    -------
    Record
        sdr, sir, sar, si_sdr (sources, channels + 1), the last column for all channels together;
        match (sources,); state (sources, channels + 1); mean_sdr, mean_sir, mean_sar, mean_si_sdr,
        of `scored` sources: those without a silent reference or estimate.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.random.RandomState(0).randn(2, 4000)
    >>> scores = bss_eval(t, t + 0.01 * t[::-1], filter=1)
    >>> bool((scores.sdr > 35).all())
    True
    """
    a, b = as_real(reference, "reference", (2, 3)), as_real(estimate, "estimate", (2, 3))
    if a.shape != b.shape:
        raise ValueError(f"reference has the shape {a.shape}, estimate {b.shape}")
    shape = a.shape if a.ndim == 3 else a.shape + (1,)
    call = Call()
    settings = call.settings("score", options, "bss_eval")
    return Record(
        call.solve(core.tlnmf_score, a, b, shape_of(shape), settings)
    )
