"""What docs/conf.py does to signatures, docstrings and links."""

import functools
import os
import re
import sys
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from docutils import nodes


@pytest.fixture
def conf(load, tmp_path, monkeypatch):
    # It sets what the pages run with, and writes a profile where it stands.
    for name in ("JAX_PLATFORMS", "JAX_DISABLE_MOST_OPTIMIZATIONS", "IPYTHONDIR"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    monkeypatch.setattr(sys, "path", list(sys.path))
    return load("../docs/conf")


def read(conf, *lines):
    found = list(lines)
    conf.read_markdown(None, "function", "x", None, None, found)
    return found


@pytest.mark.parametrize(
    ("markdown", "wanted"),
    [
        ("a [page](https://x.org/y) here", "a `page <https://x.org/y>`__ here"),
        ("k * n and *args", r"k \* n and \*args"),
        ("`a * b` stays", "``a * b`` stays"),
        (">>> f(*args)", ">>> f(*args)"),
        ("`x`s are code", r"``x``\ s are code"),
        ("  rate_: no reference", r"  rate\_: no reference"),
        ("``a`` [b]", "``a`` [b]"),
    ],
)
def test_markdown_becomes_what_sphinx_reads(conf, markdown, wanted):
    assert read(conf, markdown) == [wanted]


def test_code_over_two_lines_becomes_one(conf):
    assert read(conf, "see `a", "  b` there") == ["see ``a b`` there"]


def test_two_backquotes_in_two_paragraphs_are_no_code(conf):
    assert read(conf, "a ` b", "", "c ` d * e") == ["a ` b", "", r"c ` d \* e"]


class Box:
    """Holds."""

    def __init__(self, size: "int" = 2**4, *, name: str | None = None) -> None:
        """Makes."""

    def open(self, n: int, /, *rest: int) -> "Box":
        """Opens."""


@pytest.mark.parametrize(
    ("what", "obj", "wanted"),
    [
        ("class", Box, ("(size: int=16, *, name: str | None=None)", "")),
        ("method", Box.open, ("(n: int, /, *rest: int)", "Box")),
        ("function", len, None),
        ("function", functools.partial(len), None),
        ("function", lambda: 1, None),
    ],
)
def test_signatures_are_as_the_source_has_them(conf, what, obj, wanted):
    assert conf.signature_as_written(None, what, "x", obj, None, None, None) == wanted


def test_fields_of_named_tuples_are_left_out(conf):
    class Row(NamedTuple):
        n: int

    def skips(obj, *, skip=False):
        return conf.skip_fields(None, "class", "n", obj, skip, None)

    assert skips(Row.n)
    assert not skips(Box.open)
    assert skips(Box.open, skip=True)


@pytest.fixture
def package(conf, monkeypatch):
    """A package `x` that exports Loader from x._loader, and not Private."""
    monkeypatch.setitem(sys.modules, "x", SimpleNamespace(__all__=["Loader"]))
    monkeypatch.setattr(conf._pages, "MODULES", ["x"])


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ("x._loader.Loader", "x.Loader"),
        ("x._loader.Private", "x._loader.Private"),
        ("numpy.ndarray", "numpy.ndarray"),
        ("int", "int"),
    ],
)
def test_a_class_is_named_by_the_package_that_exports_it(conf, package, target, wanted):
    assert conf.public_name(target) == wanted


def linked(conf, monkeypatch, **attributes):
    entry = SimpleNamespace(docname="api/x", node_id="x.Loader")
    domain = SimpleNamespace(objects={"x.Loader": entry})
    env = SimpleNamespace(domains=SimpleNamespace(python_domain=domain))
    app = SimpleNamespace(builder=None)
    monkeypatch.setattr(conf, "make_refnode", lambda *given: given)
    node = nodes.Element(**{"refdomain": "py", "refdoc": "here", **attributes})
    return conf.link_annotation(app, env, node, nodes.Text("Loader"))


def test_annotations_are_linked_and_the_rest_is_left_alone(conf, package, monkeypatch):
    link = functools.partial(linked, conf, monkeypatch)
    wanted = (None, "here", "api/x", "x.Loader", "Loader")
    assert link(reftarget="x._loader.Loader") == wanted
    assert link(reftarget="Loader", **{"py:module": "x"}) == wanted
    assert link(reftarget="numpy.ndarray") == "Loader"  # plain text
    # What somebody wrote and leads nowhere shall be a warning.
    assert link(reftarget="x._loader.Loader", refwarn=True) is None
    assert link(reftarget="x", refdomain="std") is None


def test_setup_connects_what_there_is(conf):
    asked = []
    app = SimpleNamespace(connect=lambda event, f, **_: asked.append((event, f)))
    conf.setup(app)
    named = {f for _, f in asked}
    assert {conf.link_annotation, conf.signature_as_written} <= named
    assert {conf.read_markdown, conf.skip_fields} <= named
    assert re.search("builder-inited", str(asked))
