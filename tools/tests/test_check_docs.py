import pytest


@pytest.fixture
def tool(load):
    return load("check_docs")


SOURCES = {
    "packages/x-y/src/x_y/__init__.py": """
        from typing import TYPE_CHECKING
        from x_y._makers import LIMIT, Bad, Box, Kept, Row, make, mend, quiet
        __all__ = ["LIMIT", "Bad", "Box", "Kept", "Row", "make", "mend", "quiet"]
    """,
    "packages/x-y/src/x_y/_makers.py": '''
        LIMIT = 3

        class Bad(ValueError):
            """Wrong."""

        class Row(NamedTuple):
            """Fields."""

        @dataclasses.dataclass(frozen=True)
        class Kept:
            """Fields."""

        @dataclasses.dataclass(frozen=True)
        class Box:
            """Has something to call."""

            def open(self):
                """Opens.

                >>> Box().open()
                """

        @overload
        def make(a: int): ...
        def make(a):
            """Makes.

            Example:
              >>> make(1)
            """

        def mend():
            """Shown on the page alone."""

        def quiet():
            """Shows nothing."""
    ''',
    "packages/x-y/src/x_y/public.py": '''
        __all__ = ["extra"]

        def extra():
            """Says `>>>` and shows nothing."""
    ''',
    "docs/api/x_y.md": """
        ```{eval-rst}
        .. autofunction:: x_y.make
        .. autofunction:: x_y.mend
        .. autoclass:: x_y.Box
        .. autoclass:: x_y.Bad
        .. autoclass:: x_y.Row
        .. autoclass:: x_y.Kept
        .. py:data:: x_y.LIMIT
        .. autofunction:: x_y.public.extra
        ```
        quiet() and extra() outside of a cell are no examples.
        ```{code-cell}
        mend()
        ```
    """,
}


@pytest.fixture
def root(tmp_path):
    import textwrap

    for name, text in SOURCES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
    return tmp_path


def test_each_name_is_judged(tool, root):
    found = {name.name: name[1:] for name in tool.public_names(root)}
    assert found == {
        "x_y.LIMIT": (True, False, "a constant or an alias"),
        "x_y.Bad": (True, False, "an exception"),
        "x_y.Row": (True, False, "a NamedTuple"),
        "x_y.Kept": (True, False, "a dataclass of fields alone"),
        "x_y.Box": (True, True, ""),
        "x_y.make": (True, True, ""),
        "x_y.mend": (True, True, ""),
        "x_y.quiet": (False, False, ""),
        "x_y.public.extra": (True, False, ""),
    }


def test_what_lacks_something_is_said_and_fails(tool, root, capsys):
    assert tool.main(["--root", str(root)]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "module      names  entry  example  needs none  lacks one",
        "x_y             8      7        3           4          1",
        "x_y.public      1      1        0           0          1",
        "all             9      8        3           4          2",
    ]
    cure = (
        "write a doctest into its docstring, or call it in a code cell of "
        "docs/api/x_y.md"
    )
    assert err.splitlines() == [
        "x_y.quiet has no entry in docs/api/x_y.md",
        f"x_y.quiet has no example: {cure}",
        f"x_y.public.extra has no example: {cure}",
    ]


def test_a_package_without_a_page_lacks_every_entry(tool, root):
    (root / "docs/api/x_y.md").unlink()
    assert not any(name.entry for name in tool.public_names(root))


def test_all_says_what_needs_no_example_and_why(tool, root, capsys):
    tool.main(["--root", str(root), "--all"])
    assert "x_y.Row needs no example: a NamedTuple" in capsys.readouterr().out


def test_all_is_well_in_this_repository(tool, capsys):
    assert tool.main([]) == 0
    assert capsys.readouterr().err == ""


def test_names_that_cannot_run_exist(tool):
    names = {name.name: name for name in tool.public_names(tool.ROOT)}
    assert not any(names[name].example for name in tool.CANNOT_RUN)


def test_a_folder_without_packages_is_an_error(tool, tmp_path, capsys):
    assert tool.main(["--root", str(tmp_path)]) == 2
    assert f"{tmp_path} has no packages/*/src/*/__init__.py" in capsys.readouterr().err


@pytest.mark.parametrize(
    "broken",
    [
        ("packages/x-y/src/x_y/_makers.py", b"def (", "is no Python (invalid syntax"),
        ("packages/x-y/src/x_y/_makers.py", b"\xff", "cannot be read ('utf-8'"),
        ("packages/x-y/src/x_y/_makers.py", None, "cannot be read ([Errno 2]"),
        ("packages/x-y/src/x_y/__init__.py", b"x = \0", "is no Python"),
        (
            "packages/x-y/src/x_y/__init__.py",
            b"__all__ = [*X]",
            "__all__ is '[*X]', wanted a list of names",
        ),
        ("docs/api/x_y.md", b"\xff", "cannot be read ('utf-8'"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line_and_exit_code_2(
    tool, root, capsys, broken
):
    file, content, complaint = broken
    if content is None:
        (root / file).unlink()
    else:
        (root / file).write_bytes(content)
    assert tool.main(["--root", str(root)]) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"check_docs.py: {root / file}: {complaint}")
    assert (said.out, said.err.count("\n")) == ("", 1)


def test_help_says_what_is_exempt(tool, capsys):
    with pytest.raises(SystemExit) as end:
        tool.main(["--help"])
    assert end.value.code == 0
    assert "NamedTuples, Protocols" in capsys.readouterr().out
