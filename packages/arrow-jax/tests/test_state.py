import dataclasses
import json
import re
import zlib
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from arrow_jax import ManifestError
from arrow_jax._order import RowOrder
from arrow_jax._source import Source
from arrow_jax._state import (
    describe_files,
    describe_groups,
    describe_lengths,
    make_manifest,
    make_state,
    read_state,
)
from arrow_jax._step import Position
from arrow_jax._stream import Sequential, Shuffled

SOURCE = Source.of(pa.table({"x": pa.array([1], pa.int64()), "s": ["a"]}))


def test_a_state_survives_json_and_stays_small():
    manifest = make_manifest(SOURCE, ["x"], np.arange(10**6))
    order = RowOrder(Shuffled(10**6, 3), None, "drop")
    state = make_state(Position(2, 5), order, 8, manifest)
    text = json.dumps(state)
    assert len(text) < 400
    assert read_state(json.loads(text), order, 8, manifest) == Position(2, 5)


def test_the_manifest_tells_selections_apart():
    a = make_manifest(SOURCE, ["x"], np.array([0, 1, 2]))
    b = make_manifest(SOURCE, ["x"], np.array([0, 2, 1]))
    assert a["view"] != b["view"]
    assert make_manifest(SOURCE, ["x"], range(3))["view"] == "0:3"
    assert a["columns"] == {"x": "int64"}


def test_without_a_shuffle_the_seed_does_not_matter():
    manifest = make_manifest(SOURCE, ["x"], range(9))
    order = RowOrder(Sequential(9), 1, "mask")
    state = make_state(Position(0, 3), order, 8, manifest)
    assert read_state(state, order, 8, manifest) == Position(0, 3)


def test_a_list_of_files_that_was_changed_by_hand():
    manifest = make_manifest(SOURCE, ["x"], range(9))
    order = RowOrder(Sequential(9), 1, "mask")
    state = make_state(Position(0, 3), order, 8, manifest)
    by_hand = ([5], ["a"], [[1], 5], [None], [[1]], [["a", "b"]], [["a", 1, 2]])
    for files in (*by_hand, [[1, "a"]], [5, 5], ["a", "b"], {}, None):
        edited = {**state, "manifest": {**manifest, "files": files}}
        with pytest.raises(ManifestError, match="it was changed by hand"):
            read_state(edited, order, 8, manifest)


def test_an_epoch_that_this_loader_does_not_have():
    manifest = make_manifest(SOURCE, ["x"], range(9))
    state = make_state(
        Position(2, 3), RowOrder(Sequential(9), None, "mask"), 8, manifest
    )
    with pytest.raises(ManifestError, match="fewer epochs= than the run, or the state"):
        read_state(state, RowOrder(Sequential(9), 1, "mask"), 8, manifest)


class Anything(NamedTuple):
    """An order of eight rows that says where it was moved."""

    said: dict

    def describe(self):
        return self.said

    def holds(self, at):
        return at.row < 8

    def moved(self, at, old, new):
        return at, old, new


ORDER = Anything({"shuffle": True, "seed": 3})
MANIFEST = {
    "rows": 8,
    "columns": {"x": "int64", "y": "float"},
    "view": "all",
    "files": [["a", 5], ["b", 3]],
    "lengths": "crc32 00000001",
    "row_groups": "2, crc32 00000002",
}
STATE = make_state(Position(1, 2, 3, (4, 5)), ORDER, 6, MANIFEST)
WAYS_OUT = "Resume on the data that the state was saved with, or start afresh"


def refusal(state, order=ORDER, manifest=MANIFEST):
    with pytest.raises(ManifestError) as caught:
        read_state(state, order, 6, manifest)
    return str(caught.value)


def test_a_state_says_where_the_run_is_and_of_what():
    assert STATE == {
        "version": 2,
        "order": {"shuffle": True, "seed": 3},
        "epoch": 1,
        "row": 2,
        "offset": 3,
        "pending": [4, 5],
        "batch_size": 6,
        "manifest": MANIFEST,
    }
    assert STATE["manifest"] is not MANIFEST


def test_the_order_is_told_the_place_and_both_batch_sizes():
    found = read_state(json.loads(json.dumps(STATE)), ORDER, 7, MANIFEST)
    assert found == (Position(1, 2, 3, (4, 5)), 6, 7)


