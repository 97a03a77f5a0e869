import pytest

from arrow_jax import ArrowJaxError
from arrow_jax._paths import expand, is_address, opened


def test_a_folder_stands_for_its_files_in_order_of_name(tmp_path):
    for name in ("b.csv", "a.tsv", "c.txt", "_d.csv", ".e.csv"):
        (tmp_path / name).touch()
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "f.csv").touch()
    found = expand(str(tmp_path), (".csv", ".tsv"))
    names = [f.removeprefix(f"{tmp_path}/") for f in found]
    assert names == ["a.tsv", "b.csv", "deep/f.csv"]
    assert expand(str(tmp_path / "c.txt"), (".csv",)) == [str(tmp_path / "c.txt")]
    with pytest.raises(ArrowJaxError, match=r"holds no \.arrow or \.ipc file \(it has"):
        expand(str(tmp_path), (".arrow", ".ipc"))


def test_addresses_are_told_from_paths(tmp_path):
    assert is_address("hf://datasets/a/b")
    assert not is_address("C:/data")
    (tmp_path / "x").write_bytes(b"1")
    with opened(str(tmp_path / "x")) as file:
        assert file == str(tmp_path / "x")
