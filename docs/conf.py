"""Sphinx's settings: `nox -s docs` builds the site into build/docs/html.

Set DOCS_INTERSPHINX=1 to link types of jax, numpy and others to their own sites, which
needs the network, and DOCS_REPOSITORY=URL to link files that are no pages to their
place on the web.
"""

# ruff: noqa: INP001

import ast
import importlib
import inspect
import os
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import _pages
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.domains.python import PyObject
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
nb_execution_show_tb = True
nb_execution_timeout = 300
nb_merge_streams = True
myst_enable_extensions = []  # no formulas: MathJax would be loaded from elsewhere
myst_heading_anchors = 3
os.environ.setdefault("JAX_PLATFORMS", "cpu")  # the same pages on every machine
# Most of a page's time is compiling, and none of it is measured.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

# Errors are shown by their message, without the traceback.
PROFILE = BUILD / "ipython/profile_default"
PROFILE.mkdir(parents=True, exist_ok=True)
(PROFILE / "ipython_kernel_config.py").write_text(
    'c.InteractiveShell.xmode = "Minimal"\n'
)
os.environ["IPYTHONDIR"] = str(PROFILE.parent)

smartquotes = False  # "jax" is what one types
default_role = "code"  # a docstring's `x` is code
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True}
napoleon_use_ivar = True
napoleon_use_rtype = False
python_use_unqualified_type_names = True

nitpicky = True
for field in PyObject.doc_field_types:
    if field.name == "variable":
        field.label = "Attributes"

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


class _Computed(ast.NodeTransformer):
    """Replaces sums and products of numbers by what they are."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        numbers = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
        if not all(isinstance(part, numbers) for part in ast.walk(node)):
            return node  # such as a union of types
        value = eval(ast.unparse(node), {"__builtins__": {}})  # noqa: S307 (numbers)
        return ast.Constant(value)


def signature_as_written(*args: Any) -> tuple[str, str] | None:
    """Shows a signature as the source has it, with names of types and defaults."""
    _, what, _, obj, *_ = args
    call = obj.__init__ if isinstance(obj, type) else obj
    try:
        source = textwrap.dedent(inspect.getsource(call))
    except (OSError, TypeError):  # made by a decorator, or not in Python
        return None
    function = ast.parse(source).body[0]
    if not isinstance(function, ast.FunctionDef):
        return None
    for node in ast.walk(function):  # "Dataset", of what is defined further down
        if isinstance(note := getattr(node, "annotation", None), ast.Constant):
            node.annotation = ast.Name(str(note.value))
    if isinstance(function.returns, ast.Constant):
        function.returns = ast.Name(str(function.returns.value))
    named = _Computed().visit(function.args)
    for listed in (named.posonlyargs, named.args):
        if listed and listed[0].arg in {"self", "cls"}:
            del listed[0]
    returns = ast.unparse(function.returns) if function.returns else ""
    return f"({ast.unparse(named)})", "" if what == "class" else returns


def read_markdown(*args: Any) -> None:
    """Turns the Markdown that docstrings are written in into Sphinx's notation."""
    lines = args[-1]
    text = "\n".join(lines)
    text = re.sub(
        r"(?<!`)\[([^][]+)\]\((https?://[^)\s]+)\)",
        lambda link: f"`{' '.join(link[1].split())} <{link[2]}>`__",
        text,
    )
    text = re.sub(r"^( +\w+)_:", r"\1\\_:", text, flags=re.MULTILINE)  # no reference
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
    app.connect("autodoc-process-signature", signature_as_written)
    app.connect("autodoc-process-docstring", read_markdown, priority=400)
    app.connect("autodoc-skip-member", skip_fields)
