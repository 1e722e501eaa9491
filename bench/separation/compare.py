#!/usr/bin/python3
"""Gains over other scores of the same mixtures, by kind: compare.py NEW.json OLD.json FIXED.json

NEW.json is the output of run.py; OLD.json and FIXED.json are objects {case: {"db": ..}} and {case: {"fixed": ..}} of
other programs. Prints mean / 10th percentile / worst of the gains, and means by class (the name up to its first _)."""
import json, sys
import numpy as np


def spread(gains):
    return f"{np.mean(gains):+.1f} / {np.percentile(gains, 10):+.1f} / {min(gains):+.1f} ({len(gains)})"


def main(new_file, old_file, fixed_file):
    new = {r["case"].split("/")[-1]: r["db"] for r in json.load(open(new_file)) if r["db"] is not None}
    old = {k: v["db"] for k, v in json.load(open(old_file)).items() if v.get("db") is not None}
    fixed = {k: v["fixed"] for k, v in json.load(open(fixed_file)).items()}
    cases = sorted(k for k in new if k in old and k in fixed)
    for k in cases:
        print(f"{k:44s} {new[k]:6.1f}  old {old[k]:6.1f}  fixed {fixed[k]:6.1f}")
    print("over old  ", spread([new[k] - old[k] for k in cases]))
    print("over fixed", spread([new[k] - fixed[k] for k in cases]))
    for kind in sorted({k.split("_")[0] for k in cases}):
        of = [k for k in cases if k.startswith(kind + "_")]
        print(f"{kind:12s} {np.mean([new[k] for k in of]):6.1f}  old {np.mean([old[k] for k in of]):6.1f}"
              f"  fixed {np.mean([fixed[k] for k in of]):6.1f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
