"""Sphinx's settings: `nox -s docs` builds the site into build/docs/html.

Set DOCS_INTERSPHINX=1 to link types of jax, numpy and others to their own sites, which
needs the network, and DOCS_REPOSITORY=URL to link files that are no pages to their
place on the web.
"""

# ruff: noqa: INP001

import importlib
import os
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import _pages
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

project = "quiver"
author = "the quiver developers"
copyright = author  # noqa: A001  (Sphinx's name)

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["build", "_templates"]
html_theme = "furo"
html_title = "quiver"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5fa8"},
    "dark_css_variables": {"color-brand-primary": "#7fb2ea"},
}

# Pages run once and again when they change. A page that fails stops the build.
nb_execution_mode = "cache"
BUILD = _pages.ROOT / "build/docs"
nb_execution_cache_path = os.environ.get("DOCS_CACHE", str(BUILD / "cache"))
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
myst_enable_extensions = []  # no formulas: MathJax would be loaded from elsewhere
myst_heading_anchors = 3
os.environ.setdefault("JAX_PLATFORMS", "cpu")  # the same pages on every machine

# Errors are shown by their message, without the traceback.
PROFILE = BUILD / "ipython/profile_default"
PROFILE.mkdir(parents=True, exist_ok=True)
(PROFILE / "ipython_kernel_config.py").write_text(
    'c.InteractiveShell.xmode = "Minimal"\n'
)
os.environ["IPYTHONDIR"] = str(PROFILE.parent)

default_role = "code"  # a docstring's `x` is code
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True}
napoleon_use_ivar = True
napoleon_use_rtype = False
python_use_unqualified_type_names = True

nitpicky = True

if os.environ.get("DOCS_INTERSPHINX"):
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "jax": ("https://docs.jax.dev/en/latest", None),
        "optax": ("https://optax.readthedocs.io/en/latest", None),
        "haiku": ("https://dm-haiku.readthedocs.io/en/latest", None),
        "pyarrow": ("https://arrow.apache.org/docs", None),
    }


def public_name(target: str) -> str:
    """Names a class by the package that exports it: x._loader.Loader is x.Loader."""
    package, _, name = target.partition(".")
    name = name.rpartition(".")[2]
    exported = package in _pages.MODULES and importlib.import_module(package).__all__
    return f"{package}.{name}" if exported and name in exported else target


def link_annotation(
    app: Sphinx, env: Any, node: nodes.Element, content: nodes.TextElement
) -> nodes.Node | None:
    """Links types in signatures to where they are public; others stay plain text.

    References that somebody wrote are left alone, so that a dead one is a warning.
    """
    if node.get("refdomain") != "py" or "refwarn" in node:
        return None
    target = public_name(node["reftarget"])
    module = node.get("py:module")
    objects = env.domains.python_domain.objects
    entry = objects.get(target) or objects.get(f"{module}.{target}")
    if entry is None:
        return content
    where = (entry.docname, entry.node_id, content)
    return make_refnode(app.builder, node["refdoc"], *where)


def read_markdown(*args: Any) -> None:
    """Turns the Markdown that docstrings are written in into Sphinx's notation."""
    lines = args[-1]
    text = "\n".join(lines)
    text = re.sub(
        r"(?<!`)\[([^][]+)\]\((https?://[^)\s]+)\)",
        lambda link: f"`{' '.join(link[1].split())} <{link[2]}>`__",
        text,
    )
    code = r"(`[^`]+`__|``[^`]+``|`(?:[^`\n]|\n(?!\s*\n))+`|^ *(?:>>>|\.\.\.).*$)"
    parts = re.split(code, text, flags=re.MULTILINE)
    for i, part in enumerate(parts):
        if i % 2 == 0:  # stars outside of code are stars
            parts[i] = part.replace("*", "\\*")
        elif re.fullmatch(r"`[^`]+`", part):  # code may touch letters
            glue = "\\ " if parts[i + 1][:1].isalnum() else ""
            parts[i] = f"`{' '.join(part.split())}`{glue}"
    lines[:] = "".join(parts).split("\n")


def skip_fields(*args: Any) -> bool:
    """Leaves out a NamedTuple's fields, which its docstring describes."""
    _, _, _, obj, skip, _ = args
    return skip or type(obj).__name__ == "_tuplegetter"


def setup(app: Sphinx) -> None:
    """Makes the pages that come from READMEs and the lock, and mends links."""
    app.connect("builder-inited", lambda _: _pages.write_all())
    app.connect("missing-reference", link_annotation)
    app.connect("autodoc-process-docstring", read_markdown)
    app.connect("autodoc-skip-member", skip_fields)
