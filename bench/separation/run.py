#!/usr/bin/python3
"""Scores folders of mixtures in parallel and prints a table: run.py SCORE OUT.json [NAME=VALUE...] FOLDER...

SCORE is the program of score.c. A FOLDER holds one folder per mixture. OUT.json gets one object per mixture."""
import concurrent.futures, json, os, subprocess, sys


def one(program, options, case):
    env = dict(os.environ, OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
    r = subprocess.run([program, "threads=1", *options, case], capture_output=True, text=True, env=env)
    if r.returncode != 0:
        return {"case": case, "db": None, "error": r.stderr[-300:]}
    return json.loads(r.stdout)


def main(program, out, *rest):
    options = [a for a in rest if "=" in a and not os.path.isdir(a)]
    cases = [f"{d}/{c}" for d in rest if os.path.isdir(d) for c in sorted(os.listdir(d))
             if os.path.isfile(f"{d}/{c}/mix.flac")]
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        results = list(pool.map(lambda c: one(program, options, c), cases))
    json.dump(results, open(out, "w"), indent=1)
    for r in results:
        if r["db"] is None:
            print(f"{r['case'][-60:]:60s} {r.get('error', 'no score')}")
            continue
        members = len(r.get("members", [0] * 11)) // 11
        print(f"{'/'.join(r['case'].split('/')[-2:]):52s} {r['db']:6.2f}  remix {r.get('score') or float('nan'):6.2f}  members {members}"
              f"  {r['learn_s']:.2f} + {r['stems_s']:.2f} s  {r['bytes'] / 1e6:.2f} MB")
    good = [r for r in results if r["db"] is not None]
    print(f"{len(good)} of {len(results)}: mean {sum(r['db'] for r in good) / len(good):.2f} dB, "
          f"{sum(r['learn_s'] + r['stems_s'] for r in good) / len(good):.2f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
