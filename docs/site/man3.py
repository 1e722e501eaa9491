"""Writes man pages of section 3 from the public headers: man3.py FOLDER HEADER...

HEADER is tlnmf, sound, paper or io. FOLDER receives tlnmf.3, an overview; one page per section of a
header, such as tlnmf-fitting.3; and for every function and type of a section a page that includes it,
so that `man 3 tlnmf_fit` works. The date is that of the release, so that builds are reproducible.
"""
import re
import shutil
import sys
from pathlib import Path

import headers
from headers import read_parts, read_release, sentence

WIDTH = 72  # of prototypes, which are not filled


def roff(text):
    """Text with the characters escaped that roff interprets."""
    text = re.sub(r"\*(\w+)\*", r"\1", text.replace("`", "")).replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", text)


def bold(text):
    return f"\\fB{roff(text)}\\fR"


def page_name(header, section):
    """Such as tlnmf-fitting or tlnmf-io-models. Hyphens keep it different from names of C."""
    words = re.sub("^the ", "", section.title).split()
    return "-".join(["tlnmf", *([] if header.stem == "tlnmf" else [header.stem]), *words])


# ---- declarations --------------------------------------------------------------------------------


def italic(row):
    """A row of a prototype in bold, with the names of its parameters in italics."""
    pieces = re.split(r"(\w+)(?=(?:\[\d*\])?(?:,|\);$))", row)
    return "".join(
        f"\\fI{roff(piece)}\\fR" if i % 2 and piece != "void" else bold(piece) if piece else ""
        for i, piece in enumerate(pieces)
    )


def prototype(text):
    """The lines of a prototype, of at most WIDTH columns."""
    at = text.index("(", text.index("(*") + 2 if re.search(r"\(\*tlnmf_", text) else 0) + 1
    items = re.findall(r"\s*((?:[^,()]|\([^()]*\))+)", text[at:-1])
    rows, row = [], text[:at]
    for i, item in enumerate(items):
        piece = item + (", " if i + 1 < len(items) else ");")
        if len(row) + len(piece.rstrip()) > WIDTH and row.strip():
            rows.append(row.rstrip())
            row = " " * 8
        row += piece
    return [italic(row) for row in [*rows, row]]


def declaration(row):
    """The lines of a declaration in the synopsis."""
    if row.kind in ("function", "callback"):
        return prototype(row.text)
    if row.kind == "macro":
        return [bold(f"#define {row.name}")]
    if row.text == "enum":
        return [bold(f"enum {{ {row.name} = {row.members[0][1]} }};")]
    return [bold(f"{row.text};" if row.kind == "struct" else f"typedef enum {row.name} {{ .. }} {row.name};")]


def members(row):
    rows = []
    for name, value, about in row.members if row.text != "enum" else ():
        rows += [".TP", f"{bold(name)} ({value})", roff(sentence(about)) if about else ".br"]
    return rows


# ---- pages ---------------------------------------------------------------------------------------


def comment(lines):
    rows = []
    for part in read_parts(lines):
        if part.kind == "code":
            cut = min(len(line) - len(line.lstrip()) for line in part.lines if line)
            rows += [".PP", ".RS 4", ".nf", *(roff(line[cut:]) or "\\&" for line in part.lines), ".fi", ".RE"]
        elif part.kind == "row":
            rows += [f".TP {4 if part.term.endswith('.') else 12}", bold(part.term), roff(part.text())]
        else:
            rows += [".PP", roff(part.text())]
    return rows


def group_rows(group):
    """A comment under the names that it explains; nothing if there is none."""
    rows = comment(group.comment)
    for row in group.declarations:
        if row.note:
            rows += [".TP 12", bold(row.name), roff(sentence(row.note))]
        rows += members(row)
    names = [row.name for row in group.declarations if row.kind == "function"]
    names = [f"{name}()" for name in names] or [row.name for row in group.declarations]
    if rows and names:
        rows.insert(0, ".SS " + roff(", ".join(names)))
    return rows


def title(name):
    """The title. Names of functions are not hyphenated."""
    version, date = read_release()
    return f'.TH "{roff(name.upper())}" 3 "{date}" "tlnmf {version}" "Library Functions"\n.nh\n.ad l'


def library(header):
    return [".SH LIBRARY", f"{header.library} (pkg\\-config {header.library[3:]})"]


def references(names, but):
    names = [name for name in names if name != but]
    return [".SH SEE ALSO", *(f"{bold(name)}(3)," for name in names[:-1]), f"{bold(names[-1])}(3)"]


def section_page(header, section, names):
    """The page of a section, as lines."""
    name = page_name(header, section)
    declarations = section.declarations()
    aliases = [row.name for row in declarations if row.kind == "function"]
    rows = [title(name), ".SH NAME", roff(", ".join([name, *aliases])) + f" \\- {section.title}"]
    rows += [*library(header), ".SH SYNOPSIS", ".nf", bold(f"#include <{header.name}>"), ".PP"]
    for row in declarations:
        rows += declaration(row)
    rows += [".fi", ".SH DESCRIPTION"]
    for group in section.groups:
        rows += group_rows(group)
    if rows[-1] == ".SH DESCRIPTION":
        raise SystemExit(f"{header.name}: the section {section.title} has no comment (docs/site/man3.py)")
    return rows + references(names, name)


def overview(found):
    main = found[0]
    rows = [title("tlnmf"), ".SH NAME", f"tlnmf \\- {roff(main.purpose.rstrip('.'))}", *library(main)]
    rows += [".SH SYNOPSIS", ".nf", *(bold(f"#include <{header.name}>") for header in found), ".PP"]
    packages = sorted({header.library[3:] for header in found})
    rows += [roff(f"cc program.c $(pkg-config --cflags --libs {name}) -o program\n") for name in packages]
    rows += [".fi", ".SH DESCRIPTION"]
    rows += comment(main.about)
    for header in found[1:]:
        rows += [f".SS {roff(header.name)}", roff(sentence(header.purpose)), *comment(header.about)]
    rows += [".SH PAGES"]
    for header in found:
        for section in header.sections:
            names = [row.name for row in section.declarations() if row.kind == "function"]
            rows += [".TP", f"{bold(page_name(header, section))}(3)", roff(", ".join(names)) + "."]
    return rows + [".SH SEE ALSO", "\\fBtlnmf\\fR(1)"]


def write(folder, name, rows):
    path = folder / f"{name}.3"
    if path.exists():
        raise SystemExit(f"two pages are called {name} (docs/site/man3.py)")
    text = "\n".join(row for row in rows if row) + "\n"
    path.write_text(re.sub(r"^(\.S[HS] .*\n)\.PP\n", r"\1", text, flags=re.M))


def main():
    if len(sys.argv) < 3 or "tlnmf" not in sys.argv[2:]:
        raise SystemExit("usage: man3.py FOLDER tlnmf [sound] [paper] [io]")
    folder = Path(sys.argv[1])
    found = headers.read_headers(sys.argv[2:])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for header in found:
        names = ["tlnmf", *(page_name(header, section) for section in header.sections)]
        for section in header.sections:
            name = page_name(header, section)
            write(folder, name, section_page(header, section, names))
            for row in section.declarations():
                if row.name.startswith("tlnmf_"):
                    write(folder, row.name, [f".so man3/{name}.3"])
    write(folder, "tlnmf", overview(found))


if __name__ == "__main__":
    main()
