"""The site: `make docs` builds it into build/docs/html.

It needs no network. Links into other projects' documentation are made where their inventories can be had: set
PRINCDIFF_INTERSPHINX=1 to fetch them, or to a folder that holds them as <project>.inv.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import princdiff  # noqa: E402

project = "princdiff"
author = "the princdiff developers"
copyright = author
version = release = princdiff.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "generated_pages",
]
exclude_patterns = ["_build", "_ext", "_templates", "tutorials", "**/README.md"]
templates_path = ["_templates"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
# Names in single backticks of docstrings are links where there is something to link to.
default_role = "autolink"

myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Times in the text of a page would change with every build.
sphinx_gallery_conf = {
    "examples_dirs": ["tutorials"],
    "gallery_dirs": ["auto_tutorials"],
    "filename_pattern": r"/\d",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "backreferences_dir": "reference/api/backreferences",
    "doc_module": ("princdiff",),
    "capture_repr": ("_repr_html_", "__repr__"),
    # Pictures are shown; that they are Axes says nothing more.
    "ignore_repr_types": r"matplotlib\.|numpy\.ndarray",
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "matplotlib_animations": False,
    "thumbnail_size": (400, 280),
    "image_scrapers": ("matplotlib",),
}
# A tutorial that warns tells its readers to expect warnings: it should say so in its own words instead.
warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive.*")

# Values such as "auto" are code: curly quotes could not be pasted.
smartquotes_action = "De"
html_theme = "pydata_sphinx_theme"
html_title = "princdiff"
html_static_path = ["_static"]
html_css_files = ["princdiff.css"]
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo-dark.svg",
        "alt_text": "princdiff: to the front page",
    },
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "back_to_top_button": False,
    "footer_start": ["copyright"],
    "footer_end": ["release"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "install": []}

_INVENTORIES = {
    "python": "https://docs.python.org/3/",
    "numpy": "https://numpy.org/doc/stable/",
    "scipy": "https://docs.scipy.org/doc/scipy/",
    "pandas": "https://pandas.pydata.org/docs/",
    "sklearn": "https://scikit-learn.org/stable/",
    "matplotlib": "https://matplotlib.org/stable/",
    "anndata": "https://anndata.readthedocs.io/en/stable/",
}
_asked = os.environ.get("PRINCDIFF_INTERSPHINX", "")
if _asked and _asked != "0":
    extensions.append("sphinx.ext.intersphinx")
    folder = Path(_asked)
    intersphinx_mapping = {
        name: (address, str(folder / f"{name}.inv") if folder.is_dir() else None)
        for name, address in _INVENTORIES.items()
        if not folder.is_dir() or (folder / f"{name}.inv").exists()
    }
    # An inventory that cannot be had costs its links, not the build.
    suppress_warnings = ["intersphinx.external"]
    numpydoc_xref_param_type = True


# Pages for those who work on princdiff itself would stand before those for its users; their titles are found.
_NOT_SEARCHED = ("decisions/", "contributing/", "architecture")


def _leave_out_of_search(app, env):
    for page in env.all_docs:
        if page.startswith(_NOT_SEARCHED):
            env.metadata[page]["nosearch"] = ""


def setup(app):
    app.connect("env-updated", _leave_out_of_search)
