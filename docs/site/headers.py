"""Reads the public headers: their sections, declarations and comments, for the reference and man pages.

The headers have a strict form: a first comment, sections (`/* ---- name ---- */`), and groups of a
comment and the declarations that follow without a blank line; tlnmf_*_free never belong to one. A comment
that a blank line follows is about its section. Anything else is an error, and so is a function that is not in the list of exported
functions (cmake/*.map), or is only there.
"""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ("tlnmf", "sound", "paper", "io")
PROTOTYPE = re.compile(r"TLNMF_API (?P<result>.*?[ *])(?P<name>tlnmf_\w+)\((?P<parameters>.*)\)")
CALLBACK = re.compile(r"typedef (?P<result>.*?[ *])\(\*(?P<name>tlnmf_\w+)\)\((?P<parameters>.*)\)")
STRUCT = re.compile(r"typedef struct (?P<name>tlnmf_\w+) (?P=name)")
ENUM = re.compile(r"(?:typedef enum (?P<name>tlnmf_\w+) |enum )\{(?P<body>.*)\}(?: (?P=name))?", re.S)
MEMBER = re.compile(r"(\w+) = (\w+),?\s*(?:/\*(.*?)\*/)?", re.S)


class Declaration:
    """A function, callback, type, enum or macro: its name, its C text on one line, and its comment."""

    def __init__(self, kind, name, text, note):
        self.kind, self.name, self.text, self.note = kind, name, text, note
        self.members = []  # of an enum: (name, value, comment)


class Group:
    """A comment, and the declarations that it explains; none if it is about the section."""

    def __init__(self, comment):
        self.comment, self.declarations = comment, []


class Section:
    def __init__(self, title):
        self.title, self.groups = title, []

    def declarations(self):
        return [declaration for group in self.groups for declaration in group.declarations]


class Header:
    """A header: its name, such as tlnmf/io.h, its purpose, its first comment, and its sections."""

    def __init__(self, stem):
        self.stem, self.name = stem, f"tlnmf/{stem}.h"
        self.path = ROOT / "include" / "tlnmf" / f"{stem}.h"
        self.library = "libtlnmf_io" if stem == "io" else "libtlnmf"
        self.sections = []
        lines = self.path.read_text().splitlines()
        comment, at = read_comment(lines, 0)
        self.purpose = re.sub(r"^[\w/.]+: ", "", comment[0])
        self.about = comment[1:]
        self.read(lines, at)

    def fail(self, at, reason):
        raise SystemExit(f"{self.path}:{at + 1}: {reason} (docs/site/headers.py)")

    def read(self, lines, at):
        """Reads from the end of the first comment: guard and includes, then the sections."""
        while not lines[at].startswith('extern "C"'):
            at += 1
        at += 2
        group = None
        while not lines[at].startswith("#ifdef __cplusplus"):
            line, start = lines[at], at
            if not line.strip():
                group, at = None, at + 1
            elif re.match(r"/\* -+ .* -+ \*/$", line):
                self.sections.append(Section(re.sub(r"^/\* -+ | -+ \*/$", "", line)))
                group, at = None, at + 1
            elif line.startswith("/*"):
                comment, at = read_comment(lines, at)
                group = self.add(Group(comment))
            else:
                text, at = read_statement(lines, at)
                declaration = parse(text)
                if declaration is None:
                    self.fail(start, f"this is not understood: {text}")
                if declaration.name.endswith("_"):  # a macro that only others use
                    continue
                if declaration.name.endswith("_free"):
                    self.add(Group([])).declarations.append(declaration)
                    continue
                if group is None or (declaration.note and not group.comment):
                    group = self.add(Group([]))
                group.declarations.append(declaration)
        if not self.sections:
            self.fail(at, "there are no sections")

    def add(self, group):
        if not self.sections:
            self.sections.append(Section("version"))
        self.sections[-1].groups.append(group)
        return group

    def declarations(self):
        return [declaration for section in self.sections for declaration in section.declarations()]


def read_comment(lines, at):
    """(lines without the marks, line after the end) of the comment at `at`."""
    rows = []
    while True:
        row, last = re.subn(r" ?\*/$", "", lines[at])
        rows.append(re.sub(r"^(/\*| \*) ?", "", row).rstrip())
        at += 1
        if last:
            return rows if rows[-1].strip() else rows[:-1], at


