"""Which eps finds two tones in one realisation? Prints a table for docs/measurements/starts.md.

Recordings of 3 s at 5000 Hz, frames of 40 ms: two notes with four harmonics and noise. Each note
has its own course of loudness: one fades out, the other swells twice. For each eps, relative to the
mean power: the smaller correlation between a true course and the H that is nearest to it, for every
recording; and the share of V below eps.

usage: TLNMF_LIBRARY=build PYTHONPATH=python python3 bench/eps_tones.py RECORDINGS FIRST [SHIFTS]
    SHIFTS: frames displaced by the hop / SHIFTS serve as realisations (1: one realisation)
"""
import sys

import numpy as np

import tlnmf

RATE, M, HOP = 5000, 200, 100
SHARES = (0.0005, 0.01, 0.1, 0.3, 0.76, 2.0)


def recording(seed):
    """The signal and the courses of its notes, (2, samples)."""
    rng = np.random.default_rng(seed)
    t = np.arange(3 * RATE) / RATE
    notes = rng.choice(np.arange(57, 81), 2, replace=False)
    course = np.array([np.exp(-t / rng.uniform(0.5, 2)), np.sin(np.pi * t / 1.5) ** 2])
    y = 0.03 * rng.standard_normal(t.size)
    for note, loudness in zip(notes, course):
        frequency = 440 * 2 ** ((note - 69) / 12)
        for h in range(1, 5):
            y += loudness * np.sin(2 * np.pi * (h * frequency * t + rng.random())) / h
    return y, course


def frames(y):
    window = np.sin(np.pi * (np.arange(M) + 0.5) / M)
    return window[:, None] * np.lib.stride_tricks.sliding_window_view(y, M)[::HOP].T


def nearest(H, course):
    """The smaller of the correlations of the two courses with their rows of H."""
    truth = np.array([frames(c**2).mean(0) for c in course])[:, : H.shape[1]]
    r = np.corrcoef(np.vstack([truth, H]))[:2, 2:]
    return max(min(r[0, 0], r[1, 1]), min(r[0, 1], r[1, 0]))


def main():
    count, first = int(sys.argv[1]), int(sys.argv[2])
    shifts = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    print("| eps / mean power | V below eps | correlation, each recording | median |\n|---|---|---|---|")
    for share in SHARES:
        found, below = [], []
        for seed in range(first, first + count):
            y, course = recording(seed)
            Y = np.stack([frames(y[s * HOP // shifts :][: y.size - HOP]) for s in range(shifts)])
            model = tlnmf.fit(Y, 2, method="tl", eps_rel=share, starts=4, seed=seed)
            found.append(nearest(np.asarray(model.H), course))
            below.append(model["below_floor"])
        each = ", ".join(f"{r:.2f}" for r in found)
        print(f"| {share} | {100 * np.mean(below):.0f} % | {each} | {np.median(found):.2f} |", flush=True)


if __name__ == "__main__":
    main()
