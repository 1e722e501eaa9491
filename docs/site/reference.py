"""Writes the reference pages of the site: reference.py BUILD SOURCE.

SOURCE/commands/*.md come from the man pages that the program prints, SOURCE/c/*.md from the public
headers. site.py calls this script.
"""
import re
import subprocess
import sys
from pathlib import Path

import headers
from headers import read_parts, sentence


def toctree(names):
    return "\n".join(["", "```{toctree}", ":hidden:", "", *names, "```", ""])


# ---- commands ------------------------------------------------------------------------------------

TITLES = {"SYNOPSIS": "Usage", "EXIT STATUS": "Exit codes"}
ESCAPED = re.compile(r"([\\`*_{}\[\]<>|#])")


def plain(text):
    """The text of a roff line without fonts and escapes."""
    return re.sub(r"\\f[BIR]|\\&", "", text).replace("\\e", "\\").replace("\\-", "-")


def markdown(text):
    """The text of a roff line with bold and italic words, and links to other pages of the program."""

    def page(found):
        name = plain(found[1])
        target = "index" if name == "tlnmf" else name.replace("tlnmf-", "")
        return f"[{name}({found[2]})]({target}.md)" if name.startswith("tlnmf") else f"{name}({found[2]})"

    parts = re.split(r"(\\fB(?:[^\\]|\\[^f])*\\fR\(\d\)|\\f[BI].*?\\fR)", text)
    for i, part in enumerate(parts):
        reference = re.fullmatch(r"\\fB(.*)\\fR\((\d)\)", part)
        if reference:
            parts[i] = page(reference)
        elif i % 2:
            mark = "`" if part.startswith("\\fB") else "*"
            parts[i] = mark + plain(part) + mark
        else:
            parts[i] = ESCAPED.sub(r"\\\1", plain(part))
    return "".join(parts)


def sections_of(lines):
    """The sections of a man page: {title: lines}."""
    sections, title = {}, None
    for line in lines:
        if line.startswith(".SH "):
            title = line[4:]
            sections[title] = []
        elif title is not None:
            sections[title].append(line)
    return sections


def paragraphs(lines, options):
    """The lines of a section: text, and the items of .TP, as directives if they are options."""
    rows, i, code = [], 0, False
    while i < len(lines):
        line = lines[i]
        i += 1
        if line in (".nf", ".fi"):
            code = line == ".nf"
            rows.append("```sh" if code else "```\n")
        elif code:
            rows.append(plain(line))
        elif line.startswith(".SS "):
            rows += ["", f"### {plain(line[4:])}", ""]
        elif line == ".TP":
            text, end = lines[i], i + 1
            while end < len(lines) and not lines[end].startswith("."):
                end += 1
            body = " ".join(markdown(row) for row in lines[i + 1 : end])
            if options and plain(text).startswith("-"):
                rows += [f"```{{option}} {plain(text)}", body[:1].upper() + body[1:], "```", ""]
            else:
                rows.append(f"- {markdown(text)}: {body}")
            i = end
        elif line != ".br":
            rows.append(markdown(line))
        elif rows:
            rows.append("")
    return rows


def read_guides():
    """The guides of each command, from the table of docs/program.md: {command: links}."""
    guides = {}
    for row in (headers.ROOT / "docs" / "program.md").read_text().splitlines():
        found = re.match(r"\| `(?:tlnmf|mpirun) ([\w-]+)[^`]*` \|.*\|([^|]*)\|$", row)
        links = re.findall(r"\[[^]]*\]\([^)]*\)", found[2]) if found else []
        if found:
            guides.setdefault(found[1], []).extend(link.replace("](", "](../") for link in links)
    return guides


def command_page(text, name, title, guides=()):
    """A page from the man page `text`: what it does, usage, and the sections in their order."""
    sections = sections_of(text.splitlines())
    sections.pop("SEE ALSO")  # the navigation has it
    purpose = plain(sections.pop("NAME")[0]).split(" - ", 1)[1]
    usage = [plain(line) for line in sections.pop("SYNOPSIS") if line != ".br"]
    rows = [f"# {title}", "", purpose[:1].upper() + purpose[1:] + ".", "", "## Usage", ""]
    rows += ["    " + line for line in usage] + [""]
    if guides:
        rows += ["Guides: " + ", ".join(dict.fromkeys(guides)), ""]
    rows += [f"```{{program}} {name}", "```", ""]
    for heading, lines in sections.items():
        if heading != "DESCRIPTION":
            rows += ["", f"## {TITLES.get(heading, heading.capitalize())}", ""]
        rows += paragraphs(lines, heading == "OPTIONS")
    return "\n".join(rows) + "\n"


