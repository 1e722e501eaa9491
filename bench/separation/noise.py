#!/usr/bin/python3
"""A voice in noise or hum: how much the recipes of the tutorial gain.

    noise.py PROGRAM [--seeds 3]

The recordings are simulated: 8 s at 16 kHz, the noise alone for 1.5 s, then the voice in it at 3 dB. The voice has
syllables with moving formants and pitch, fricatives and pauses. The take is 3 s of the same voice without noise, saying
something else, before the recording. Prints the SI-SDR of the voice in the recording and in its stem, in dB: the mean
over the seeds. "words": a label for every word instead of one for the whole voice.
"""
import argparse
import os
import subprocess
import tempfile
import wave

import numpy as np

RATE, QUIET, SECONDS, TAKE, PAUSE = 16000, 1.5, 8.0, 3.0, 0.3
FORMANTS = np.array([[730, 1090, 2440], [270, 2290, 3010], [300, 870, 2240], [530, 1840, 2480], [570, 840, 2410]])


def shape(y, gain_of):
    """Filters y by a gain over frequency."""
    return np.fft.irfft(np.fft.rfft(y) * gain_of(np.fft.rfftfreq(y.size, 1 / RATE)), y.size)


def syllable(rng, pitch):
    t = np.arange(int(RATE * rng.uniform(0.14, 0.28))) / RATE
    begin, end = FORMANTS[rng.choice(len(FORMANTS), 2)]
    f0 = pitch * np.linspace(*rng.uniform(0.85, 1.2, 2), t.size)
    phase, y = 2 * np.pi * np.cumsum(f0) / RATE, np.zeros(t.size)
    at = begin + np.outer(t / t[-1], end - begin)
    for h in range(1, int(4000 / pitch)):
        level = sum(w / (1 + ((h * f0 - at[:, i]) / (60 + 40 * i)) ** 2) for i, w in enumerate((1, 0.5, 0.25)))
        y += (0.02 / h + level) * np.sin(h * phase)
    hiss = shape(rng.standard_normal(int(0.07 * RATE)), lambda f: (f > 2500) * (f < 6500) * 1.0)
    y *= np.minimum(1, np.minimum(t / 0.03, (t[-1] - t) / 0.04)) / y.std()
    return np.concatenate([0.4 * hiss / hiss.std() * np.hanning(hiss.size), y] if rng.random() < 0.5 else [y])


def speak(rng, pitch, seconds):
    """A voice, and the start and end of its words."""
    y, words, at = np.zeros(int(seconds * RATE)), [], 0
    while True:
        word = np.concatenate([syllable(rng, pitch) for _ in range(rng.integers(2, 5))])
        if at + word.size > y.size:
            return y, words
        y[at : at + word.size] = word
        words.append((at / RATE, (at + word.size) / RATE))
        at += word.size + int(RATE * rng.uniform(0.08, 0.35))


def noise(kind, rng, count):
    t, white = np.arange(count) / RATE, rng.standard_normal(count)
    slow = shape(rng.standard_normal(count), lambda f: (f < 0.7) * 1.0)
    if kind == "hum":
        return sum(np.sin(2 * np.pi * 50 * h * t + rng.uniform(0, 6)) * rng.uniform(0.3, 1) / h**0.5 for h in range(1, 15))
    if kind == "siren":
        f = 900 + 350 * np.sin(2 * np.pi * 0.35 * t + rng.uniform(0, 6))
        return sum(np.sin(h * 2 * np.pi * np.cumsum(f) / RATE) / h for h in (1, 2, 3))
    if kind == "white noise":
        return white
    wind = shape(white, lambda f: 1 / (1 + (f / 250) ** 1.5))
    return wind * np.exp(1.2 * slow / slow.std()) if kind == "gusts" else wind


def si_sdr(s, y):
    s, y = s - s.mean(), y - y.mean()
    a = s @ y / (s @ s)
    return 10 * np.log10(a * a * (s @ s) / np.sum((y - a * s) ** 2))


def subtract(y, quiet):
    """Spectral subtraction, with the noise before sample `quiet` as its profile."""
    window, hop = np.hanning(1025)[:-1], 256
    starts = range(0, y.size - 1023, hop)
    Y = np.array([np.fft.rfft(window * y[a : a + 1024]) for a in starts])
    P = np.abs(Y) ** 2
    N = P[: (quiet - 1024) // hop].mean(0)
    out = np.zeros(y.size)
    for a, frame in zip(starts, np.maximum(1 - N / P, 0.05) * Y):
        out[a : a + 1024] += window * np.fft.irfft(frame)
    return out / 1.5  # the sum of the squared windows


def stem(program, y, labels, options):
    """The voice that the program separates."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "y.wav")
        with wave.open(path, "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", ""))
            file.writeframes(np.round(32767 * y).astype("<i2").tobytes())
        with open(os.path.join(folder, "y.txt"), "w") as file:
            file.writelines(f"{a:.3f}\t{b:.3f}\t{name}\n" for a, b, name in labels)
        out = os.path.join(folder, "out")
        subprocess.run([program, "separate", path, "--labels", os.path.join(folder, "y.txt"), "--no-report", "-q",
                        "-o", out, *options], check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        with wave.open(os.path.join(out, "voice.wav")) as file:
            return np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32767


def trial(program, kind, seed):
    """SI-SDR of the recording and by recipe."""
    rng = np.random.default_rng(seed)
    pitch, quiet = rng.uniform(95, 210), int(QUIET * RATE)
    spoken, words = speak(rng, pitch, SECONDS - QUIET)
    take, _ = speak(rng, pitch, TAKE)
    voice = np.concatenate([np.zeros(quiet), spoken])
    n = noise(kind, rng, voice.size)
    n *= 10 ** (-3 / 20) * spoken.std() / n[quiet:].std()
    peak = 0.9 / max(np.abs(voice + n).max(), np.abs(take).max())
    voice, n, take = peak * voice, peak * n, np.concatenate([peak * take, np.zeros(int(PAUSE * RATE))])
    one = [(0, SECONDS, "noise"), (QUIET, SECONDS, "voice")]
    each = one[:1] + [(a + QUIET, b + QUIET, "voice") for a, b in words]
    longer = [(a + TAKE + PAUSE, b + TAKE + PAUSE, name) for a, b, name in one] + [(0, TAKE, "voice")]
    flat = ["--per-source", "4"]
    recipes = {"default": ([], one, []), "--per-source 4": ([], one, flat), "words": ([], each, []),
               "take": (take, longer, []),
               "take, --per-source 4": (take, longer, flat)}  # fmt: skip
    scores = {"recording": si_sdr(voice[quiet:], (voice + n)[quiet:]),
              "spectral subtraction": si_sdr(voice[quiet:], subtract(voice + n, quiet)[quiet:])}  # fmt: skip
    for name, (before, labels, options) in recipes.items():
        y = stem(program, np.concatenate([before, voice + n]), labels, options)[len(before) :]
        scores[name] = si_sdr(voice[quiet:], y[quiet:])
    return scores


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=3)
    a = parser.parse_args()
    for kind in ("hum", "white noise", "wind", "gusts", "siren"):
        trials = [trial(a.program, kind, seed) for seed in range(1, a.seeds + 1)]
        means = {name: np.mean([t[name] for t in trials]) for name in trials[0]}
        print(kind, *(f"{name} {x:.1f}" for name, x in means.items()), sep="; ", flush=True)


main()
