from html.parser import HTMLParser

import pytest

from mnist_gan import _evaluate, _terminal
from mnist_gan._errors import UserError
from mnist_gan._report_page import write_report
from mnist_gan._run import RunFolder


class Page(HTMLParser):
    """What a browser would see."""

    def __init__(self, path):
        super().__init__()
        self.images, self.text, self.open, self.outside = [], [], [], []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag not in {"meta", "img"}:
            self.open.append(tag)
        if tag == "img":
            self.images.append(attrs)
        self.outside += [v for k, v in attrs.items() if k in {"href", "src"}]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_the_page_has_the_run_and_needs_nothing_from_outside(run_folder):
    page = Page(write_report(RunFolder(run_folder)))
    text = " ".join(page.text)
    assert "12 of 12" in text
    assert "10,000 digits, (shipped)" in text
    assert "CC BY-SA 3.0" in text
    assert "Judged" not in text
    assert [image["alt"] for image in page.images] == [
        "digits drawn by the generator",
        "both losses by step, with equilibria",
    ]
    assert all(link.startswith("data:image/png;base64,") for link in page.outside)
    assert page.open == []


def test_an_evaluation_is_in_it(run_folder):
    _evaluate.evaluate(run_folder, n=200, seed=0, out=_terminal.console())
    page = Page(write_report(RunFolder(run_folder)))
    assert "Judged" in page.text
    assert "Of 200 digits." in page.text
    assert "real digits" in page.text
    assert len(page.images) == 3


def test_names_are_text_and_not_markup(run_folder):
    odd = run_folder.rename(run_folder.with_name("<b>&run"))
    page = write_report(RunFolder(odd)).read_text()
    assert "<b>" not in page
    assert "&lt;b&gt;&amp;run" in page


def test_no_run(tmp_path):
    with pytest.raises(UserError, match="holds no run"):
        write_report(RunFolder(tmp_path))


def test_the_command_leaves_it(call, small, tmp_path):
    out = tmp_path / "run"
    said = call(
        "train",
        "--data",
        small,
        "--steps",
        1,
        "--batch-size",
        8,
        "--out",
        out,
        "--html",
    )
    assert said.code == 0, said.err
    assert (out / "report.html").exists()
    assert "report.html" in said.out
