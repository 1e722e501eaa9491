"""Error rates of the verdict of `apply` (result `fits`), on data whose truth is known.

    TLNMF_LIBRARY=build/libtlnmf.so PYTHONPATH=python python3 bench/goodness.py --sizes 12x100 --seeds 20 --first 500

Data of the Gaussian composite model. A model is learnt from S_own realisations and applied to S_new realisations of new
frames: of the same distribution, with another Phi, another W, of white noise, or with the rows of W rolled by one.
Prints percentages: about as well / worse / different / cannot tell.
"""
import argparse
import csv
import time

import numpy as np
import tlnmf

WORDS = {"abo": "well", "wor": "worse", "no:": "different", "can": "cannot tell"}
KINDS = ["same", "other Phi", "other W", "white", "rolled"]


def transform(M):
    m = np.arange(M)
    Phi = np.sqrt(2 / M) * np.cos(np.pi * np.outer(m, m + 0.5) / M)
    Phi[0] /= np.sqrt(2)
    return Phi


def draw(Phi, v, S, rng, tails):
    x = rng.standard_normal((S,) + v.shape) if tails == 0 else rng.standard_t(tails, (S,) + v.shape) / np.sqrt(tails / (tails - 2))
    return np.einsum("ji,sjn->sin", Phi, x * np.sqrt(v))


def trial(a, M, N, seed):
    """All pairs of S and all kinds for one truth; yields rows of the table."""
    rng = np.random.default_rng([M, N, seed])
    spectra = lambda: (lambda W: W / W.sum(0))(rng.exponential(size=(M, a.k)))
    if a.walk > 0:
        activations = lambda: np.exp(np.cumsum(a.walk * rng.standard_normal((a.k, N)), axis=1))
    else:
        activations = lambda: M * rng.gamma(a.shape, 1 / a.shape, size=(a.k, N))
    Phi, W, other_W, H = transform(M), spectra(), spectra(), activations()
    other_Phi = np.linalg.qr(rng.standard_normal((M, M)))[0]
    for S in a.own:
        began = time.perf_counter()
        model = tlnmf.fit(draw(Phi, W @ H, S, rng, a.tails), k=a.k, method=a.method, threads=1, seed=seed)
        fit_seconds = time.perf_counter() - began
        for S_new in a.new:
            v = W @ activations()
            data = {"same": (Phi, v), "other Phi": (other_Phi, v), "other W": (Phi, other_W @ activations()),
                    "white": (Phi, np.full_like(v, v.mean())), "rolled": (Phi, np.roll(v, 1, 0))}
            for kind in KINDS:
                Y = draw(*data[kind], S_new, rng, a.tails)
                began = time.perf_counter()
                r = tlnmf.apply(model, Y, threads=1)
                yield dict(M=M, N=N, seed=seed, S_own=S, S_new=S_new, kind=kind, verdict=WORDS[r.fits[:3]], d=r.excess,
                           se=r.excess_error, D=r.excess_random, I=r.I_per_entry, I_own=r.model_I_per_entry, fits=r.fits,
                           fit_seconds=fit_seconds, apply_seconds=time.perf_counter() - began)


def line(rows):
    verdicts = [r["verdict"] for r in rows]
    return "/".join(f"{100 * verdicts.count(w) / max(len(rows), 1):.0f}" for w in WORDS.values())


def report(rows):
    group = lambda r: ("S_own = 1" if r["S_own"] == 1 else "only S_new = 1" if r["S_new"] == 1 else
                       f"min S = {min(r['S_own'], r['S_new'])}")
    print("| | same | " + " | ".join(KINDS[1:]) + " | all wrong |\n|---|" + "---|" * (len(KINDS) + 1))
    for name in sorted({group(r) for r in rows}, key=lambda g: (g[0] != "S", "only" not in g, len(g), g)):
        part = [r for r in rows if group(r) == name]
        of = [line([r for r in part if r["kind"] == k]) for k in KINDS] + [line([r for r in part if r["kind"] != "same"])]
        print(f"| {name} | " + " | ".join(of) + " |")
    same = [r for r in rows if r["kind"] == "same" and r["verdict"] != "cannot tell"]
    wrong = [r for r in rows if r["kind"] != "same" and min(r["S_own"], r["S_new"]) >= 3]
    alarms = [r for r in same if r["verdict"] != "well"]
    found = [r for r in wrong if r["verdict"] in ("worse", "different")]
    print(f"false alarms: {len(alarms)} of {len(same)} decided; detected where min S >= 3: {len(found)} of {len(wrong)}")
    z = [r["d"] / r["se"] for r in rows if r["kind"] == "same" and np.isfinite(r["d"])]
    if z:
        print(f"excess / error on the same distribution: mean {np.mean(z):.2f}, standard deviation {np.std(z):.2f}")
    print(f"median seconds: fit {np.median([r['fit_seconds'] for r in rows]):.3f}, "
          f"apply {np.median([r['apply_seconds'] for r in rows]):.3f}")


def main():
    numbers = lambda text: [int(x) for x in text.split(",")]
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--sizes", default="12x100,16x50,24x150", help="M x N")
    p.add_argument("--seeds", type=int, default=5, help="number of truths")
    p.add_argument("--first", type=int, default=500, help="the first seed")
    p.add_argument("--own", type=numbers, default=[1, 3, 10, 40], help="realisations of the fit")
    p.add_argument("--new", type=numbers, default=[1, 3, 10, 40], help="realisations of the new data")
    p.add_argument("--k", type=int, default=3, help="components")
    p.add_argument("--shape", type=float, default=1.0, help="shape of the gamma distribution of the activations")
    p.add_argument("--walk", type=float, default=0.0, help="log activations are random walks with this step")
    p.add_argument("--tails", type=int, default=0, help="Student's t of so many degrees instead of Gaussian data")
    p.add_argument("--method", default="tl")
    p.add_argument("--csv", help="also write every trial here")
    a = p.parse_args()
    rows = []
    for size in a.sizes.split(","):
        M, N = map(int, size.split("x"))
        for seed in range(a.first, a.first + a.seeds):
            rows += trial(a, M, N, seed)
    if a.csv:
        with open(a.csv, "w", newline="") as f:
            writer = csv.DictWriter(f, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
    report(rows)


if __name__ == "__main__":
    main()
