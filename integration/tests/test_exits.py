import re
from pathlib import Path

import pytest

from mnist_gan import _exits
from mnist_gan._errors import DivergedError, HostsError, UserError

README = Path(__file__).parent.parent / "README.md"


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (UserError("no  such\nfile"), 2, "no such file"),
        (OSError("disk"), 2, "disk"),
        (DivergedError("nan"), 3, "nan"),
        (HostsError("process 1"), 70, "process 1"),
        (KeyboardInterrupt(), 130, "stopped at once"),
    ],
)
def test_every_error_has_its_code_and_one_line(error, code, text):
    assert _exits.ending_of(error) == (code, text)


def test_a_fault_of_ours_keeps_its_traceback():
    with pytest.raises(KeyError) as caught:
        {}["x"]
    ending = _exits.ending_of(caught.value)
    assert ending.code == 70
    assert ending.text.splitlines()[0] == "KeyError: 'x'"
    assert "test_exits.py" in ending.text
    assert ending.text == ending.text.strip()


def test_codes_in_words():
    assert "saved" in _exits.describe(42)
    assert _exits.describe(-9) == "killed by SIGKILL"
    assert _exits.describe(1) == "exit code 1"
    assert "lost another process" in _exits.describe(-6)


def test_the_readme_has_all_codes():
    rows = re.findall(r"^\| (\d+) \| (.*) \|", README.read_text(), re.MULTILINE)
    said = {int(code): text for code, text in rows}
    assert said == {code: text for code, text in _exits.MEANINGS.items() if code >= 0}
