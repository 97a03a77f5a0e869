import pyarrow as pa
import pytest

from arrow_jax import Dataset, UnsupportedTypeError

TABLE = pa.table(
    {"x": [1, 2, 3], "f": pa.array([[0, 1], [2, 3], None], pa.list_(pa.int8(), 2))}
)


class Stream:
    """What a frame of another library shows of itself."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class Array:
    def __init__(self, batch):
        self.batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self.batch.__arrow_c_array__(requested_schema)


class HuggingFace:
    """The parts of a Hugging Face Dataset that are looked at."""

    def __init__(self, table, indices=None):
        self.data = Stream(table)
        self._indices = indices

    def with_format(self, kind):
        assert kind == "arrow"
        return self.data.table.take(self._indices)


@pytest.mark.parametrize(
    "data",
    [
        TABLE,
        TABLE.to_batches()[0],
        TABLE.to_reader(),
        Stream(TABLE),
        Array(TABLE.to_batches()[0]),
        HuggingFace(TABLE),
    ],
    ids=lambda data: type(data).__name__,
)
def test_all_that_speaks_arrow(data):
    assert Dataset.from_arrow(data)[:] == TABLE.to_pydict()


def test_the_selection_of_a_hugging_face_dataset_holds():
    picked = HuggingFace(TABLE, [2, 0])
    assert Dataset.from_arrow(picked)["x"] == [3, 1]


def test_slices_from_outside_are_right():
    ds = Dataset.from_arrow(Stream(TABLE.slice(1, 2))).with_format("jax", nulls="mask")
    assert ds[:]["f"].values.tolist() == [[2, 3], [0, 0]]
    assert ds[:]["f"].valid.tolist() == [True, False]


def test_what_does_not_speak_arrow():
    with pytest.raises(UnsupportedTypeError, match=r"got builtins\.list.*from_dict"):
        Dataset.from_arrow([1, 2])


def test_one_array_without_a_name_is_no_table():
    for data in (pa.array([1]), pa.chunked_array([[1]])):
        with pytest.raises(UnsupportedTypeError, match=r'pa.table\({"x": array}\)'):
            Dataset.from_arrow(data)
    assert Dataset.from_arrow(pa.array([{"a": 1}]))[:] == {"a": [1]}