def test_the_manifest_names_parts_and_their_rows():
    table = pa.table({"x": pa.array([1, 2, 3], pa.int64()), "s": ["a", "b", "c"]})
    origins = ((0, " of a.parquet"), (2, " of b of c"))
    source = dataclasses.replace(Source.of(table), origins=origins)
    rows = np.array([2, 0])
    assert make_manifest(source, ["x", "s"], rows) == {
        "rows": 2,
        "columns": {"x": "int64", "s": "string"},
        "view": f"crc32 {zlib.crc32(rows.tobytes()):08x}",
        "files": [["a.parquet", 2], ["b of c", 1]],
    }


def test_selections_need_not_lie_one_after_the_other_in_memory():
    rows = np.arange(9)
    apart = make_manifest(SOURCE, ["x"], rows[::2])["view"]
    assert apart == make_manifest(SOURCE, ["x"], rows[::2].copy())["view"]
    lengths = describe_lengths(rows[::2])
    assert lengths == describe_lengths(rows[::2].copy()) == apart


def test_few_files_are_named_and_more_are_summed():
    sizes = [(f"f{i}", i) for i in range(17)]
    assert describe_files(sizes[:16]) == [[f"f{i}", i] for i in range(16)]
    n, checksum = describe_files(sizes)
    assert n == 17
    assert re.fullmatch("crc32 [0-9a-f]{8}", checksum)
    renamed = [("g", n) if name == "f9" else (name, n) for name, n in sizes]
    assert describe_files(renamed) != describe_files(sizes)
    assert describe_files(sizes[::-1]) != describe_files(sizes)
    # What older states hold, so these may not change.
    assert checksum == f"crc32 {zlib.crc32(repr([[*p] for p in sizes]).encode()):08x}"
    assert describe_groups((2, 3)) == f"2, crc32 {zlib.crc32(b'[2, 3]'):08x}"
    assert describe_lengths(np.array([7])) == (
        f"crc32 {zlib.crc32(np.array([7]).tobytes()):08x}"
    )


def test_a_state_of_many_files_is_told_from_another():
    many = {**MANIFEST, "files": describe_files([(f"f{i}", 1) for i in range(17)])}
    state = make_state(Position(1, 2), ORDER, 6, many)
    assert read_state(state, ORDER, 6, many)[0] == Position(1, 2)
    assert refusal(state) == (
        f"the state was saved on the files {many['files']}, the data are now a (5), "
        f"b (3) (name and rows of each). {WAYS_OUT}"
    )


def test_what_is_no_state():
    assert refusal([1]) == "the state is a list: give what iterator.state() returned"
    for key in STATE:
        some = {name: value for name, value in STATE.items() if name != key}
        assert refusal(some) == (
            f"the state has no {key!r}: it is not what iterator.state() returned"
        )
    assert refusal({**STATE, "version": 1}) == (
        "the state has version 1, this release reads 2"
    )


@pytest.mark.parametrize(
    "edit",
    [
        {"epoch": 1.0},
        {"row": "2"},
        {"row": True},
        {"row": 8},
        {"offset": None},
        {"pending": 4},
        {"pending": [4, "5"]},
        {"pending": [8]},
        {"batch_size": 0},
        {"batch_size": 6.0},
    ],
)
def test_places_that_there_are_not(edit):
    state = {**STATE, **edit}
    assert refusal(state) == (
        f"the state is at row {state['row']} of epoch {state['epoch']}, offset "
        f"{state['offset']}, which these 8 rows don't have: this loader has fewer "
        "epochs= than the run, or the state was changed by hand"
    )


def test_the_last_row_may_wait_and_a_batch_may_be_of_one():
    state = {**STATE, "pending": (7,), "batch_size": 1}
    assert read_state(state, ORDER, 6, MANIFEST) == (Position(1, 2, 3, (7,)), 1, 6)
    one = {**MANIFEST, "rows": 1}
    state = make_state(Position(0, 0), ORDER, 6, one)
    assert read_state(state, ORDER, 6, one) == (Position(0, 0), 6, 6)
    bare = {**STATE, "pending": []}
    empty = {**MANIFEST, "rows": 0}
    assert refusal({**bare, "manifest": empty}, manifest=empty).startswith(
        "the state is at row 2 of epoch 1, offset 3, which these 0 rows don't have"
    )