def write_commands(program, folder):
    def page(*words):
        return subprocess.run([program, "--man", *words], check=True, capture_output=True, text=True).stdout

    folder.mkdir()
    main = page()
    lines = sections_of(main.splitlines())["COMMANDS"]
    commands = [plain(lines[i + 1]) for i, line in enumerate(lines) if line == ".TP"]
    if not commands:
        raise SystemExit(f"{program} --man lists no commands")
    guides = read_guides()
    for command in [*commands, "mpi"]:
        title = f"tlnmf {command}" if command != "mpi" else "tlnmf-mpi"
        links = guides.pop("tlnmf-mpi" if command == "mpi" else command)
        (folder / f"{command}.md").write_text(command_page(page(command), title, title, links))
    if guides:
        raise SystemExit(f"docs/program.md: these are not commands: {', '.join(guides)}")
    text = command_page(main, "tlnmf", "Commands")
    for command in commands:
        text, count = re.subn(rf"^- `{command}`:", f"- [`{command}`]({command}.md):", text, flags=re.M)
        if count != 1:
            raise SystemExit(f"{program} --man describes {command} {count} times")
    (folder / "index.md").write_text(text + toctree([*commands, "mpi"]))


# ---- C -------------------------------------------------------------------------------------------

ROLES = {"function": "func", "callback": "type", "struct": "type", "enum": "enum", "macro": "macro"}
WORD = re.compile(r"\b(?:(tlnmf_\w*[a-z0-9]|TLNMF_\w+)\b(?![*])|tlnmf/(\w+)\.h\b|docs/([\w/-]+)\.md\b)")


