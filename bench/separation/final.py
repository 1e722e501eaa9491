#!/usr/bin/python3
"""All figures of docs/measurements/separation.md, on held-out mixtures: final.py SCORE OLD OUT FOLDER...

SCORE is the program of score.c, OLD the program tlnmf of version 0.1. A FOLDER, named KIND_SEED, holds one folder per mixture.
Writes a file per mixture to OUT, one of each FOLDER in turn, so that a stopped run is a fair sample. The same command resumes
it. At the end, or without FOLDER, prints the table of the files in OUT. WITHOUT=blind skips blind separation."""
import json, os, random, re, subprocess, sys, tempfile
import numpy as np
import soundfile as sf
from scipy.stats import spearmanr

ENV = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
SETTINGS = [(t, w, f) for f in ("80ms", "40ms") for t in ("stft", "dct") for w in ("tukey", "sine")]


def si_sdr(r, e):
    a = r @ e / (r @ r)
    d = e - a * r
    return 10 * np.log10(a * a * (r @ r) / (d @ d + 1e-30))


def old(program, case, *options):
    """The mean SI-SDR of version 0.1; None if it fails."""
    with tempfile.TemporaryDirectory() as d:
        r = subprocess.run([program, "separate", f"{case}/mix.flac", "--labels", f"{case}/labels.txt", "-o", d + "/o", "-q", *options],
                           capture_output=True, env=ENV)
        if r.returncode != 0:
            return None
        names = [f[:-5] for f in os.listdir(case) if f.endswith(".flac") and f != "mix.flac"]
        return float(np.mean([si_sdr(sf.read(f"{case}/{n}.flac")[0], sf.read(f"{d}/o/{n}.wav")[0]) for n in names]))


def new(program, case, *options):
    """The output of score.c, and the misfits that -k auto uses; None if it fails."""
    r = subprocess.run([program, "threads=1", *options, case], capture_output=True, text=True, env=dict(ENV, LOG="1"))
    if r.returncode != 0:
        return None
    return dict(json.loads(r.stdout), misfit=[float(x) for x in re.findall(r"misfit of ([0-9.]+)", r.stderr)])


def score(program, before, case):
    return {"case": case, "new": new(program, case), "old": old(before, case),
            "fixed": {"-".join(s): old(before, case, "--method", "nmf", "--per-source", "1", "--transform", s[0], "--window", s[1], "--frame", s[2])
                      for s in SETTINGS},
            "blind": None if os.environ.get("WITHOUT") == "blind" else new(program, case, "blind=2")}


def sources(case):
    """The number of sources. A mixture of a player with himself has one, so there is nothing to separate."""
    return sum(f.endswith(".flac") and f != "mix.flac" for f in os.listdir(case))


def score_all(program, before, out, folders):
    os.makedirs(out, exist_ok=True)
    order = [sorted(f"{d}/{c}" for c in os.listdir(d) if sources(f"{d}/{c}") > 1) for d in folders]
    for cases in order:
        random.Random(1).shuffle(cases)
    for i in range(max(map(len, order), default=0)):
        for cases in order:
            if i >= len(cases):
                continue
            file = f"{out}/{'@'.join(cases[i].rstrip('/').split('/')[-2:])}.json"
            if not os.path.exists(file):
                json.dump(score(program, before, cases[i]), open(file + ".part", "w"))
                os.rename(file + ".part", file)


def spread(gains):
    return f"{np.mean(gains):+.1f} / {np.percentile(gains, 10):+.1f} / {min(gains):+.1f}"


def verdict(name, results):
    stems = [(r["expected_sdr"][k], r["expected_low"][k], t, r["expected_high"][k])
             for r in results for k, t in enumerate(r["si_sdr"]) if t is not None]
    if stems:
        e, low, t, high = np.array(stems).T
        print(f"expected, {name}: {100 * np.mean((low <= t) & (t <= high)):.0f} % of {len(t)} stems in the range, rank correlation {spearmanr(e, t)[0]:.2f}")


def print_table(out):
    rows = [json.load(open(f"{out}/{f}")) for f in sorted(os.listdir(out)) if f.endswith(".json")]
    rows = [r for r in rows if r["new"] and r["new"]["db"] is not None and r["old"] is not None]
    kind = lambda r: r["case"].rstrip("/").split("/")[-2].rsplit("_", 1)[0]
    for k in sorted({kind(r) for r in rows}):
        of = [r for r in rows if kind(r) == k]
        n, o = np.array([r["new"]["db"] for r in of]), np.array([r["old"] for r in of])
        f = np.array([max(x for x in r["fixed"].values() if x is not None) for r in of])
        print(f"{k} ({len(of)}): 0.1 {o.mean():.1f}, fixed {f.mean():.1f}, new {n.mean():.1f}; over 0.1 {spread(n - o)}; over fixed {spread(n - f)}; "
              f"onsets {np.mean([r['new']['onset_f'] for r in of]):.2f}")
    for r in sorted(rows, key=lambda r: r["new"]["db"] - max(r["old"], *(x for x in r["fixed"].values() if x is not None)))[:6]:
        print(f"   {r['case']}: {r['new']['db']:.1f}, 0.1 {r['old']:.1f}, fixed {max(x for x in r['fixed'].values() if x is not None):.1f}")
    blind = [r["blind"] for r in rows if r["blind"] and r["blind"]["db"] is not None]
    verdict("with labels", [r["new"] for r in rows])
    verdict("blind", blind)
    if blind:  # blind.c: one sound if it misfits by less than 0.05, else two
        right = [r["sources"] == (1 if r["misfit"][0] < 0.05 else 2) for r in blind]
        print(f"-k auto: right on {sum(right)} of {len(right)}")


if __name__ == "__main__":
    score_all(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
    print_table(sys.argv[3])
