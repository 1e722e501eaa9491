"""How often the checks of labels find broken labels, and how often they doubt correct ones.

    python3 bench/labels.py build FOLDER.. [--seed 1]

Every folder is searched for mixtures: folders with mix.flac and a correct labels.txt. The labels are broken in these
ways; a random name is concerned where it says "a name":

    shift   all labels 0.25 s later           lead    all labels 0.25 s earlier
    drop    half of the labels of a name      swap    a label of a name and one of another name exchange their names
    typo    a third of the labels of a name have it mistyped (a letter more, less, other, exchanged, or case)
    one     all labels have one name

Prints for each kind the number of mixtures and the part in which some stem has no estimate, and for correct labels the
part of the stems without one. A break that changes nothing (names exchanged within a chord) is not counted.
"""
import argparse
import collections
import os
import random
import subprocess
import tempfile

KINDS = ["ok", "shift", "lead", "drop", "swap", "typo", "one"]


def mistype(name, rng):
    at = rng.randrange(1, len(name))
    letter = rng.choice("abcdefghijklmnopqrstuvwxyz")
    ways = [name[:at] + letter + name[at:], name + letter, name[:at] + name[at + 1:], name[:at] + letter + name[at + 1:],
            name.capitalize(), name[:at - 1] + name[at] + name[at - 1] + name[at + 1:]]
    return rng.choice([w for w in ways if w != name])


def broken(labels, kind, rng):
    """The broken labels, or None if these cannot be broken so."""
    names = list(dict.fromkeys(n for _, _, n in labels))
    name = rng.choice(names)
    own = [i for i, label in enumerate(labels) if label[2] == name]
    others = [i for i in range(len(labels)) if i not in own]
    new = [list(label) for label in labels]
    if kind in ("shift", "lead"):
        by = 0.25 if kind == "shift" else -0.25
        new = [[max(0.0, s + by), e + by, n] for s, e, n in labels if e + by > 0.01]
    elif kind == "drop" and len(own) > 1:
        gone = set(rng.sample(own, (len(own) + 1) // 2))
        new = [label for i, label in enumerate(labels) if i not in gone]
    elif kind == "swap" and others:
        i, j = rng.choice(own), rng.choice(others)
        new[i][2], new[j][2] = new[j][2], new[i][2]
    elif kind == "typo" and len(own) > 1:
        wrong = mistype(name, rng)
        for i in rng.sample(own, max(1, len(own) // 3)):
            new[i][2] = wrong
    elif kind == "one":
        new = [[s, e, "all"] for s, e, _ in labels]
    changed = sorted(map(tuple, new)) != sorted(map(tuple, labels))
    return new if changed or kind == "ok" else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--missed", action="store_true", help="list what was missed and what was doubted wrongly")
    a = parser.parse_args()
    mixtures = sorted(d for folder in a.folders for d, _, files in os.walk(folder) if "mix.flac" in files)
    count, flagged, stems, doubted = (collections.Counter() for _ in range(4))
    for d in mixtures:
        with open(os.path.join(d, "labels.txt")) as file:
            labels = [(float(s), float(e), n) for s, e, n in (line.rstrip("\n").split("\t") for line in file if line.strip())]
        with tempfile.TemporaryDirectory() as folder:
            paths = {}
            for kind in KINDS:
                new = broken(labels, kind, random.Random(f"{a.seed} {kind} {os.sep.join(d.split(os.sep)[-2:])}"))
                if new is not None:
                    paths[kind] = os.path.join(folder, kind)
                    with open(paths[kind], "w") as file:
                        file.writelines(f"{s:.6f}\t{e:.6f}\t{n}\n" for s, e, n in new)
            out = subprocess.run([os.path.join(a.build, "bench", "label_checks"), os.path.join(d, "mix.flac"), *paths.values()],
                                 stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
        for kind, line in zip(paths, out):
            sources, withheld, *caveats = line.split("\t")
            count[kind] += 1
            flagged[kind] += int(withheld) > 0
            stems[kind] += int(sources)
            doubted[kind] += int(withheld)
            if a.missed and (kind == "ok") == (int(withheld) > 0):
                print(kind, d, *caveats, sep="\n    ")
    print("labels  mixtures  found   stems without an estimate")
    for kind in KINDS:
        if count[kind]:
            print(f"{kind:7} {count[kind]:8} {100 * flagged[kind] / count[kind]:5.1f} %   "
                  f"{doubted[kind]} of {stems[kind]} ({100 * doubted[kind] / stems[kind]:.1f} %)")


main()
