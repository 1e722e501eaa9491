#!/usr/bin/env python3
"""make bench: one report on the screen, and the same figures as JSON.

    bench.py BUILD [--quick | --full] [--json FILE] [--only PART,..] [--repeat 3]

Parts: kernels, iteration, paper, fast, sklearn, threads, growth, memory; with --full also figure2 (minutes).
Times are CPU seconds of one thread unless stated otherwise; ratios compare times of one run.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time

import reference  # noqa: F401  first: pins BLAS to one thread before numpy loads

import growth
import nmf_of_sklearn
import numpy_kernels
import solvers
from program import Program, table

PARTS = ["kernels", "iteration", "paper", "fast", "sklearn", "threads", "growth", "memory", "figure2"]


class Bench:
    """One method per part; each prints its table and returns its figures."""

    def __init__(self, program, quick, repeat):
        self.program, self.quick, self.repeat = program, quick, 1 if quick else repeat
        self.reference_seconds = {}

    def kernels(self):
        report = self.program.tool("kernels", *["--quick"] * self.quick)
        numpy_kernels.add_times(report["kernels"], 0.03 if self.quick else 0.3)
        table(f"Kernels: dgemm {report['gemm_flops'] / 1e9:.1f} GF/s, memory {report['read_bytes'] / 1e9:.1f} GB/s, "
              f"{report['blas']}", numpy_kernels.HEAD, list(numpy_kernels.rows(report)))
        return report

    def iteration(self):
        r = self.program.tool("iteration", *([128, 200, 5, 6] if self.quick else []))
        for name, extra in ("gemm_percent", 0.0), ("percent_with_updates", r["update_flops"]):
            rate = statistics.median((i["gemm_flops"] + extra) / i["seconds"] for i in r["iterations"])
            r[name] = 100 * rate / r["gemm_rate"]
        seconds = statistics.median(i["seconds"] for i in r["iterations"])
        table("One outer iteration of paper mode, TL-NMF (10 updates and a transform step), the median of "
              f"{len(r['iterations'])}", ["size", "s", "% dgemm: BLAS products", "and those of the updates"],
              [[f"{r['M']}x{r['N']} K={r['K']}", seconds, r["gemm_percent"], r["percent_with_updates"]]])
        return r

    def paper(self):
        cases = solvers.PAPER[:2] if self.quick else solvers.PAPER
        results = [solvers.compare_paper(self.program, *case, self.repeat) for case in cases]
        self.reference_seconds = {r["case"]: r["numpy_seconds"] for r in results}
        table("Paper mode against numpy", solvers.PAPER_HEAD, solvers.paper_rows(results))
        return results

    def fast(self):
        if not self.reference_seconds and not self.quick:
            self.paper()
        results = list(solvers.fast_rows(self.program, self.reference_seconds, self.repeat, self.quick))
        table("Fast mode; against: the reference's seconds for the corresponding run", solvers.FAST_HEAD,
              solvers.table_rows(results))
        return results

    def sklearn(self):
        results = nmf_of_sklearn.measure(self.program, self.quick)
        if results is None:
            print("\nskipped the comparison with scikit-learn: it is not installed (Debian: python3-sklearn)")
        else:
            table("NMF alone: scikit-learn's NMF(solver='mu', beta_loss='itakura-saito')", nmf_of_sklearn.HEAD,
                  nmf_of_sklearn.rows(results))
        return results

    def threads(self):
        results = solvers.threads(self.program, self.repeat, 8 if self.quick else 40)
        table("Threads", solvers.THREADS_HEAD, solvers.threads_rows(results))
        return results

    def growth(self):
        results = growth.measure(self.program, self.repeat, self.quick)
        base = ", ".join(f"{letter} = {value}" for letter, value in growth.BASE.items())
        table(f"Growth from {base}", growth.HEAD, growth.rows(results))
        return results

    def memory(self):
        results = growth.measure_memory(self.program, self.quick)
        table("Peak memory with the starts that run concurrently", growth.MEMORY_HEAD, growth.memory_rows(results))
        return results

    def figure2(self):
        results = solvers.figure2(self.program)
        table("Figure 2", solvers.FIGURE2_HEAD, [[r["case"], r["seconds"], r["target"]] for r in results])
        return results


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("build")
    p.add_argument("--quick", action="store_true", help="small sizes, only to check that everything runs")
    p.add_argument("--full", action="store_true", help="also measure Figure 2")
    p.add_argument("--only", type=lambda text: text.split(","), default=None, metavar="PART,..", help=", ".join(PARTS))
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--json", help="also write the figures to this file")
    args = p.parse_args()
    unknown = set(args.only or []) - set(PARTS)
    if unknown:
        p.error(f"no such part: {', '.join(sorted(unknown))}")
    return args


def main():
    args = arguments()
    parts = args.only or (PARTS if args.full else PARTS[:-1])
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Program(args.build, folder), args.quick, args.repeat)
        for part in parts:
            since = time.time()
            figures[part] = getattr(bench, part)()
            print(f"  [{time.time() - since:.0f} s]", flush=True)
    if args.json:
        temporary = f"{args.json}.{os.getpid()}"
        with open(temporary, "w") as f:
            json.dump(figures, f, indent=1)
        os.replace(temporary, args.json)
    wrong = [k for k in (figures.get("kernels") or {}).get("kernels", []) if k.get("difference", 0) > k.get("tolerance", 1)]
    wrong += [r for r in figures.get("threads") or [] if not r["same"]]
    for w in wrong:
        print(f"bench: wrong result: {w}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
