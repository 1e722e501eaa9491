"""Runs the code blocks of the Markdown pages and compares their outputs: blocks.py BUILD [PAGE...].

Without PAGE, all pages of docs/ and README.md are run, several concurrently. --update writes the
outputs that were found into the pages, and copies changed figures. docs/internals/site.md explains how blocks are marked.
Exit code 0: all blocks ran; 1: a block failed; 2: wrong usage; 77: a page was skipped, because the
build or a Python module or program that it needs is missing.
"""
import argparse
import concurrent.futures
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUN = ("sh", "python", "c")
SECONDS = 120  # a block that takes longer fails
SKIPPED = 77
# Modules and programs that a page may use. A page is skipped where one of them is not installed.
MODULES = ("numpy", "scipy", "sklearn", "pandas", "matplotlib", "mne", "h5py", "tqdm")
PROGRAMS = ("sox",)

FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,})\s*([^\s`]*)\s*$")
MARK = re.compile(r"^\s*<!--\s*(not run|file|folder):\s*(.*?)\s*-->\s*$", re.S)
HIDDEN = re.compile(r"^\s*<!--\s*hidden\s+(\S+)\s*$")


class Block:
    """A block: its language, text, line of its first text line, marks, and the expected output."""

    def __init__(self, language, line, marks):
        self.language, self.line, self.marks = language, line, marks
        self.text = ""
        self.output = None  # lines, or None
        self.output_at = None  # the lines of the page that hold it: (first, end), from 0


class PageError(Exception):
    """A page that breaks the convention: (line, message)."""


def read_comment(lines, i):
    """The comment that starts at line i, and the line after its end."""
    end = i
    while "-->" not in lines[end]:
        end += 1
        if end == len(lines):
            raise PageError(i + 1, "this comment has no end (-->)")
    return "\n".join(lines[i : end + 1]), end + 1


def read_fence(lines, i):
    """(language, text lines, line after the end) of the fenced block at line i."""
    indent, fence, language = FENCE.match(lines[i]).groups()
    end = i + 1
    close = re.compile(r" {0,3}" + re.escape(fence) + re.escape(fence[0]) + r"*\s*$")
    while end < len(lines) and not close.match(lines[end]):
        end += 1
    if end == len(lines):
        raise PageError(i + 1, f"this block has no end ({fence})")
    text = [re.sub(rf"^ {{0,{len(indent)}}}", "", line) for line in lines[i + 1 : end]]
    return language, text, end + 1


def check_language(block):
    """Refuses blocks that look like code and would never be run."""
    known = RUN + ("text",)
    if "not run" in block.marks:
        if not block.marks["not run"]:
            raise PageError(block.line, "<!-- not run: REASON --> needs a reason")
    elif block.language not in known and not block.language.startswith("{"):
        raise PageError(
            block.line,
            f"a block marked '{block.language}' is not run. Mark it sh, python, c or text, indent it by "
            "four spaces, or write <!-- not run: REASON --> before it",
        )
    elif block.language == "c" and not re.search(r"\bmain\s*\(", block.text) and "file" not in block.marks:
        raise PageError(block.line, "a c block needs main(. Indent a fragment by four spaces")


def add_fence(blocks, block, after_block, at):
    """Adds a fenced block: a program, a file, or the output of the block directly before it."""
    check_language(block)
    if block.language == "text" and not block.marks:
        if not after_block:
            raise PageError(
                block.line,
                "a text block is the output of the sh, python or c block directly before it, and there "
                "is none. Indent other text by four spaces",
            )
        blocks[-1].output, blocks[-1].output_at = block.text.splitlines(), at
    else:
        blocks.append(block)


def read_page(text):
    """The blocks of a page, in order. Raises PageError."""
    lines, blocks, marks, i = text.splitlines(), [], {}, 0
    after_block = False  # only blank lines since the last block that may have an output
    while i < len(lines):
        line = lines[i]
        hidden = HIDDEN.match(line)
        if line.lstrip().startswith("<!--"):
            comment, end = read_comment(lines, i)
            mark = MARK.match(comment)
            if hidden:
                if hidden[1] not in ("sh", "python"):
                    raise PageError(i + 1, f"a hidden block is sh or python, not '{hidden[1]}'")
                block = Block(hidden[1], i + 2, marks)
                block.text = "\n".join(lines[i + 1 : end - 1]) + "\n"
                blocks.append(block)
                marks = {}
            elif mark:
                marks[mark[1]] = " ".join(mark[2].split())
            after_block = False
            i = end
        elif FENCE.match(line):
            language, text, end = read_fence(lines, i)
            block = Block(language, i + 2, marks)
            block.text = "".join(row + "\n" for row in text)
            add_fence(blocks, block, after_block, (i + 1, end - 1))
            after_block, marks, i = language in RUN, {}, end
        else:
            if line.strip():
                after_block = False
                if marks:
                    raise PageError(i, f"the comment '{next(iter(marks))}: ..' is not followed by a block")
            i += 1
    if marks:
        raise PageError(len(lines), f"the comment '{next(iter(marks))}: ..' is not followed by a block")
    return blocks


# ---- outputs -------------------------------------------------------------------------------------


def line_pattern(line):
    return "[^\n]*".join(re.escape(part) for part in line.rstrip().split("..."))


def as_printed(expected, found):
    """The expected lines with the text that `...` stands for, or None if the found lines are others.

    A line `...` alone stands for any number of lines, and stays.
    """
    pattern = "".join(
        "(?:[^\n]*\n)*?" if line.strip() == "..." else f"({line_pattern(line)})\n" for line in expected
    )
    same = re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in found))
    rows = iter(same.groups() if same else ())
    return [line if line.strip() == "..." else next(rows) for line in expected] if same else None


def with_wildcards(expected, found):
    """The found lines, each replaced by the expected line with `...` that it matches."""
    left = [line for line in expected if "..." in line and line.strip() != "..."]
    result = []
    for line in found:
        same = next((row for row in left if re.fullmatch(line_pattern(row), line.rstrip())), None)
        if same is not None:
            left.remove(same)
        result.append(line if same is None else same)
    return result


def difference(expected, found):
    """A diff, in which lines that agree by `...` are equal."""
    rows = difflib.unified_diff(
        [line.rstrip() for line in expected],
        [line.rstrip() for line in with_wildcards(expected, found)],
        "expected",
        "found",
        lineterm="",
        n=2,
    )
    return "\n".join("    " + row for row in rows)


# ---- figures -------------------------------------------------------------------------------------

IMAGE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")
NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)")


def same_figure(committed, drawn):
    """Whether two SVG drawings differ by at most one unit, or two PNG images by rounding."""
    if committed.suffix == ".svg":
        one, other = (NUMBER.split(path.read_text()) for path in (committed, drawn))
        return one[::2] == other[::2] and all(
            abs(float(x) - float(y)) <= 1 for x, y in zip(one[1::2], other[1::2])
        )
    import matplotlib.image

    one, other = (matplotlib.image.imread(path) for path in (committed, drawn))
    return one.shape == other.shape and abs(one - other).mean() < 0.02


def check_figures(path, page, update):
    """Compares the images of the page with the files of the same name that its blocks wrote."""
    failures = 0
    for line, text in enumerate(path.read_text().splitlines(), 1):
        for link in IMAGE.findall(text):
            committed = path.parent / link
            drawn = Path(committed.name)
            if not drawn.is_file() or (committed.is_file() and same_figure(committed, drawn)):
                continue
            if update:
                shutil.copy(drawn, committed)
                continue
            failures += 1
            print(f"{page}:{line}: {link} differs from the one that the blocks draw. blocks.py --update copies it")
    return failures


# ---- running one page ----------------------------------------------------------------------------


class Watchdog:
    """Ends this process and its children if a block takes too long, even in a call of C."""

    def __init__(self, page):
        self.page, self.report, self.timer = page, os.dup(1), None

    def __call__(self, line):
        self.timer = threading.Timer(SECONDS, self.end, (line,))
        self.timer.daemon = True
        self.timer.start()
        return self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.timer.cancel()

    def end(self, line):
        os.write(self.report, f"{self.page}:{line}: takes more than {SECONDS} s\n".encode())
        os.killpg(0, 9)


def run_python(block, page, names):
    """Runs a block in this process. The line numbers of its messages are those of the page."""
    try:
        exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), names)
        return None
    except ModuleNotFoundError as error:
        if error.name in MODULES:  # a submodule that is missing is a fault of the block
            return error
        return "".join(traceback.format_exc().splitlines(True)[3:])
    except (Exception, SystemExit):
        rows = traceback.format_exc().splitlines(True)
        return "".join(rows[:1] + rows[3:])  # without the line of exec
    finally:
        sys.stdout.flush()


def run_words(words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
    if done.returncode == 0:
        return None
    return done.stderr + f"exit code {done.returncode} of: {' '.join(words[:2])}\n"


def run_c(block):
    name = Path(block.marks.get("file", "program.c"))
    name.write_text(block.text)
    if not re.search(r"\bmain\s*\(", block.text):
        return None
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "tlnmf", "tlnmf_io"], check=True, capture_output=True, text=True
    )
    compiler = os.environ.get("CC", "cc").split() + "-std=c11 -Wall -Wextra -Werror".split()
    fault = run_words(compiler + [str(name), "-o", str(name.with_suffix(""))] + flags.stdout.split() + ["-lm"])
    return fault or run_words([f"./{name.with_suffix('')}"])


def run_shell(block):
    for name in PROGRAMS:
        if re.search(rf"\b{name}\b", block.text) and shutil.which(name) is None:
            return ModuleNotFoundError(name=name)
    return run_words(["sh", "-euc", block.text])


def run_block(block, page, names):
    """Runs a block. Returns the lines it printed, and None or what went wrong."""
    if "folder" in block.marks:
        for path in sorted((ROOT / block.marks["folder"]).iterdir()):
            if path.is_file():
                shutil.copy(path, path.name)
    if block.language not in RUN:  # a file
        Path(block.marks["file"]).write_text(block.text)
        return [], None
    sys.stdout.flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile() as output:
        os.dup2(output.fileno(), 1)
        try:
            if block.language == "python":
                fault = run_python(block, page, names)
            elif block.language == "c":
                fault = run_c(block)
            else:
                fault = run_shell(block)
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        output.seek(0)
        return output.read().decode("utf-8", "replace").splitlines(), fault


def show_path(path):
    return os.path.relpath(path, ROOT) if path.is_relative_to(ROOT) else str(path)


def replace_outputs(path, changes):
    lines = path.read_text().splitlines()
    for (first, end), found in sorted(changes, reverse=True):
        lines[first:end] = found
    path.write_text("\n".join(lines) + "\n")


def save_outputs(build, path, outputs):
    """Keeps what stood for `...` in the outputs of a page: the site shows it."""
    name = build / "docs-outputs" / f"{show_path(path)}.json"
    name.parent.mkdir(parents=True, exist_ok=True)
    name.write_text(json.dumps(outputs, indent=1))


def run_page(path, build, update):
    """Runs the blocks of a page in the current folder. Returns an exit code."""
    page, names, failures, count, changes = show_path(path), {"__name__": "__main__"}, 0, 0, []
    outputs = []
    watchdog = Watchdog(page)
    started = time.monotonic()
    try:
        blocks = [block for block in read_page(path.read_text()) if "not run" not in block.marks]
    except PageError as error:
        print(f"{page}:{error.args[0]}: {error.args[1]}")
        return 1
    for block in blocks:
        with watchdog(block.line):
            found, fault = run_block(block, path, names)
        count += 1
        if isinstance(fault, ModuleNotFoundError):
            print(f"{page}:{block.line}: skipped from here: this machine has no {fault.name}")
            return 1 if failures else SKIPPED
        if fault:
            failures += 1
            shown = "".join("    " + row + "\n" for row in found[-20:] + fault.splitlines())
            print(f"{page}:{block.line}: this {block.language} block fails\n{shown}", end="")
        elif block.output is not None:
            printed = as_printed(block.output, found)
            if printed is not None:
                outputs.append((block.output, printed))
                continue
            if update:
                changes.append((block.output_at, with_wildcards(block.output, found)))
                continue
            failures += 1
            print(f"{page}:{block.output_at[0] + 1}: the output has changed\n{difference(block.output, found)}")
    if changes:
        replace_outputs(path, changes)
    if not failures:
        failures += check_figures(path, page, update)
    if not failures and path.is_relative_to(ROOT):
        save_outputs(build, path, outputs)
    verdict = f"{failures} failed" if failures else f"{len(changes)} outputs written" if changes else "ok"
    print(f"{page}: {count} blocks in {time.monotonic() - started:.1f} s: {verdict}")
    return 1 if failures else 0


# ---- all pages -----------------------------------------------------------------------------------


def environment_of(build, folder):
    """The environment of the blocks: the program, the package, pkg-config, and nothing of the user's."""
    tools = folder / "bin"
    (folder / "home").mkdir()
    tools.mkdir()
    for name in ("tlnmf", "tlnmf-mpi"):
        if (build / name).exists():
            (tools / name).symlink_to(build / name)
    (folder / "matplotlibrc").write_text("svg.hashsalt: tlnmf\n")  # the same names in every run
    (tools / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (tools / "python3").chmod(0o755)
    for name, needs in (("tlnmf", ""), ("tlnmf_io", "Requires: tlnmf\n")):
        (tools / f"{name}.pc").write_text(
            f"Name: {name}\nDescription: the build\nVersion: 0\n{needs}"
            f"Cflags: -I{ROOT / 'include'}\nLibs: -L{build} -Wl,-rpath,{build} -l{name}\n"
        )
    keep = {name: os.environ[name] for name in ("CC", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH") if name in os.environ}

    def first(path, variable):
        return os.pathsep.join([str(path)] + ([keep[variable]] if keep.get(variable) else []))

    return {
        **keep,
        "PATH": os.pathsep.join([str(tools), os.environ.get("PATH", "/usr/bin:/bin")]),
        "PKG_CONFIG_PATH": first(tools, "PKG_CONFIG_PATH"),
        "LD_LIBRARY_PATH": first(build, "LD_LIBRARY_PATH"),
        "PYTHONPATH": str(ROOT / "python"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TLNMF_LIBRARY": str(build),
        "TLNMF_PROGRAM": str(build / "tlnmf"),
        "OMP_WAIT_POLICY": "passive",
        "MPLBACKEND": "Agg",
        "MATPLOTLIBRC": str(folder / "matplotlibrc"),
        "SOURCE_DATE_EPOCH": "0",
        "HOME": str(folder / "home"),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "COLUMNS": "80",
        "TERM": "dumb",
    }


def start_page(build, path, update):
    """Runs a page in a process and a folder of its own. Returns (exit code, what to print)."""
    with tempfile.TemporaryDirectory(prefix="tlnmf-blocks-") as name:
        folder = Path(name)
        environment = environment_of(build, folder)
        (folder / "page").mkdir()
        words = [sys.executable, "-W", "error::SyntaxWarning", __file__, str(build), str(path), "--here"]
        done = subprocess.run(
            words + (["--update"] if update else []),
            cwd=folder / "page",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    text = done.stdout
    if done.returncode not in (0, 1, SKIPPED):
        text += f"{show_path(path)}: ended with code {done.returncode}\n"
    return done.returncode, text


def pages_of(root):
    return [root / "README.md"] + sorted((root / "docs").glob("**/*.md"))


def missing_from(build):
    """What this build lacks for the blocks, or None."""
    for name in ("tlnmf", "libtlnmf.so", "libtlnmf_io.so"):
        if not (build / name).exists():
            return f"{build} has no {name}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=Path, metavar="BUILD", help="the build folder")
    parser.add_argument("pages", type=Path, nargs="*", metavar="PAGE")
    parser.add_argument("--update", action="store_true", help="write the outputs that were found into the pages")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="pages that run concurrently")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    build, pages = options.build.resolve(), [path.resolve() for path in options.pages]
    if options.here:
        return run_page(pages[0], build, options.update)
    for path in pages:
        if not path.is_file():
            parser.error(f"{path}: no such page")
    reason = missing_from(build)
    if reason:
        print(f"skipped: {reason}")
        return SKIPPED
    pages = pages or pages_of(ROOT)
    codes = []
    with concurrent.futures.ThreadPoolExecutor(max(1, options.jobs)) as pool:
        for code, text in pool.map(lambda path: start_page(build, path, options.update), pages):
            codes.append(code)
            if len(pages) == 1 or not re.search(r": 0 blocks in .*: ok$", text.strip()):
                print(text, end="", flush=True)
    failed = sum(code not in (0, SKIPPED) for code in codes)
    if len(pages) > 1:
        print(f"{len(pages)} pages, {failed} failed, {codes.count(SKIPPED)} skipped")
    return 1 if failed else SKIPPED if SKIPPED in codes else 0


if __name__ == "__main__":
    sys.exit(main())
