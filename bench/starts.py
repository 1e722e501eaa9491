"""How many starts does starts="auto" run, and what C does it find? Prints the tables of
docs/measurements/starts.md.

Data of the Gaussian composite model, M = 10, N = 50, 5 components. C is compared with one start and
with 20; `spread` compares the scores of 20 starts that ended at the best minimum and at others.

usage: TLNMF_LIBRARY=build PYTHONPATH=python python3 bench/starts.py auto|spread [SEEDS]
"""
import sys

import numpy as np

import tlnmf

M, N, K = 10, 50, 5


def data(S, seed):
    return tlnmf.Data(tlnmf.simulate.gcm(s=S, m=M, n=N, kbar=K, seed_data=seed).Y)


def auto(seeds):
    print("| S | starts | agree | C: auto - 1 start | C: auto - 20 starts | CPU s: 1, auto, 20 |")
    print("|---|---|---|---|---|---|")
    for S in (1, 10, 100):
        rows = []
        for seed in seeds:
            y = data(S, seed)
            few, some, many = (tlnmf.fit(y, K, starts=n, threads=1) for n in (1, "auto", 20))
            seconds = [m.cpu_seconds for m in (few, some, many)]
            rows.append([some.starts_completed, some.starts_agree, some.C - few.C, some.C - many.C, *seconds])
        x = np.array(rows)
        low, high, middle = x.min(axis=0), x.max(axis=0), np.median(x, axis=0)
        cells = [f"{middle[i]:.3g} ({low[i]:.3g} to {high[i]:.3g})" for i in range(4)]
        times = ", ".join(f"{t:.2f}" for t in middle[4:])
        print(f"| {S} | " + " | ".join(cells) + f" | {times} |", flush=True)


def scores(y, method, starts=20):
    """The final scores of single starts: C of tl, L of jd, I of nmf."""
    name = {"tl": "C", "jd": "L", "nmf": "I"}[method]
    model = tlnmf.fit(y, K, method=method, starts=starts, trace_all=True, transform="random")
    of = model.history
    stage = {"tl": 0, "jd": 1, "nmf": 2}[method]
    last = {s: v for s, v, g in zip(of["start"], of[name], of["stage"]) if g == stage}
    return np.sort(np.array(list(last.values())))


def spread(seeds):
    print("| method | S | same minimum, per entry | next minimum, per entry |")
    print("|---|---|---|---|")
    for method in ("tl", "jd", "nmf"):
        for S in (1, 10, 100):
            same, other = [0.0], [np.inf]
            for seed in seeds:
                x = scores(data(S, seed), method) / (M * N)
                above = x - x[0]
                same.append(above[above <= 1e-6].max())
                other.append(min(above[above > 1e-6], default=np.inf))
            print(f"| {method} | {S} | {max(same):.1g} | {min(other):.1g} |", flush=True)


if __name__ == "__main__":
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    {"auto": auto, "spread": spread}[sys.argv[1]](range(301, 301 + count))
