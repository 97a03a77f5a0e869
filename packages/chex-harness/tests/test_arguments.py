import math
import time

import numpy as np
import pytest

from chex_harness import Kill
from chex_harness._arguments import check_arguments

GOOD = {
    "fn": time.sleep,
    "processes": 2,
    "devices": np.int64(2),
    "timeout": math.inf,
    "start_timeout": np.float32(0.5),
    "args": (),
    "kwargs": None,
    "faults": (Kill(process=1, step=0),),
    "env": {"A": "1"},
    "heartbeat": 10,
}


def test_what_is_right_passes():
    check_arguments(**GOOD)


@pytest.mark.parametrize(
    ("wrong", "error", "told"),
    [
        ({"processes": 0}, ValueError, "processes=0: wanted an int, 1 or more"),
        ({"processes": 1.5}, TypeError, "processes=1.5, a float: wanted an int"),
        ({"processes": True}, TypeError, "processes=True, a bool: wanted an int"),
        ({"devices": "2"}, TypeError, "devices='2', a str: wanted an int"),
        ({"heartbeat": 0}, ValueError, "heartbeat=0: wanted an int, 1 or more"),
        ({"timeout": math.nan}, ValueError, "timeout=nan: wanted seconds, above 0"),
        ({"start_timeout": math.nan}, ValueError, "start_timeout=nan: wanted"),
        ({"timeout": -1}, ValueError, "timeout=-1: wanted seconds, above 0"),
        ({"timeout": "60"}, TypeError, "timeout='60', a str: wanted seconds"),
        ({"args": 3}, TypeError, "args=3, a int: wanted a tuple. Type args=(3,)"),
        ({"args": "ab"}, TypeError, "wanted a tuple. Type args=('ab',)"),
        ({"kwargs": [1]}, TypeError, "kwargs=[1], a list: wanted a dict"),
        ({"kwargs": {1: 2}}, TypeError, "kwargs={1: 2}, a dict: wanted a dict"),
        ({"env": {"A": 1}}, TypeError, "env={'A': 1}, a dict: wanted a dict of str"),
        (
            {"faults": Kill(process=0, step=1)},
            TypeError,
            "Type faults=[Kill(process=0, step=1, signum=9)]",
        ),
        ({"faults": ["kill"]}, TypeError, "faults=['kill'], a list: wanted a list of"),
        (
            {"faults": [Kill(process=2, step=0)]},
            ValueError,
            "names process 2; there are processes 0 to 1",
        ),
        ({"fn": 3}, TypeError, "fn=3, a int: wanted a function"),
    ],
)
def test_what_is_wrong_is_told_with_what_was_wanted(wrong, error, told):
    with pytest.raises(error) as caught:
        check_arguments(**{**GOOD, **wrong})
    assert told in str(caught.value)
    assert str(caught.value).startswith("run_processes: ")
