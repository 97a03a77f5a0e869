"""Paths in data lead nowhere but below the folder; those that were typed, anywhere."""

import os
import pickle

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image as PilImage
from sounds import encoded, tone

from arrow_jax import (
    ArrowJaxError,
    Audio,
    Dataset,
    DatasetDict,
    DecodeError,
    Image,
    Masked,
    concatenate,
    read_csv,
    read_parquet,
    write_parquet,
)


@pytest.fixture
def secret(tmp_path):
    (tmp_path / "data").mkdir()
    for place in (tmp_path, tmp_path / "data"):
        PilImage.new("L", (3, 2), 9).save(place / "a.png", "PNG")
        (place / "a.wav").write_bytes(encoded(tone()))
    return tmp_path / "a.png"


def refuses(ds, name, words="below the dataset's folder"):
    for kind in ("jax", None):
        with pytest.raises(DecodeError, match=rf"column '{name}', row 0.*{words}"):
            ds.with_format(kind)[:]


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.string_view()])
def test_from_arrow_opens_no_path_without_a_folder(secret, type_):
    for feature, path in ((Image(), secret), (Audio(), secret.with_suffix(".wav"))):
        table = pa.table({"x": pa.array([str(path)], type_)})
        words = r'is not opened.*from_arrow\(\.\.\., folder="images"\)'
        refuses(Dataset.from_arrow(table, {"x": feature}), "x", words)
        refuses(Dataset.from_arrow(table).cast_column("x", feature), "x", words)
        refuses(Dataset.from_dict({"x": table["x"]}, {"x": feature}), "x", words)
        below = secret.parent / "data"
        refuses(Dataset.from_arrow(table, {"x": feature}, folder=below), "x")
        allowed = Dataset.from_arrow(table, {"x": feature}, folder="/")
        assert allowed[0]["x"] is not None


def test_columns_of_files_name_what_lies_below(secret):
    data = secret.parent / "data"
    (data / "u.csv").write_text(f"x,y,z\n{secret},a.png,absent.png\n")
    ds = read_csv(data / "u.csv")
    refuses(ds.cast_column("x", Image()), "x")
    refuses(ds.rename_column("x", "q").cast_column("q", Image()), "q")
    assert ds.cast_column("y", Image()).with_format("jax")[0]["y"].shape == (2, 3)
    refuses(ds.cast_column("z", Image()), "z", "No such file")
    write_parquet(data / "u.parquet", {"x": [str(secret.with_suffix(".wav"))]})
    refuses(read_parquet(data / "u.parquet").cast_column("x", Audio()), "x")


def test_map_opens_no_path_that_data_led_it_to(secret):
    ds = Dataset.from_dict({"x": [1]})
    masked = Masked(np.array([str(secret)], object), np.array([True]))
    for paths in ([str(secret)], [secret], np.array([str(secret)]), masked):
        made = ds.map(lambda _, paths=paths: {"y": paths}, features={"y": Image()})
        refuses(made.remove_columns("x"), "y", "is not opened")
    made = ds.map(
        lambda _: {"y": np.zeros((1, 2, 3), np.uint8)}, features={"y": Image()}
    )
    assert made.with_format("jax")[0]["y"].shape == (2, 3)


def test_typed_paths_lead_anywhere(secret):
    ds = Dataset.from_dict({"x": [str(secret), None]})
    for made in (
        ds.cast_column("x", Image()),
        ds.take(1)
        .rename_column("x", "y")
        .rename_column("y", "x")
        .cast_column("x", Image()),
        pickle.loads(pickle.dumps(ds)).cast_column("x", Image()),
        Dataset.from_dict({"x": [secret]}, {"x": Image()}),
    ):
        assert made[0]["x"].size == (3, 2)


def test_joining_allows_neither_more(secret):
    typed = Dataset.from_dict({"x": [str(secret)]})
    found = Dataset.from_arrow(pa.table({"x": [str(secret)]}))
    free = Dataset.from_arrow(pa.table({"x": [str(secret)]}), folder="/")
    for parts in ([typed, found], [free, found]):
        refuses(concatenate(parts).cast_column("x", Image()), "x", "is not opened")
    both = concatenate([typed, Dataset.from_dict({"x": [str(secret)]})])
    assert both.cast_column("x", Image())[1]["x"].size == (3, 2)
    splits = DatasetDict.from_dict({n: {"x": [str(secret)]} for n in ("a", "b")})
    assert splits.cast_column("x", Image())["b"][0]["x"].size == (3, 2)


@pytest.mark.parametrize("name", ["pipe", "loop", "a\0b", "sub", "a.png/x", "x" * 999])
def test_what_is_no_file_is_refused(secret, name):
    data = secret.parent / "data"
    os.mkfifo(data / "pipe")
    (data / "sub").mkdir()
    (data / "loop").symlink_to(data / "loop")
    table = pa.table({"x": [name]})
    refuses(Dataset.from_arrow(table, {"x": Image()}, folder=data), "x", "the path")
    refuses(Dataset.from_arrow(table, {"x": Audio()}, folder=data), "x", "the path")


def test_a_pipe_is_not_waited_for(tmp_path):
    pipe = tmp_path / "pipe.png"
    os.mkfifo(pipe)
    for feature in (Image(), Audio()):
        for path in (pipe, tmp_path):
            with pytest.raises(
                ArrowJaxError, match=r"row 0: .* is a folder, pipe or dev"
            ):
                Dataset.from_dict({"x": [path]}, {"x": feature})
        with pytest.raises(FileNotFoundError):
            Dataset.from_dict({"x": [tmp_path / "none"]}, {"x": feature})
    for read in (read_parquet, read_csv):
        with pytest.raises(ArrowJaxError, match="is a pipe or device, wanted a file"):
            read(pipe)
