#!/usr/bin/env bash
# Measures how soon commands end after SIGINT or --max-seconds, and when they first show progress.
#
#     bench/stops.sh [PROGRAM [GIGABYTES]]     default build/tlnmf 2; two cores; needs Python 3
#
# Prints a table. "first line" counts from the start of the program to its first progress line on a
# terminal. "SIGINT" and "deadline" count from the signal, or from the end of --max-seconds, to the
# end of the process; the signal comes once the stage that the row names is shown. Checkpoints are on,
# and a cancelled fit writes its partial model. Rows for a GPU are skipped without one. Run it on an
# idle machine.
set -eu
program=$(realpath "${1:-build/tlnmf}") gigabytes=${2:-2}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
taskset -c 0,1 python3 - "$program" "$gigabytes" <<'PYTHON'
import glob, math, os, pty, re, select, shutil, signal, struct, subprocess, sys, time, wave

program, gigabytes = sys.argv[1], float(sys.argv[2])
LINE = re.compile(r"\x1b\[K(?:\d+ of \d+: )?(reading|compressing|preparing|comparing|learning|"
                  r"stems|TL-NMF|JD|NMF|search)")


STAGE = object()


def run(arguments, stage=None, wait=0.5):
    """Seconds to the first line, to SIGINT and from it to the end (stage given), and in all."""
    since = time.monotonic()
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(program, [program] + arguments)
    text, first, seen, sent = "", None, None, None
    while True:
        ready, _, _ = select.select([terminal], [], [], 0.01)
        now = time.monotonic()
        if ready:
            try:
                got = os.read(terminal, 65536)
            except OSError:
                break
            if not got:
                break
            text += got.decode(errors="replace")
            shown = LINE.findall(text)
            if first is None and shown:
                first = now - since
            if stage is not None and seen is None and stage in shown:
                seen = now
        if stage is not None and seen is None and now > since + 60:
            seen = now  # the stage was too short to be shown
        if seen is not None and sent is None and now >= seen + wait:
            os.kill(pid, signal.SIGINT)
            sent = now
    os.waitpid(pid, 0)
    end = time.monotonic()
    for path in glob.glob("*.partial*") + glob.glob("*.checkpoint"):
        os.remove(path)
    if sent is None:
        return first, None, None, end - since
    return first, sent - since, end - sent, end - since


def show(seconds):
    return "     -" if seconds is None else "%6.2f" % seconds


def row(name, engine, size, arguments, stage, limit=None):
    """limit: --max-seconds; STAGE: the moment of SIGINT, so that the stage is the same."""
    first, sent, stopped, _ = run(arguments, stage)
    late = None
    if limit is STAGE:
        limit = round(sent, 2) if sent is not None else None
    if limit is not None:
        late = run(arguments + ["--max-seconds", str(limit)])[3] - limit
    print("| %-28s | %-5s | %-12s | %s | %s | %s |"
          % (name, engine, size, show(first), show(stopped), show(late)), flush=True)


def numbers(path, shape):
    """An .npy file of random bits, as numbers in [1, 2)."""
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }" % (tuple(shape),)
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        block = bytearray(os.urandom(8 << 20))
        for i in range(0, len(block), 8):
            block[i + 6] |= 0xF0
            block[i + 7] = 0x3F
        size = 8
        for n in shape:
            size *= n
        while size > 0:
            f.write(block[:min(size, len(block))])
            size -= len(block)


def sound(path, labels, seconds):
    """A stereo recording of three tones with a label track: each alone, then all together."""
    rate, names = 44100, ("low", "middle", "high")
    third = seconds / 4
    with open(labels, "w") as f:
        for i, name in enumerate(names):
            f.write("%g\t%g\t%s\n" % (i * third, (i + 1) * third, name))
            f.write("%g\t%g\t%s\n" % (3 * third, seconds, name))
    with wave.open(path, "wb") as f:
        f.setnchannels(2)
        f.setsampwidth(2)
        f.setframerate(rate)
        for t in range(seconds):
            block = bytearray()
            for n in range(rate):
                at = t + n / rate
                x = sum(math.sin(2 * math.pi * hz * at) * (0.5 + 0.5 * math.sin(7 * i + 3 * at))
                        for i, hz in enumerate((220.0, 523.25, 1174.66))
                        if at >= 3 * third or int(at / third) == i)
                block += struct.pack("<hh", int(6000 * x), int(4000 * x))
            f.writeframes(bytes(block))


