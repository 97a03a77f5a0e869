import pytest

from arrow_jax import ArrowJaxError, ClassLabel, Value, read_csv, read_json


def test_csv_guesses_types_and_casts_make_others(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('i,f,s,b,label\n1,0.5,"x, y",true,no\n2,,z,false,yes\n')
    ds = read_csv(path)
    assert ds[0] == {"i": 1, "f": 0.5, "s": "x, y", "b": True, "label": "no"}
    assert ds["f"] == [0.5, None]
    ds = ds.cast({"label": ClassLabel(["no", "yes"]), "i": Value("uint8")})
    assert ds.with_format("jax", columns=["label"])["label"].tolist() == [0, 1]


def test_delimiters(tmp_path):
    (tmp_path / "a.tsv").write_text("x\ty\n1\t2,3\n")
    (tmp_path / "b.csv").write_text("x;y\n1;2\n")
    assert read_csv(tmp_path / "a.tsv")[0] == {"x": 1, "y": "2,3"}
    assert read_csv(tmp_path / "b.csv", delimiter=";")[0] == {"x": 1, "y": 2}
    (tmp_path / "c.csv").write_text("x,y\n1,2\n3\n")
    with pytest.raises(ArrowJaxError, match=r"c\.csv can't be read as CSV: .*columns"):
        read_csv(tmp_path / "c.csv")


def test_json_by_lines_and_as_one_list(tmp_path):
    rows = [{"x": [1, 2], "s": {"a": 1.5}}, {"x": [3], "s": {"a": None}}]
    lines = '{"x": [1, 2], "s": {"a": 1.5}}\n{"x": [3], "s": {"a": null}}\n'
    (tmp_path / "a.jsonl").write_text(lines)
    both = lines.strip().replace("\n", ",")
    (tmp_path / "b.json").write_text(f"\n [{both}]")
    for name in ("a.jsonl", "b.json"):
        ds = read_json(tmp_path / name)
        assert list(ds) == rows
    (tmp_path / "c.json").write_text("[1, 2")
    with pytest.raises(ArrowJaxError, match=r"c\.json can't be read as JSON"):
        read_json(tmp_path / "c.json")
    (tmp_path / "d.json").write_text("[1, 2]")
    with pytest.raises(ArrowJaxError, match=r"d\.json can't be read as JSON"):
        read_json(tmp_path / "d.json")


def test_a_csv_with_one_name_twice_says_so(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,a\n1,2,3\n")
    with pytest.raises(
        ArrowJaxError, match=r"a.csv has 2 columns named 'a' in its first"
    ):
        read_csv(tmp_path / "a.csv")


def test_no_field_of_a_list_of_objects_is_lost(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('[{"x": 1}, {"y": "b", "x": 2}, {}]')
    assert read_json(path)[:] == {"x": [1, 2, None], "y": [None, "b", None]}


@pytest.mark.parametrize("before", ["", " " * 100, "\ufeff", "\ufeff\n"])
def test_what_stands_before_a_list_of_objects_does_not_matter(before, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(f'{before}[{{"x": 1}}]')
    assert read_json(path)["x"] == [1]


@pytest.mark.parametrize("text", ["[" * 100_000, f'[{{"x": {2**70}}}]'])
def test_json_that_python_can_t_hold_names_the_file(text, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(
        ArrowJaxError, match=r"a\.json can't be read as JSON: it has li"
    ):
        read_json(path)
