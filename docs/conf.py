"""The documentation site: `make docs`, or `python -m sphinx docs build/docs`."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import reference  # noqa: E402

from grande_gnn import __version__  # noqa: E402

project, author, release = "GRaNDe", "the GRaNDe authors", __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"GRaNDe {release}"
html_static_path = ["static"]
html_favicon = "static/icon.svg"
html_js_files = ["degree.js"]
html_copy_source = False
html_show_copyright = False  # the licence is in the repository
exclude_patterns = ["build"]
suppress_warnings = [
    "toc.empty_glob",  # pages that are still being written are named by patterns
    "ref.python",  # several classes have an attribute called labels
]

myst_heading_anchors = 3
myst_enable_extensions = ["attrs_inline"]
autodoc_typehints = "description"
autodoc_type_aliases = {"ArrayLike": "ArrayLike"}  # numpy's name, not the union that it stands for
autodoc_member_order = "bysource"
napoleon_google_docstring = False

reference.write(HERE / "generated")


def setup(app):
    """Links out of this folder lead to copies; bars in docstrings are text; scikit-learn's own methods are left out."""

    def read(app, name, source):
        if not name.startswith("generated/"):
            source[0] = reference.links_to_copies(source[0])

    def docstring(app, what, name, thing, options, lines):
        lines[:] = [reference.plain_bars(line) for line in lines]

    def skip(app, what, name, thing, skip, options):
        return True if name.startswith("set_") and name.endswith("_request") else None

    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", docstring)
    app.connect("autodoc-skip-member", skip)
