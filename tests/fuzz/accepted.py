#!/usr/bin/env python3
"""Compares damaged files that were accepted with h5py and scipy: the same shapes and numbers.

usage: accepted.py FOLDER, as FUZZ_KEEP=FOLDER fuzz_container leaves it: N.h5 or N.mat, and N.npy.
A file that the other reader refuses is counted and named, not compared.
"""
import glob
import os
import sys

try:
    import h5py
    import numpy as np
    import scipy.io
except ImportError as missing:
    print(f"{missing}: nothing is compared")
    sys.exit(0)


def read(path):
    """The one numeric array of a file."""
    if path.endswith(".mat"):
        held = [x for name, x in scipy.io.loadmat(path).items() if not name.startswith("__")]
    else:
        held = []
        with h5py.File(path, "r") as file:
            file.visititems(lambda _, x: held.append(x[()]) if isinstance(x, h5py.Dataset) else None)
    arrays = [np.asarray(x) for x in held if np.asarray(x).dtype.kind in "biuf"]
    if len(arrays) != 1:
        raise ValueError(f"{len(arrays)} arrays")
    return arrays[0].astype(float)


def main(folder):
    same = other = refused = 0
    for ours in sorted(glob.glob(os.path.join(folder, "*.npy"))):
        path = next(p for p in (ours[:-4] + ".h5", ours[:-4] + ".mat") if os.path.exists(p))
        x = np.load(ours)
        try:
            y = read(path)
        except Exception as why:  # damaged files cause all kinds of exceptions
            refused += 1
            print(f"{os.path.basename(path)}: refused by the other reader: {type(why).__name__}: {str(why)[:80]}")
            continue
        if x.size == y.size and np.array_equal(x.squeeze(), y.squeeze(), equal_nan=True):
            same += 1
        else:
            other += 1
            print(f"{os.path.basename(path)}: {x.shape} here, {y.shape} there")
    print(f"accepted: {same} the same, {other} others, {refused} refused by the other reader")
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
