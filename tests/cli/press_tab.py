"""Presses Tab in bash, zsh and fish on a pseudo-terminal, and checks the arguments that arrive.

usage: press_tab.py PROGRAM COMPLETIONS_FOLDER      (exit code 77: no shell is installed)
"""
import os
import pty
import select
import shutil
import signal
import sys
import tempfile
import time

PROMPT = b"READY>"
SHELLS = {  # shell: its command, and the line that sets it up
    "bash": (["bash", "--noprofile", "--norc", "-i"],
             "bind 'set bell-style none'; source '{folder}/tlnmf.bash'; PS1='READ''Y>'"),
    "zsh": (["zsh", "-f", "-i"],
            "fpath=('{folder}' $fpath); autoload -U compinit; compinit -u -D; setopt nobeep; PS1='READ''Y>'"),
    "fish": (["fish", "--no-config", "-i"],
             "source '{folder}/tlnmf.fish'; function fish_prompt; echo -n READ''Y'>'; end"),
}
FILES = ["data.npy", "data.wav", "take.WAV", "take.npy", "notes.txt", "notes.npy", "my file.h5",
         "output.h5", "outside/x.npy"]
CASES = [  # what is typed, the arguments of the program
    ("tlnmf fi\t", ["fit"]),
    ("tlnmf fit dat\t", ["fit", "data.npy"]),
    ("tlnmf fit outs\tx\t", ["fit", "outside/x.npy"]),
    ("tlnmf fit data.npy --meth\t j\t", ["fit", "data.npy", "--method", "jd"]),
    ("tlnmf fit data.npy --method=j\t", ["fit", "data.npy", "--method=jd"]),
    ("tlnmf fit --weights=no\t", ["fit", "--weights=notes."]),  # .npy and .txt are both arrays
    ("tlnmf fit --init=out\t", ["fit", "--init=out"]),  # output.h5 and the folder
    ("tlnmf fit --init=outp\t", ["fit", "--init=output.h5"]),
    ("tlnmf separate tak\t --labels no\t", ["separate", "take.WAV", "--labels", "notes.txt"]),
    ("tlnmf separate take.WAV -o out\t", ["separate", "take.WAV", "-o", "outside"]),
    ("tlnmf info my\t", ["info", "my file.h5"]),
    ("tlnmf info 'my\t", ["info", "my file.h5"]),
    ("tlnmf simulate g\t", ["simulate", "gcm"]),
    ("tlnmf help se\t", ["help", "separate"]),
    ("tlnmf-mpi repro\tfig2 th\t", ["reproduce", "fig2", "theory"]),
    ("./bin/tlnmf jd --inp\t p\t", ["jd", "--input", "power"]),
]
LISTING = ("tlnmf fit data.npy --init-\t\t", [b"--init-phi", b"--init-w", b"--init-h"])


class Terminal:
    """A shell on a pseudo-terminal."""

    def __init__(self, name, folder, home):
        self.seen = b""
        self.process, self.end = pty.fork()
        if self.process == 0:
            os.chdir(home)
            os.environ.update(HOME=home, TERM="vt100", LC_ALL="C.UTF-8", COLUMNS="120", LINES="50",
                              PATH=home + "/bin:" + os.environ["PATH"], XDG_DATA_HOME=home + "/fish")
            os.execvp(SHELLS[name][0][0], SHELLS[name][0])
        time.sleep(0.3)  # input before the shell has set up the terminal may be lost
        self.type(SHELLS[name][1].format(folder=folder) + "\r")

    def type(self, text):
        os.write(self.end, text.encode())

    def wait_for(self, condition, what):
        limit = time.monotonic() + 60
        while not condition():
            if time.monotonic() > limit:
                sys.exit(f"{what}: nothing after a minute. The screen:\n{self.seen.decode(errors='replace')}")
            if select.select([self.end], [], [], 0.02)[0]:
                self.seen += os.read(self.end, 65536)

    def prompt(self):
        self.wait_for(lambda: PROMPT in self.seen, "the prompt")
        self.seen = b""

    def close(self):
        os.close(self.end)
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


def make_home(home, program):
    """Files to complete, and programs that answer --complete and write down all other arguments."""
    for name in FILES:
        os.makedirs(os.path.dirname(os.path.join(home, name)), exist_ok=True)
        with open(os.path.join(home, name), "w", encoding="utf-8"):
            pass
    os.makedirs(os.path.join(home, "bin"))
    for name in ("tlnmf", "tlnmf-mpi"):
        path = os.path.join(home, "bin", name)
        with open(path, "w", encoding="utf-8") as script:
            script.write(f"""#!/bin/sh
[ "$1" != --complete ] || exec '{program}' "$@"
printf '%s\\n' "$@" >'{home}/part' && mv '{home}/part' '{home}/arguments'
""")
        os.chmod(path, 0o755)


def check_shell(name, folder, home):
    """The number of failures."""
    failures = 0
    arguments = os.path.join(home, "arguments")
    terminal = Terminal(name, folder, home)
    terminal.prompt()
    for typed, expected in CASES:
        terminal.type(typed + "\r")
        terminal.wait_for(lambda: os.path.exists(arguments), f"{name}: {typed!r}")
        with open(arguments, encoding="utf-8") as file:
            got = [word.rstrip("/") for word in file.read().splitlines()]  # zsh removes the last /
        os.remove(arguments)
        terminal.prompt()
        if got != expected:
            failures += 1
            print(f"{name}: {typed!r} became {got}, not {expected}", file=sys.stderr)
    typed, words = LISTING
    terminal.type(typed)
    terminal.wait_for(lambda: all(word in terminal.seen for word in words), f"{name}: {typed!r}")
    terminal.close()
    return failures


def main():
    program, folder = (os.path.realpath(path) for path in sys.argv[1:3])
    present = [name for name in SHELLS if shutil.which(name)]
    failures = 0
    for name in SHELLS:
        if name not in present:
            print(f"{name}: skipped, it is not installed")
            continue
        with tempfile.TemporaryDirectory() as home:
            home = os.path.realpath(home)
            make_home(home, program)
            failed = check_shell(name, folder, home)
        print(f"{name}: {len(CASES) + 1 - failed} of {len(CASES) + 1} completions")
        failures += failed
    return 77 if not present else failures > 0


sys.exit(main())
