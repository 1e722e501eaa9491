"""A rank choice: the likelihood of held-out realisations of the same frames, by cross-validation.

usage: rank.py [FOLDER]       a picture goes to FOLDER
"""
import sys
from pathlib import Path

import numpy as np
from sklearn.model_selection import KFold

import tlnmf

sample = tlnmf.simulate.gcm(s=20, m=10, n=100, kbar=3)
X = sample.Y.transpose(0, 2, 1)  # realisations, frames, samples of a frame

# Phi, W and H of four fifths of the realisations are scored on the rest: up to a constant, -C is
# twice the log-likelihood of a realisation.
best = {}
for k in range(1, 6):
    gains = []
    for learn, judge in KFold(5).split(X):
        model = tlnmf.TLNMF(k, random_state=0).fit(X[learn])
        point = {"Phi": model.transform_matrix_, "W": model.components_.T,
                 "H": model.activations_.T, "eps": model.model_.eps}  # fmt: skip
        gains.append(-tlnmf.evaluate(sample.Y[judge], point).C)
    best[k] = np.mean(gains)
    print(f"K = {k}: minus C on held-out data {best[k]:.1f}")
chosen = max(best, key=best.get)
print(f"chosen: K = {chosen}; the truth is 3")
assert 2 <= chosen <= 4

try:
    import matplotlib.pyplot as plt
except ImportError:
    sys.exit()
plt.plot(list(best), list(best.values()), "o-")
plt.axvline(3, linestyle=":", color="gray", label="the truth")
plt.gca().set(xlabel="K", ylabel="minus C on held-out data", xticks=list(best))
plt.legend()
plt.savefig(Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "rank.png")
