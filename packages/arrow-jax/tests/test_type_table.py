"""The page about types says what the code does, row by row."""

import pytest
from type_cases import CASES
from type_table import (
    ASKED,
    HEAD,
    PAGE,
    REQUESTS,
    SPECS,
    null_line,
    request_line,
    type_line,
)

LINES = PAGE.read_text().splitlines()
ADVICE = "run python packages/arrow-jax/tests/type_table.py"


@pytest.mark.parametrize("name", CASES)
def test_a_type_is_what_the_page_says(name):
    line = type_line(name, CASES[name])
    assert line in LINES, ADVICE
    if "`UnsupportedTypeError`" not in line:
        assert null_line(name, CASES[name]) in LINES, ADVICE


@pytest.mark.parametrize("name", [name for name, _ in REQUESTS if name in CASES])
def test_a_request_gives_what_the_page_says(name):
    assert request_line(name, dict(REQUESTS)[name]) in LINES, ADVICE


def test_the_words_are_those_of_the_script():
    page = PAGE.read_text()
    assert all(words in page for words in (HEAD, SPECS, ASKED)), ADVICE


def test_no_row_is_of_a_type_that_is_gone():
    rows = [line for line in LINES if line.startswith("| `")]
    known = {*CASES, "decimal32", "decimal64", "arrow.json"}
    assert {line.split("`")[1] for line in rows} <= known, ADVICE


def test_a_page_that_is_out_of_date_is_noticed():
    stale = type_line("int64", CASES["int64"]).replace("int32", "float32")
    assert stale not in LINES
