# Configuration of Sphinx for the site. site.py assembles the pages and calls sphinx-build.
import os
import re
import sys
from pathlib import Path

from docutils import nodes

sys.path.insert(0, str(Path(__file__).resolve().parent))
from headers import read_release

project = "tlnmf"
author = "the tlnmf authors"
copyright = author
version = release = read_release()[0]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
highlight_language = "text"
default_role = "code"
smartquotes = False  # they turn the dashes of --options into one
nitpicky = True
# Types in signatures and docstrings are words such as "array (M, N)", not names of Python objects.
nitpick_ignore_regex = [("py:.*", ".*"), ("c:identifier", "u?int(32|64)_t|size_t")]

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_use_rtype = False
napoleon_use_param = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"tlnmf {version}"
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_extra_path = [os.environ["TLNMF_SITE_EXTRA"]]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_last_updated_fmt = None
html_domain_indices = False
pygments_style = "friendly"
pygments_dark_style = "native"


def escape_docstring(app, what, name, value, options, lines):
    """Docstrings are plain text: outside of `code` and of examples, * | and name_ are no markup."""
    example = False
    for i, line in enumerate(lines):
        example = line.strip().startswith(">>>") or (example and line.strip() != "")
        if not example:
            parts = line.split("`")
            parts[::2] = [re.sub(r"[*|]|(?<=\w)_(?!\w)", r"\\\g<0>", part) for part in parts[::2]]
            lines[i] = "`".join(parts)


def dash(app, tree, page):
    """The dash between a parameter and its text, which smartquotes would make."""
    for text in list(tree.findall(nodes.Text)):
        if text == " -- ":
            text.parent.replace(text, nodes.Text(" \N{EN DASH} "))


def setup(app):
    app.connect("doctree-resolved", dash)
    app.connect("autodoc-process-docstring", escape_docstring, priority=100)
