import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arrow_jax import (
    ArrowJaxError,
    ClassLabel,
    Dataset,
    DatasetDict,
    Features,
    Image,
    load_dataset,
    write_parquet,
)


def test_a_folder_of_parquet_by_names(tmp_path):
    features = Features({"image": Image(), "label": ClassLabel(["zero", "one"])})
    (tmp_path / "data").mkdir()
    for split, n in (("train", 5), ("test", 3)):
        columns = {"image": np.zeros((n, 28, 28), np.uint8), "label": np.arange(n) % 2}
        file = tmp_path / "data" / f"{split}-00000-of-00001.parquet"
        write_parquet(file, columns, features)
    (tmp_path / "dataset_infos.json").write_text("{}")
    ds = load_dataset(str(tmp_path))
    assert isinstance(ds, DatasetDict)
    assert {name: len(split) for name, split in ds.items()} == {"train": 5, "test": 3}
    assert ds["train"].source is ds["test"].source
    (batch,) = ds["train"].with_format("jax").iter(batch_size=5)
    assert (batch["image"].shape, batch["image"].dtype) == ((5, 28, 28), np.uint8)
    assert batch["label"].dtype == np.int32
    assert isinstance(load_dataset(tmp_path, split="test"), Dataset)


def test_a_folder_that_datasets_saved(tmp_path):
    for split in ("train", "test"):
        (tmp_path / split).mkdir()
        table = pa.table({"x": [1, 2]})
        name = str(tmp_path / split / "data-00000-of-00001.arrow")
        with pa.ipc.new_stream(name, table.schema) as writer:
            writer.write_table(table)
        (tmp_path / split / "state.json").write_text("{}")
    (tmp_path / "dataset_dict.json").write_text("{}")
    assert {n: d["x"] for n, d in load_dataset(tmp_path).items()} == {
        "train": [1, 2],
        "test": [1, 2],
    }


def test_a_card_decides_over_names(tmp_path):
    (tmp_path / "deep").mkdir()
    for name, x in (("train.csv", 1), ("deep/a.csv", 2), ("deep/b.csv", 3)):
        (tmp_path / name).write_text(f"x\n{x}\n")
    (tmp_path / "README.md").write_text(
        "---\nconfigs:\n- config_name: default\n  data_files:\n"
        "  - {split: odd, path: 'deep/*.csv'}\n  - {split: all, path: '**/*.csv'}\n"
        "  - {split: top, path: '*.csv'}\n"
        "- config_name: other\n  data_dir: deep\n---\n"
    )
    got = {name: split["x"] for name, split in load_dataset(tmp_path).items()}
    assert got == {"odd": [2, 3], "all": [2, 3, 1], "top": [1]}
    assert load_dataset(tmp_path, split="train", name="other")["x"] == [2, 3]


def test_json_and_the_kind_that_most_files_have(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"x": 1}\n')
    (tmp_path / "b.jsonl").write_text('{"x": 2}\n')
    pq.write_table(pa.table({"y": [1]}), tmp_path / "c.parquet")
    assert load_dataset(tmp_path, split="train")["x"] == [1, 2]


def test_what_is_not_there(tmp_path):
    with pytest.raises(
        ArrowJaxError, match=r"holds no file that .* Known are \.parquet"
    ):
        load_dataset(tmp_path)
    (tmp_path / "test.csv").write_text("x\n1\n")
    with pytest.raises(ArrowJaxError, match=r"no split 'train'; there are \['test'\]"):
        load_dataset(tmp_path, split="train")
