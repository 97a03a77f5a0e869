"""Opens pages in headless Chromium, as a reader would, and says what is wrong.

    python tools/check_pages.py build/docs/html runs/mnist-gan/report.html
    python tools/check_pages.py build/docs/html --screenshots build/screenshots

Each page is opened from its file. Wrong are: an exception or an error in the console, a
file that the page asks for and does not get, a picture that does not show, and a link
to a file or a place on a page that is not there. Links to other hosts are counted and
not followed. A Chromium or Chrome on the PATH is used, else Playwright's own. The exit
code is 1 if anything is wrong.
"""

import argparse
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag, urlsplit

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
# The screen of a small laptop.
SCREEN = {"width": 1280, "height": 800}
_SEEN = """() => ({
    links: [...document.querySelectorAll('a[href]')].map(a => a.href),
    ids: [...document.querySelectorAll('[id]')].map(e => e.id),
    broken: [...document.images].filter(i => i.complete && !i.naturalWidth)
        .map(i => i.getAttribute('src').slice(0, 80)),
})"""


class Page(NamedTuple):
    """What a page held when it had loaded.

    Attributes:
      path: its file.
      links: addresses, whole.
      ids: the places on it that a link can name.
      wrong: complaints.
    """

    path: Path
    links: list[str]
    ids: set[str]
    wrong: list[str]


def pages_in(places: Iterable[Path]) -> list[Path]:
    """The HTML files that are given, and those below the folders that are given."""
    found: list[Path] = []
    for place in places:
        files = sorted(place.rglob("*.html")) if place.is_dir() else [place]
        missing = [file for file in files if not file.is_file()]
        if missing or not files:
            raise FileNotFoundError(f"{place}: holds no page")
        found += [file.resolve() for file in files]
    return found


def dead_links(pages: Iterable[Page]) -> list[str]:
    """The links between files that lead nowhere, each with the page that has it."""
    pages = list(pages)
    ids = {page.path: page.ids for page in pages}
    wrong = []
    for page in pages:
        for link in sorted(set(page.links)):
            address, fragment = urldefrag(link)
            parts = urlsplit(address)
            if parts.scheme != "file":
                continue
            target = Path(unquote(parts.path)).resolve()
            if not target.exists():
                wrong.append(f"{page.path}: links to {target}, which is not there")
            elif fragment and target in ids and unquote(fragment) not in ids[target]:
                wrong.append(
                    f"{page.path}: links to {target.name}#{fragment}, and the page has "
                    "no such place"
                )
    return wrong


def outside(pages: Iterable[Page]) -> set[str]:
    """The links to other hosts."""
    links = {link for page in pages for link in page.links}
    return {link for link in links if urlsplit(link).scheme in {"http", "https"}}


def open_all(
    browser: Any, paths: Iterable[Path], screenshots: Path | None
) -> list[Page]:
    """Opens each page in a tab of its own.

    Args:
      browser: of Playwright.
      paths: files.
      screenshots: a folder, which is there, for one picture a page, or None.

    Returns:
      What each page held.
    """
    found = []
    for path in paths:
        tab = browser.new_page(viewport=SCREEN)
        wrong: list[str] = []
        tab.on("pageerror", lambda error, w=wrong: w.append(f"raises {error}"))
        tab.on(
            "console",
            lambda said, w=wrong: (
                said.type == "error" and w.append(f"logs {said.text}")
            ),
        )
        tab.on(
            "requestfailed",
            lambda request, w=wrong: w.append(f"does not get {request.url}"),
        )
        tab.goto(path.as_uri(), wait_until="load")
        tab.wait_for_load_state("networkidle")
        seen = tab.evaluate(_SEEN)
        wrong += [f"does not show the picture {source}" for source in seen["broken"]]
        if screenshots:
            name = "-".join(path.parts[-2:]).removesuffix(".html")
            tab.screenshot(path=screenshots / f"{name}.png")
        tab.close()
        wrong = [f"{path}: {complaint}" for complaint in wrong]
        found.append(Page(path, seen["links"], set(seen["ids"]), wrong))
    return found


def main(arguments: list[str] | None = None) -> int:
    """Checks what is asked for; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("places", nargs="+", type=Path, metavar="PAGE_OR_FOLDER")
    parser.add_argument("--screenshots", type=Path, metavar="FOLDER")
    asked = parser.parse_args(arguments)
    try:
        paths = pages_in(asked.places)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    try:
        if asked.screenshots:
            asked.screenshots.mkdir(parents=True, exist_ok=True)
        from playwright.sync_api import Error, sync_playwright  # noqa: PLC0415
    except OSError as error:
        parser.error(f"--screenshots {asked.screenshots}: cannot be a folder ({error})")
    except ImportError:
        parser.error("playwright is not installed; run this by nox -s browser")

    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=program)
        except Error as error:
            print(
                f"no Chromium starts ({str(error).splitlines()[0]}); install it, or "
                "type: playwright install chromium",
                file=sys.stderr,
            )
            return 2
        pages = open_all(browser, paths, asked.screenshots)
        browser.close()
    wrong = [complaint for page in pages for complaint in page.wrong]
    wrong += dead_links(pages)
    for complaint in wrong:
        print(complaint, file=sys.stderr)
    links = sum(len(page.links) for page in pages)
    print(
        f"{len(pages)} pages, {links} links, {len(outside(pages))} of them to other "
        f"hosts and not followed; {len(wrong)} wrong"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