class Reference:
    """The pages of the headers, in Markdown with directives of Sphinx's C domain."""

    def __init__(self, found):
        self.headers, self.roles, self.scopes = found, {}, {}
        for header in found:
            for row in header.declarations():
                self.roles[row.name] = ROLES[row.kind] if row.text != "enum" else "enumerator"
                for name, *_ in row.members if row.text != "enum" else ():
                    self.roles[name] = "enumerator"
                    self.scopes[name] = f"{row.name}.{name}"

    def link(self, found):
        name, header, page = found.groups()
        if page:
            return f":doc:`/{page}`"
        if header:
            return f":doc:`/c/{header}`"
        if name not in self.roles:
            return name.replace("_", "\\_")
        called = found.string.startswith("(", found.end())  # Sphinx adds () to a name without a title
        target = f"{name} <{self.scopes.get(name, name)}>" if called or name in self.scopes else name
        return f":c:{self.roles[name]}:`{target}`"

    def inline(self, text):
        """Text of a comment in reStructuredText: `code`, *words*, links, and no other marks."""
        pieces = []  # text, mark, text, mark, ..
        for i, part in enumerate(text.split("`")):
            at = 0
            for found in WORD.finditer(part) if i % 2 == 0 else ():
                pieces += [self.escape(part[at : found.start()]), self.link(found)]
                at = found.end()
            pieces.append(f"``{part}``" if i % 2 else self.escape(part[at:]))
        for i in range(2, len(pieces), 2):  # after a mark comes a space or a punctuation mark
            pieces[i] = re.sub(r"^(?=[\w(\[{*|=<+&])", r"\\ ", pieces[i])
        return "".join(pieces)

    @staticmethod
    def escape(text):
        words = re.split(r"(\*\w+\*)", text)
        words[::2] = [re.sub(r"([\\*|_`])", r"\\\1", word) for word in words[::2]]
        return "".join(words)

    def parts(self, lines, indent):
        """A comment as rows of reStructuredText."""
        rows, pad = [], " " * indent
        for part in read_parts(lines):
            if part.kind == "code":
                cut = min(len(line) - len(line.lstrip()) for line in part.lines if line)
                language = "c" if any(line.endswith(";") for line in part.lines) else "text"
                rows += ["", f"{pad}.. code-block:: {language}", ""]
                rows += [f"{pad}   {line[cut:]}".rstrip() for line in part.lines] + [""]
            elif part.kind == "text":
                rows += ["", pad + self.inline(part.text()), ""]
            elif part.term.endswith("."):
                rows.append(f"{pad}{part.term} {self.inline(part.text())}")
            else:
                rows.append(f"{pad}* **{part.term}**: {self.inline(part.text())}")
        return rows

    def group(self, group):
        """A comment and its declarations. The comment describes the functions, if there are any."""
        rows = []
        functions = [row for row in group.declarations if row.kind == "function"]
        others = [row for row in group.declarations if row.kind != "function"]
        comment = self.parts(group.comment, 3)
        for row in group.declarations:
            if row.note:
                term = f":c:{self.roles[row.name]}:`{row.name}`: " if len(group.declarations) > 1 else ""
                comment += ["", f"   {term}{self.inline(sentence(row.note))}"]
        for row in others:
            rows += self.type_rows(row)
            if not functions and row is others[0]:
                rows += comment
            rows += self.member_rows(row) + [""]
        for i, row in enumerate(functions):
            rows.append((".. c:function:: " if i == 0 else "                ") + row.text)
        if functions:
            rows += ["", *comment]
        if not group.declarations:
            rows += self.parts(group.comment, 0)
        return rows + [""]

    def type_rows(self, row):
        kind = {"callback": "type", "struct": "type"}.get(row.kind, row.kind)
        text = {"struct": row.name, "macro": row.name, "callback": row.text.replace("typedef ", "")}.get(row.kind, row.name)
        if row.kind == "enum" and row.text == "enum":  # a constant
            return [f".. c:enumerator:: {row.name} = {row.members[0][1]}", ""]
        return [f".. c:{kind}:: {text}", ""]

    def member_rows(self, row):
        if row.text == "enum":
            return []
        rows = [f"   Value: ``{row.text}``", ""] if row.kind == "macro" and row.text.isalnum() else []
        for name, value, about in row.members:
            rows += ["", f"   .. c:enumerator:: {name} = {value}", ""]
            rows += [f"      {self.inline(sentence(about))}"] if about else []
        return rows

    def page(self, header):
        rows = [f"# {header.name}", "", "```{eval-rst}", self.inline(sentence(header.purpose)), ""]
        rows += [".. code-block:: c", "", f"   #include <{header.name}>  /* {header.library} */", ""]
        rows += self.parts(header.about, 0) + ["```", ""]
        for section in header.sections:
            rows += [f"## {section.title[:1].upper() + section.title[1:]}", "", "```{eval-rst}"]
            for group in section.groups:
                rows += self.group(group)
            rows += ["```", ""]
        return "\n".join(rows)

    def index(self):
        rows = ["# C functions and types", ""]
        rows += ["[The guide](../library.md) explains how the parts work together. The same text is in the"]
        rows += ["headers and in the man pages: `man 3 tlnmf` is the overview, `man 3 tlnmf_fit` a function.", ""]
        for header in self.headers:
            rows += [f"## {header.name}", "", f"[{sentence(header.purpose)}]({header.stem}.md)", ""]
            for section in header.sections:
                names = [row.name for row in section.declarations() if row.kind == "function"]
                links = ", ".join(f"{{c:func}}`{name}`" for name in names)
                anchor = re.sub(r"[^a-z -]", "", section.title).replace(" ", "-")
                rows.append(f"- [{section.title}]({header.stem}.md#{anchor}): {links}")
            rows.append("")
        return "\n".join(rows) + toctree(header.stem for header in self.headers)


def write_c(folder):
    folder.mkdir()
    reference = Reference(headers.read_headers())
    for header in reference.headers:
        (folder / f"{header.stem}.md").write_text(reference.page(header))
    (folder / "index.md").write_text(reference.index())


def main():
    if len(sys.argv) != 3:
        raise SystemExit("usage: reference.py BUILD SOURCE")
    build, source = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    write_commands(build / "tlnmf", source / "commands")
    write_c(source / "c")


if __name__ == "__main__":
    main()
