"""What is wrong with pages; that a browser says so is for `nox -s browser`."""

import sys

import pytest


@pytest.fixture
def tool(load):
    return load("check_pages")


def page(tool, path, *links, ids=()):
    path.write_text("<html></html>")
    return tool.Page(path.resolve(), [str(link) for link in links], set(ids), [])


def test_links_that_lead_nowhere_are_named(tool, tmp_path):
    b = tmp_path / "b c.html"
    pages = [
        page(
            tool,
            tmp_path / "a.html",
            b.as_uri(),
            b.as_uri() + "#here",
            b.as_uri() + "#gone",
            (tmp_path / "none.html").as_uri(),
            tmp_path.as_uri(),
            "https://example.org/x",
            "mailto:a@example.org",
        ),
        page(tool, b, ids=["here"]),
    ]
    assert tool.dead_links(pages) == [
        f"{tmp_path}/a.html: links to b c.html#gone, and the page has no such place",
        f"{tmp_path}/a.html: links to {tmp_path}/none.html, which is not there",
    ]
    assert tool.outside(pages) == {"https://example.org/x"}


def test_pages_are_found_below_folders(tool, tmp_path):
    (tmp_path / "sub").mkdir()
    wanted = [page(tool, tmp_path / name).path for name in ("a.html", "sub/b.html")]
    (tmp_path / "c.txt").write_text("")
    assert tool.pages_in([tmp_path]) == wanted
    assert tool.pages_in([tmp_path / "a.html"]) == wanted[:1]


@pytest.mark.parametrize("name", ["empty", "none.html"])
def test_where_no_page_is_the_command_says_so(tool, tmp_path, capsys, name):
    (tmp_path / "empty").mkdir()
    assert tool.main([str(tmp_path / name)]) == 2
    assert capsys.readouterr().err == f"{tmp_path / name}: holds no page\n"


def test_without_a_browser_or_a_place_for_pictures_there_is_one_line(
    tool, tmp_path, monkeypatch, capsys
):
    path = page(tool, tmp_path / "a.html").path
    path.write_text("<p>")
    monkeypatch.setitem(sys.modules, "playwright", None)
    for more, complaint in (
        ([], "playwright is not installed; run this by nox -s browser"),
        (["--screenshots", str(path)], f"--screenshots {path}: cannot be a folder"),
    ):
        with pytest.raises(SystemExit) as end:
            tool.main([str(path), *more])
        assert end.value.code == 2
        assert complaint in capsys.readouterr().err


class Tab:
    """A tab of a browser that has one page with everything wrong."""

    def __init__(self):
        self.heard = {}

    def on(self, event, call):
        self.heard[event] = call

    def goto(self, address, wait_until):
        del wait_until
        assert address.startswith("file://")
        self.heard["pageerror"]("TypeError: x")
        self.heard["console"](type("Said", (), {"type": "error", "text": "no"}))
        self.heard["console"](type("Said", (), {"type": "log", "text": "fine"}))
        self.heard["requestfailed"](type("Request", (), {"url": "file:///x.js"}))

    def wait_for_load_state(self, state):
        assert state == "networkidle"

    def evaluate(self, script):
        assert "naturalWidth" in script
        return {"links": ["https://a.b"], "ids": ["i"], "broken": ["x.png"]}

    def screenshot(self, path):
        path.write_bytes(b"png")

    def close(self):
        pass


def test_everything_that_a_browser_complains_of_is_kept(tool, tmp_path):
    browser = type("Browser", (), {"new_page": lambda _, viewport: viewport and Tab()})
    path = page(tool, tmp_path / "a.html").path
    (tmp_path / "shots").mkdir()
    (found,) = tool.open_all(browser(), [path], tmp_path / "shots")
    assert found.wrong == [
        f"{path}: raises TypeError: x",
        f"{path}: logs no",
        f"{path}: does not get file:///x.js",
        f"{path}: does not show the picture x.png",
    ]
    assert (found.links, found.ids) == (["https://a.b"], {"i"})
    assert (tmp_path / "shots" / f"{tmp_path.name}-a.png").exists()