@pytest.mark.parametrize(
    ("here", "complaint"),
    [
        (
            {"shuffle": True, "seed": 4},
            (
                "saved with seed=3, this loader has seed=4, which is another order of "
                "rows. Make it with Loader(..., seed=3)"
            ),
        ),
        (
            {"shuffle": False},
            (
                "saved with shuffle=True, seed=3, this loader has shuffle=False, which "
                "is another order of rows. Make it with "
                "Loader(..., shuffle=True, seed=3)"
            ),
        ),
        (
            {"shuffle": False, "last": "drop"},
            (
                "saved with shuffle=True, seed=3, this loader has shuffle=False, "
                "last='drop', which is another order of rows. Make it with "
                "Loader(..., shuffle=True, seed=3)"
            ),
        ),
        (
            {"shuffle": True, "seed": 3, "last": "drop"},
            (
                "saved with other options, this loader has last='drop', which is "
                "another order of rows. Make it with the same options"
            ),
        ),
        (
            {"shuffle": True, "seed": 4, "block": 2},
            (
                "saved with seed=3, this loader has seed=4, block=2, which is another "
                "order of rows. Make it with the same options"
            ),
        ),
        (
            {"shuffle": True},
            (
                "saved with seed=3, this loader has none of these, which is another "
                "order of rows. Make it with Loader(..., seed=3)"
            ),
        ),
    ],
)
def test_another_order(here, complaint):
    assert refusal(STATE, Anything(here)) == f"the state was {complaint}"


def test_an_order_that_was_changed_by_hand():
    assert refusal({**STATE, "order": 3}).startswith(
        "the state was saved with other options, this loader has "
    )


@pytest.mark.parametrize(
    ("here", "complaint"),
    [
        (
            {"files": [["a", 5], ["", 3]]},
            (
                "the state was saved on the files a (5), b (3), the data are now a "
                f"(5), in memory (3) (name and rows of each). {WAYS_OUT}"
            ),
        ),
        (
            {"rows": 7},
            f"the state was saved on 8 rows, the data now have 7. {WAYS_OUT}",
        ),
        (
            {"columns": {"x": "int32", "z": "bool"}},
            (
                "the columns are not those of the state: x: int64 then, int32 now; "
                f"y: float then, absent now; z: absent then, bool now. {WAYS_OUT}"
            ),
        ),
        (
            {"columns": {"x": "int64"}},
            (
                "the columns are not those of the state: y: float then, absent now. "
                f"{WAYS_OUT}"
            ),
        ),
        (
            {"lengths": "crc32 00000009"},
            (
                "the lists have other lengths than when the state was saved, so "
                f"buckets or packing put the rows in another order. {WAYS_OUT}"
            ),
        ),
        (
            {"row_groups": "3, crc32 00000009"},
            (
                "the files were written anew with other row groups (2, crc32 00000002 "
                "then, 3, crc32 00000009 now), so their rows come in another order. "
                f"{WAYS_OUT}"
            ),
        ),
        (
            {"view": "where x > 1"},
            (
                "the rows selected are not those of the state (all then, where x > 1 "
                f"now). {WAYS_OUT}"
            ),
        ),
    ],
)
def test_other_data(here, complaint):
    assert refusal(STATE, manifest={**MANIFEST, **here}) == complaint


def test_of_one_file_the_rows_are_said_if_they_differ_and_else_the_file():
    then = {**MANIFEST, "files": [["", 8]]}
    del then["row_groups"], then["lengths"]
    state = make_state(Position(1, 2), ORDER, 6, then)
    longer = {**then, "rows": 9, "files": [["", 9]]}
    assert refusal(state, manifest=longer) == (
        f"the state was saved on 8 rows, the data now have 9. {WAYS_OUT}"
    )
    # As many rows of it were selected: the view is the same.
    assert refusal(state, manifest={**then, "files": [["", 9]]}) == (
        "the state was saved on the files in memory (8), the data are now in memory "
        f"(9) (name and rows of each). {WAYS_OUT}"
    )
    other = {**then, "rows": 9, "files": [["c", 9]]}
    assert refusal(state, manifest=other).startswith("the state was saved on the files")
    two = {**then, "rows": 9, "files": [["", 8], ["", 1]]}
    assert refusal(state, manifest=two).startswith("the state was saved on the files")


@pytest.mark.parametrize(
    "saved",
    [
        3,
        {},
        {**MANIFEST, "more": 1},
        {**MANIFEST, "rows": "8"},
        {**MANIFEST, "rows": True},
        {**MANIFEST, "columns": []},
    ],
)
def test_a_manifest_that_was_changed_by_hand(saved):
    assert refusal({**STATE, "manifest": saved}) == (
        f"the state's manifest is {saved!r}, which describes no data: it was changed "
        "by hand"
    )
