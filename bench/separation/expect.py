#!/usr/bin/python3
"""Fits the expectation of sound/judge/verdict.c for a stem: expect.py DEVELOPMENT.json [VALIDATION.json...]

The files are outputs of run.py. Prints the coefficients (constant, agreement, score, no score), the quantiles of the residuals,
and for the validation the rank correlation and the number of stems in the range."""
import json, sys
import numpy as np
from scipy.stats import spearmanr


def read(files):
    X, y = [], []
    for f in files:
        for r in json.load(open(f)):
            for k, truth in enumerate(r["si_sdr"] if r["db"] is not None else []):
                judged = r["score"] is not None
                X.append([1.0, r["agreement"][k] or 0.0, min(r["score"], 30.0) if judged else 0.0, 0.0 if judged else 1.0])
                y.append(truth)
    return np.array(X), np.array(y)


def main(development, *validation):
    X, y = read([development])
    w = np.linalg.lstsq(X, y, rcond=None)[0]
    low, high = np.percentile(y - X @ w, [10, 90])
    print(f"coefficients {np.round(w, 3)}, range {low:.1f} to {high:+.1f} dB, {len(y)} stems")
    if validation:
        X, y = read(validation)
        e = y - X @ w
        print(f"rank correlation {spearmanr(X @ w, y)[0]:.2f}, {100 * np.mean((e >= low) & (e <= high)):.0f} % of {len(y)} stems in the range")


if __name__ == "__main__":
    main(*sys.argv[1:])