def simulate(path, m, n, seed=1):
    subprocess.run([program, "simulate", "gcm", "-m", str(m), "-n", str(n), "--kbar", "10", "-o",
                    path, "--seed-data", str(seed)], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


print("| %-28s | engine | size         |  first | SIGINT | deadline |" % "command, stage")
print("|---|---|---|---|---|---|")
simulate("y.npy", 1024, 2000)
out = ["-o", "m.h5", "--force"]
for engine, options in (("cpu", []), ("mixed", ["--precision", "mixed"])):
    fit = ["fit", "y.npy", "-k", "10"] + out + options
    row("fit --method tl, drawing", engine, "1024 x 2000", fit + ["--method", "tl"], "preparing")
    row("fit --method tl, sweeps", engine, "1024 x 2000", fit + ["--method", "tl"], "TL-NMF", 3)
    row("fit --method jd", engine, "1024 x 2000", fit + ["--method", "jd"], "JD", 3)
fit = ["fit", "y.npy", "-k", "10"] + out
row("fit --method nmf", "cpu", "1024 x 2000", fit + ["--method", "nmf"], "NMF", 3)
row("fit --solver paper", "cpu", "1024 x 2000", fit + ["--method", "tl", "--solver", "paper"],
    "TL-NMF", 3)
row("fit -k 5:10", "cpu", "1024 x 2000", ["fit", "y.npy", "-k", "5:10"] + out, "comparing", 6)
row("jd", "cpu", "1024 x 2000", ["jd", "y.npy", "-o", "j.h5", "--force"], "JD", 3)
subprocess.run([program] + fit + ["--method", "nmf", "-J", "2", "-q"], stdout=subprocess.DEVNULL,
               check=True)
simulate("z.npy", 1024, 2000, 2)
apply = ["apply", "m.h5", "z.npy", "-o", "a.h5", "--force", "-J", "100000", "--tol", "0",
         "--grad-tol", "0"]
row("apply to an array", "cpu", "1024 x 2000", apply, "NMF", 3)
os.remove("y.npy")

sound("s.wav", "s.txt", 40)
separate = ["separate", "s.wav", "--labels", "s.txt", "-o", "stems", "--force"]
row("separate, learning", "cpu", "40 s stereo", separate, "learning")
row("separate, stems", "cpu", "40 s stereo", separate, "stems")
blind = ["separate", "s.wav", "-k", "3", "-o", "stems", "--force"]
row("separate -k 3, learning", "cpu", "40 s stereo", blind, "learning")
row("separate -k 3, stems", "cpu", "40 s stereo", blind, "stems")

row("reproduce fig2", "cpu", "", ["reproduce", "fig2", "-o", "figures"], "search")

frames = int(gigabytes * 2**30 / 8 / 512 / 4)
numbers("large.npy", (4, 512, frames))
large = ["fit", "large.npy", "-k", "10"] + out
row("fit, reading", "cpu", "%g GB" % gigabytes, large, "reading", STAGE)
row("fit, compression", "cpu", "%g GB" % gigabytes, large, "compressing", STAGE)
os.remove("large.npy")

if shutil.which("nvidia-smi") and subprocess.run(["nvidia-smi"], capture_output=True).returncode == 0:
    numbers("g.npy", (4096, 10000))
    fit = ["fit", "g.npy", "-k", "10", "--device", "gpu"] + out
    row("fit --method tl", "gpu", "4096 x 10000", fit + ["--method", "tl"], "TL-NMF", 10)
    row("fit --method jd", "gpu", "4096 x 10000", fit + ["--method", "jd"], "JD", 10)
    fit += ["--precision", "mixed"]
    row("fit --precision mixed", "gpu", "4096 x 10000", fit + ["--method", "tl"], "TL-NMF", 10)
    separate += ["--device", "gpu"]
    row("separate, learning", "gpu", "40 s stereo", separate, "learning")
    row("separate, stems", "gpu", "40 s stereo", separate, "stems")
PYTHON
