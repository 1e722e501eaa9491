"""The paper's two notes in 20 lines: learns a transform whose atoms are at 440 and 466.16 Hz.

usage: notes.py [FOLDER]       pictures go to FOLDER
"""
from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import tlnmf


def main(folder: Path) -> None:
    sample = tlnmf.simulate.notes(1, seed=7)
    model = tlnmf.fit(sample.Y, k=2, method="tl", eps=5e-7, transform="dct", trace=True, J=300)
    print(model)
    atoms = model.atoms(rate=sample.rate, count=4)
    for frequency, note, cents in zip(atoms["frequency"], atoms["note"], atoms["cents"]):
        print(f"{frequency:8.2f} Hz  {note} {cents:+.1f} cents")
    assert np.all(np.abs(atoms["frequency"] - 453) < 40), "the strongest atoms are the two notes"
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    tlnmf.plot.atoms(model, rate=sample.rate)
    plt.savefig(folder / "notes-atoms.png")
    tlnmf.plot.convergence(model)
    plt.savefig(folder / "notes-convergence.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
