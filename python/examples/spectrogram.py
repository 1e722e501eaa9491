"""Decomposes a spectrogram like librosa.decompose, with ISNMF as its transformer.

Without librosa the same calls are made on the estimator by hand.

usage: spectrogram.py [FOLDER]       a picture goes to FOLDER
"""
import sys
from pathlib import Path

import numpy as np

import tlnmf

rate, frame, hop = 8000, 512, 256
t = np.arange(3 * rate) / rate
notes = {262: (0.0, 2.0), 392: (1.0, 3.0)}  # Hz: from, to in s
fades = {f: np.clip(np.minimum(t - a, b - t) / 0.2, 0, 1) for f, (a, b) in notes.items()}
y = sum(fades[f] * np.sin(2 * np.pi * f * t) for f in notes) + 1e-2 * np.random.RandomState(0).randn(t.size)
frames = np.lib.stride_tricks.sliding_window_view(y, frame)[::hop]
S = np.abs(np.fft.rfft(frames * np.hanning(frame), axis=1).T) ** 2  # frequencies x frames

transformer = tlnmf.ISNMF(3, random_state=0, starts=4)
try:
    from librosa.decompose import decompose
except ImportError:
    activations = transformer.fit_transform(S.T).T
    components = transformer.components_.T
else:
    components, activations = decompose(S, transformer=transformer, sort=True)

# one component for each note, one for the noise
peaks = components.max(axis=0) / components.sum(axis=0)
found = np.sort(components.argmax(axis=0)[np.argsort(peaks)[-2:]] * rate / frame)
print("components at", ", ".join(f"{f:.0f} Hz" for f in found))
assert np.all(np.abs(found - sorted(notes)) <= rate / frame)

try:
    import matplotlib.pyplot as plt
except ImportError:
    sys.exit()
figure, axes = plt.subplots(3, 1, figsize=(8, 7), sharex=True, constrained_layout=True)
extent = (0, t[-1], 0, rate / 2)
for ax, power, name in ((axes[0], S, "data"), (axes[1], components @ activations, "model")):
    ax.imshow(10 * np.log10(power + 1e-6), origin="lower", aspect="auto", extent=extent, vmin=-20, vmax=50)
    ax.set(ylabel="frequency, Hz", title=name, ylim=(0, 1000))
axes[2].plot(np.linspace(0, t[-1], S.shape[1]), activations.T)
axes[2].set(xlabel="time, s", ylabel="activation")
plt.savefig(Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "spectrogram.png")
