"""What docs/_pages.py makes of READMEs and of the lock file."""

import sys

import pytest

README = """\
# a

Text of [the loader](src/a/_loader.py), a [picture](../../docs/x.png), [b](../b) and
[the site](https://example.org).

![shown](../../docs/x.png)

```python
table["[code](stays)"]
```

## Speed

All of it.

## Limits

Said before.

| what | s |
|---|---|
| a | 1.5 |
| b | <2 |

Said after.

```
## no heading
```

Further down.
"""
LOCK = """
[[package]]
name = "a"
version = "0.3.0"
source = { editable = "packages/a" }
dependencies = [{ name = "numpy" }, { name = "b" }]
[package.optional-dependencies]
fast = [{ name = "pandas" }]
[[package]]
name = "b"
version = "0.1.0"
source = { virtual = "." }
[[package]]
name = "numpy"
version = "2.4.6"
source = { registry = "r" }
resolution-markers = ["python_full_version < '3.12'"]
[[package]]
name = "numpy"
version = "2.5.5"
source = { registry = "r" }
resolution-markers = ["python_full_version >= '3.12'"]
[[package]]
name = "pandas"
version = "3.0"
source = { registry = "r" }
[[package]]
name = "unasked"
version = "1"
source = { registry = "r" }
"""


@pytest.fixture
def pages(load, tmp_path, monkeypatch):
    """docs/_pages.py, in a repository of two packages."""
    monkeypatch.delenv("DOCS_REPOSITORY", raising=False)
    module = load("../docs/_pages")
    for name, text in {
        "packages/a/README.md": README,
        "packages/a/src/a/_loader.py": "",
        "packages/b/README.md": "# b\n",
        "docs/x.png": "",
        "docs/guide.md": "",
        "uv.lock": LOCK,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "OUT", tmp_path / "docs/generated")
    readmes = {f"packages/{name}/README.md": f"{name}.md" for name in "ab"}
    monkeypatch.setattr(module, "READMES", readmes)
    monkeypatch.setattr(module, "CHILDREN", {"a.md": ["../api/a"]})
    return module


def test_links_lead_from_the_generated_folder(pages, tmp_path):
    text = pages.moved(tmp_path / "packages/a/README.md")
    assert "![shown](../x.png)" in text
    assert "[b](b.md)" in text
    assert "[the site](https://example.org)" in text
    assert "Text of `the loader`," in text  # a file that is no page has no address
    assert 'table["[code](stays)"]' in text


def test_files_that_are_no_pages_are_linked_where_the_repository_is(
    pages, tmp_path, monkeypatch
):
    monkeypatch.setenv("DOCS_REPOSITORY", "https://example.org/q")
    text = pages.moved(tmp_path / "packages/a/README.md")
    address = "https://example.org/q/blob/main/packages/a/src/a/_loader.py"
    assert f"[the loader]({address})" in text


@pytest.mark.parametrize(
    ("link", "wanted"),
    [
        ("[g](../../docs/guide.md#part)", "[g](../guide.md#part)"),
        ("[a](README.md#speed)", "[a](a.md#speed)"),
        ("[here](#speed)", "[here](#speed)"),
        ("[`code`](src/a/_loader.py)", "`code`"),
    ],
)
def test_each_kind_of_link(pages, tmp_path, link, wanted):
    file = tmp_path / "packages/a/README.md"
    file.write_text(link)
    assert pages.moved(file) == wanted


def test_a_dead_link_stops_the_build(pages, tmp_path):
    file = tmp_path / "packages/a/README.md"
    file.write_text("[x](none.py)")
    with pytest.raises(ValueError, match=r"README\.md links to none\.py, which is not"):
        pages.moved(file)


def test_sections_are_those_of_second_headings_outside_of_code(pages):
    found = pages.sections(README)
    assert list(found) == ["Speed", "Limits"]
    assert found["Speed"] == "All of it."
    assert "## no heading" in found["Limits"]


def test_the_measured_part_is_the_table_and_what_is_beside_it(pages):
    found = pages.sections(README)
    assert pages.measured_part("Speed", found["Speed"]) == "All of it."
    part = pages.measured_part("Limits", found["Limits"])
    assert part.startswith("Said before.\n\n| what | s |")
    assert part.endswith("Said after.")


@pytest.mark.parametrize(
    ("block", "measured"),
    [
        ("| a | b |\n|---|---|\n| x | 1 |", True),
        ("| a | b | c |\n|---|---|---|\n| 1 | x | y |\n| 2 | z | 1 |", False),
        ("| a |\n|---|", False),
        ("1 2 3", False),
    ],
)
def test_a_table_is_measured_when_half_of_it_behind_the_first_column_is_numbers(
    pages, block, measured
):
    assert pages.is_measured(block) is measured


def test_versions_are_those_of_each_python_that_somebody_asks_for(pages, tmp_path):
    lines = pages.versions(tmp_path / "uv.lock").splitlines()
    assert "| numpy | 2.4.6 | 2.5.5 | 2.5.5 |" in lines
    assert "| pandas | 3.0 | 3.0 | 3.0 |" in lines
    assert "| jaxlib | none | none | none |" in lines
    assert "| a | 0.3.0 |" in lines
    assert "| b | 0.1.0 |" in lines
    assert not [line for line in lines if "unasked" in line]


def test_pages_are_written_once_and_old_ones_go(pages, tmp_path):
    out = tmp_path / "docs/generated"
    out.mkdir()
    (out / "old.md").touch()
    pages.write_all()
    assert {f.name for f in out.iterdir()} == {
        "a.md",
        "b.md",
        "measured.md",
        "versions.md",
    }
    assert (
        (out / "a.md").read_text().endswith("```{toctree}\n:hidden:\n\n../api/a\n```\n")
    )
    assert "## a\n\nAll of it." in (out / "measured.md").read_text()
    before = (out / "a.md").stat().st_mtime_ns
    pages.write_all()
    assert (out / "a.md").stat().st_mtime_ns == before


def test_every_readme_of_this_repository_is_a_page(load):
    module = load("../docs/_pages")
    assert [name for name in module.READMES if not (module.ROOT / name).exists()] == []
    there = {f.parent.name for f in module.ROOT.glob("packages/*/pyproject.toml")}
    assert set(module.PACKAGES) == there
    assert sys.modules.get("_pages") is not module  # loaded apart, and changed by tests
