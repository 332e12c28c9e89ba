# SPDX-License-Identifier: MIT
"""Sphinx reads this beside the pages that build.py has gathered."""

import os
import pathlib

project = "Conclave"
author = "the authors of Conclave"
copyright = "the authors of Conclave; MIT licence"  # pylint: disable=redefined-builtin
release = os.environ.get("CONCLAVE_VERSION", "")
extensions = ["myst_parser"]
root_doc = "index"
exclude_patterns = ["_static", "_extra", "_trees"]

# Headings have the anchors that GitHub gives them, so that the links of the Markdown hold in both places.
myst_heading_anchors = 6

smartquotes = False  # --watch is no dash

html_theme = "furo"
html_title = "Conclave"
html_static_path = ["_static"]
html_extra_path = ["_extra"] if (pathlib.Path(__file__).parent / "_extra").is_dir() else []  # the explorer
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_last_updated_fmt = None
html_use_index = False
html_domain_indices = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0067a1", "color-brand-content": "#0067a1", "color-background-primary": "#fdfdfb"},
    "dark_css_variables": {"color-brand-primary": "#6db8ee", "color-brand-content": "#6db8ee", "color-background-primary": "#16191d"},
}
pygments_style = "friendly"
pygments_dark_style = "monokai"
