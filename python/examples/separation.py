"""Separates two overlapping tones with labels, and scores them against the true sources.

usage: separation.py [FOLDER]       a picture goes to FOLDER
"""
import sys
from pathlib import Path

import numpy as np

import tlnmf

rate = 8000
t = np.arange(2 * rate) / rate
tone = lambda f: sum(np.sin(2 * np.pi * f * h * t) / h for h in (1, 2, 3))
piano, flute = tone(330.0) * (t < 1.4), tone(523.25) * (t > 0.7)
labels = [(0.0, 1.4, "piano"), (0.7, 2.0, "flute")]

stems = tlnmf.separate(
    piano + flute, rate, labels, frame=320, method="nmf", transform="dct", window="sine", per_source=1
)
print(stems)
scores = tlnmf.bss_eval([piano, flute], [stems["piano"], stems["flute"]], filter=32)
for name, sdr in zip(stems, scores["sdr"][:, -1]):
    print(f"{name}: SDR {sdr:.1f} dB")
assert scores["mean_sdr"] > 10

try:
    import matplotlib.pyplot as plt
except ImportError:
    sys.exit()
figure, axes = plt.subplots(3, 1, figsize=(8, 5), sharex=True, sharey=True, constrained_layout=True)
for ax, name, y in zip(axes, ("mixture", *stems), (piano + flute, *stems.values())):
    ax.plot(t, y.ravel(), linewidth=0.5)
    ax.set(ylabel=name)
    for begin, end, source in labels:
        if name == source:
            ax.axvspan(begin, end, alpha=0.15)
axes[-1].set(xlabel="time, s")
plt.savefig(Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "separation.png")