def read_statement(lines, at):
    """(text, line after the end) of a declaration or a #define."""
    if lines[at].startswith("#define"):
        return lines[at], at + 1
    text = lines[at]
    while True:
        code = re.sub(r"/\*.*?\*/", "", text, flags=re.S).rstrip()
        if code.endswith(";") and code.count("{") == code.count("}") and text.count("/*") == text.count("*/"):
            return text, at + 1
        at += 1
        text += "\n" + lines[at]


def parse(text):
    """The declaration in a statement, or None."""
    macro = re.fullmatch(r"#define (\w+)(?:\(.*?\))? +(.*)", text)
    if macro:
        return Declaration("macro", macro[1], macro[2], "")
    body, note = re.fullmatch(r"(.*);\s*(?:/\*((?:(?!\*/).)*)\*/)?\s*", text, re.S).groups()
    note = " ".join((note or "").split())
    enum = ENUM.fullmatch(body)
    if enum:
        members = [(name, value, " ".join(about.split())) for name, value, about in MEMBER.findall(enum["body"])]
        found = Declaration("enum", enum["name"] or members[0][0], f"enum {enum['name'] or ''}".rstrip(), note)
        found.members = members
        return found
    body = " ".join(body.split())
    for kind, pattern in (("function", PROTOTYPE), ("callback", CALLBACK), ("struct", STRUCT)):
        found = pattern.fullmatch(body)
        if found:
            return Declaration(kind, found["name"], body.replace("TLNMF_API ", ""), note)
    return None


def read_headers(stems=HEADERS):
    """The headers. Their functions are those that the libraries export."""
    headers = [Header(stem) for stem in stems]
    exported = set()
    for name in {"tlnmf_io" if stem == "io" else "tlnmf" for stem in stems}:
        text = (ROOT / "cmake" / f"{name}.map").read_text()
        exported |= set(re.findall(r"^\s+(tlnmf_\w+);$", text, re.M))
    declared = {row.name for header in headers for row in header.declarations() if row.kind == "function"}
    for name in sorted(exported ^ declared):
        where = "the headers declare no such function" if name in exported else "cmake/*.map does not export it"
        raise SystemExit(f"{name}: {where} (docs/site/headers.py)")
    return headers


def read_release():
    """The version, which is that of tlnmf.h (tests/rules/packaging.sh), and the date of the release."""
    text = (ROOT / "CITATION.cff").read_text()
    return [re.search(rf"^{name}: (\S+)$", text, re.M)[1] for name in ("version", "date-released")]


# ---- the text of comments ------------------------------------------------------------------------


class Part:
    """A part of a comment: a paragraph, a row of a list (with its term), or code; and its indentation."""

    def __init__(self, kind, indent, term, lines):
        self.kind, self.indent, self.term, self.lines = kind, indent, term, lines

    def text(self):
        return " ".join(line.strip() for line in self.lines)


ROW = re.compile(r"(?P<term>\d+\.|\w+(?:, \w+)*)(?P<space> +)\S")


def row_of(line):
    """The match of a line that begins a row: `1. text`, or a term, two spaces and a text."""
    found = ROW.match(line.lstrip())
    return found if found and (found["term"].endswith(".") or len(found["space"]) > 1) else None


def read_parts(lines):
    """The parts of a comment. Indented lines that are no rows are code, such as equations."""
    parts, joins = [], False  # joins: the next line may continue the last part
    for line in lines:
        indent = len(line) - len(line.lstrip())
        row = row_of(line)
        last = parts[-1] if joins else None
        if not line.strip():
            joins = parts and parts[-1].kind == "code" and joins
            if joins:
                parts[-1].lines.append("")
            continue
        if row:
            parts.append(Part("row", indent + row.end() - 1, row["term"], [line[indent + row.end() - 1 :]]))
        elif last is not None and last.kind == "row" and indent >= last.indent:
            last.lines.append(line)
        elif indent > 0 and last is not None and last.kind == "code":
            last.lines.append(line)
        elif indent > 0:
            parts.append(Part("code", indent, "", [line]))
        elif last is not None and last.kind == "text":
            last.lines.append(line)
        else:
            parts.append(Part("text", 0, "", [line]))
        joins = True
    return parts


def sentence(note):
    """The comment behind a declaration, as a sentence. Names keep their letters."""
    first = note[:1] if re.match(r"\w+_", note) else note[:1].upper()
    return first + note[1:] + ("" if note.endswith((".", "..")) else ".")
