"""Whitened joint diagonalisation as independent component analysis, compared with FastICA.

usage: joint.py [FOLDER]       a picture goes to FOLDER
"""
import sys
from pathlib import Path

import numpy as np

import tlnmf

rng = np.random.RandomState(0)
channels, blocks, length = 5, 40, 200
power = rng.gamma(0.5, size=(blocks, channels, 1)) + 0.01  # sources whose power changes
sources = np.sqrt(power) * rng.randn(blocks, channels, length)
A = rng.randn(channels, channels)
signals = A @ sources
covariances = signals @ signals.transpose(0, 2, 1) / length

model = tlnmf.JointDiagonalizer().fit(covariances)


def interference(G):
    """Power of the other sources in each estimate, in dB."""
    P = np.sort(G**2 * sources.var(axis=(0, 2)), axis=1)
    return 10 * np.log10(np.mean(P[:, :-1].sum(axis=1) / P[:, -1]))


mine = interference(model.filters_ @ A)
print(f"joint diagonalisation: {mine:.1f} dB of interference, {model.n_iter_} iterations")
assert mine < -20
gains = {"joint diagonalisation": model.filters_ @ A}
try:
    from sklearn.decomposition import FastICA
except ImportError:
    print("scikit-learn is not installed: no comparison with FastICA")
else:
    flat = signals.transpose(1, 0, 2).reshape(channels, -1)
    ica = FastICA(whiten="unit-variance", random_state=0, max_iter=1000).fit(flat.T)
    gains["FastICA"] = ica.components_ @ A
    print(f"FastICA: {interference(gains['FastICA']):.1f} dB")

try:
    import matplotlib.pyplot as plt
except ImportError:
    sys.exit()
figure, axes = plt.subplots(1, len(gains), figsize=(8, 4), squeeze=False, constrained_layout=True)
for ax, (name, G) in zip(axes[0], gains.items()):
    power = G**2 * sources.var(axis=(0, 2))
    power = power[np.argsort(power.argmax(axis=1))]  # an estimate of source 1 first
    level = 10 * np.log10(power / power.max(axis=1, keepdims=True))
    image = ax.imshow(level, vmin=-50, vmax=0)
    ax.set(title=name, xlabel="source", ylabel="estimate")
figure.colorbar(image, ax=axes[0], label="power, dB")
plt.savefig(Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "joint.png")
