"""Simulated EEG of MNE: joint diagonalisation of covariances, compared with the ICA of MNE.

Three rhythms and eye blinks at 19 electrodes. Their power changes from second to second, which is all
that joint diagonalisation needs. The blinks are then removed, as with `ICA.apply`.

usage: eeg.py [FOLDER]       a picture goes to FOLDER
"""
import sys
from pathlib import Path

import mne
import numpy as np

import tlnmf

mne.set_log_level("error")
rng = np.random.RandomState(0)
rate, seconds = 100, 60
channels = "Fp1 Fp2 F7 F3 Fz F4 F8 T7 C3 Cz C4 T8 P7 P3 Pz P4 P8 O1 O2".split()
names = ["blinks", "alpha left", "alpha right", "beta"]

# the field of four dipoles in a sphere at the electrodes
info = mne.create_info(channels, rate, "eeg")
info.set_montage("standard_1020")
places = np.array([[0, 70, 35], [-30, -60, 50], [25, -65, 45], [40, 5, 70]]) * 1e-3  # m
outwards = places / np.linalg.norm(places, axis=1, keepdims=True)
sphere = mne.make_sphere_model("auto", "auto", info)
dipoles = mne.setup_volume_source_space(pos={"rr": places, "nn": outwards})
forward = mne.make_forward_solution(info, None, dipoles, sphere, meg=False, eeg=True)
fields = mne.convert_forward_solution(forward, force_fixed=True)["sol"]["data"]
fields /= np.linalg.norm(fields, axis=0)

# rhythms that swell and fade, blinks every few seconds, noise of the sensors: in volts
t = np.arange(rate * seconds) / rate
swell = np.repeat(rng.gamma(1.0, size=(3, seconds)), rate, axis=1)
rhythm = mne.filter.filter_data(rng.randn(2, t.size), rate, 8, 12)
beta = mne.filter.filter_data(rng.randn(1, t.size), rate, 16, 24)
blink = np.zeros(t.size)
for moment in np.cumsum(rng.uniform(2, 5, 20)):
    blink += 6 * np.exp(-0.5 * ((t - moment) / 0.1) ** 2)
sources = np.vstack([blink, swell[:2] * rhythm, swell[2] * beta])
clean = 2e-5 * fields[:, 1:] @ sources[1:] + 2e-7 * rng.randn(len(channels), t.size)
raw = mne.io.RawArray(clean + 2e-5 * np.outer(fields[:, 0], blink), info)

# covariances of every second, in microvolts squared
blocks = 1e6 * raw.get_data().reshape(len(channels), seconds, rate).transpose(1, 0, 2)
blocks -= blocks.mean(axis=2, keepdims=True)
model = tlnmf.JointDiagonalizer(random_state=0).fit(blocks @ blocks.transpose(0, 2, 1) / rate)
ica = mne.preprocessing.ICA(n_components=8, method="fastica", random_state=0).fit(raw)


def likeness(estimates):
    """The best estimate of each source: its number and its correlation."""
    found = np.abs(np.corrcoef(sources, estimates)[: len(sources), len(sources) :])
    return found.argmax(axis=1), found.max(axis=1)


mine, my_match = likeness(model.filters_ @ raw.get_data())
_, ica_match = likeness(ica.get_sources(raw).get_data())
for name, ours, theirs in zip(names, my_match, ica_match):
    print(f"{name:12} correlation {ours:.3f}; ICA of MNE {theirs:.3f}")
assert my_match.min() > 0.95

# remove the blinks, as ICA.apply(exclude=...) does
kept = np.delete(np.arange(len(channels)), mine[0])
without = model.patterns_[:, kept] @ model.filters_[kept] @ raw.get_data()
gone = 10 * np.log10(np.var(clean - without) / np.var(clean - raw.get_data()))
print(f"blinks: {gone:.1f} dB remain")
assert gone < -15

try:
    import matplotlib.pyplot as plt
except ImportError:
    sys.exit()
figure, axes = plt.subplots(2, len(names), figsize=(10, 5))
for i, name in enumerate(names):
    for row, field in enumerate((fields[:, i], model.patterns_[:, mine[i]])):
        sign = np.sign(field @ fields[:, i])
        mne.viz.plot_topomap(sign * field, info, axes=axes[row, i], show=False)
    axes[0, i].set_title(name)
axes[0, 0].set_ylabel("simulated")
axes[1, 0].set_ylabel("learnt")
plt.savefig(Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "eeg-patterns.png")
