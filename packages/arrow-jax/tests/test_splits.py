import pytest

from arrow_jax import ArrowJaxError, load_dataset
from arrow_jax._splits import card_patterns, read_card, split_files


@pytest.mark.parametrize(
    ("files", "splits"),
    [
        (["a.csv", "b.csv"], {"train": ["a.csv", "b.csv"]}),
        (["train.csv", "dev.csv"], {"train": ["train.csv"], "validation": ["dev.csv"]}),
        (
            ["eval/x.csv", "training/y.csv"],
            {"train": ["training/y.csv"], "test": ["eval/x.csv"]},
        ),
        (
            ["my_test_3.csv", "train-1.csv"],
            {"train": ["train-1.csv"], "test": ["my_test_3.csv"]},
        ),
        (["latest.csv", "contrast.csv"], {"train": ["contrast.csv", "latest.csv"]}),
        (["extra.csv", "test.csv"], {"test": ["test.csv"]}),
        (
            ["data/odd-00001-of-00002.parquet", "data/odd-00000-of-00002.parquet"],
            {
                "odd": [
                    "data/odd-00000-of-00002.parquet",
                    "data/odd-00001-of-00002.parquet",
                ]
            },
        ),
        (
            ["test/data-00000-of-00001.arrow", "train/data-00000-of-00001.arrow"],
            {
                "train": ["train/data-00000-of-00001.arrow"],
                "test": ["test/data-00000-of-00001.arrow"],
            },
        ),
        ([], {}),
    ],
)
def test_names_say_the_split(files, splits):
    assert split_files(files) == splits
    assert list(split_files(files)) == list(splits)


def card(folder, text):
    (folder / "README.md").write_text(f"---\n{text}\n---\n# Words\n---\n")
    return read_card(folder)


def test_a_card_names_files(tmp_path):
    said = card(
        tmp_path,
        "configs:\n- config_name: default\n  data_files:\n"
        "  - split: train\n    path: [a/*.csv, b.csv]\n  - {split: test, path: c.csv}",
    )
    assert card_patterns(said, None) == {
        "train": ["a/*.csv", "b.csv"],
        "test": ["c.csv"],
    }
    assert card_patterns(said, "default") == card_patterns(said, None)
    with pytest.raises(ArrowJaxError, match=r"no configuration 'x'; there are \['def"):
        card_patterns(said, "x")


def test_shorter_cards(tmp_path):
    one = card(tmp_path, "configs:\n- config_name: a\n  data_files: x.csv")
    assert card_patterns(one, None) == {"train": ["x.csv"]}
    many = card(tmp_path, "configs:\n- config_name: a\n  data_files: [x.csv, y.csv]")
    assert card_patterns(many, "a") == {"train": ["x.csv", "y.csv"]}
    below = card(tmp_path, "configs:\n- config_name: a\n  data_dir: d/")
    assert card_patterns(below, None) == {"": ["d/**"]}
    assert card_patterns(card(tmp_path, "license: mit"), None) is None


def test_several_configurations(tmp_path):
    two = (
        "configs:\n- {config_name: a, data_files: x}\n- {config_name: b, data_files: y"
    )
    said = card(tmp_path, f"{two}}}")
    assert card_patterns(said, "b") == {"train": ["y"]}
    with pytest.raises(ArrowJaxError, match=r"\['a', 'b'\]. Choose one: .*name='a'"):
        card_patterns(said, None)
    assert card_patterns(card(tmp_path, f"{two}, default: true}}"), None) == {
        "train": ["y"]
    }


def test_a_card_without_yaml_or_with_bad_yaml(tmp_path):
    assert read_card(tmp_path) == {}
    (tmp_path / "README.md").write_text("# No header\n---\nconfigs: x\n---\n")
    assert read_card(tmp_path) == {}
    with pytest.raises(
        ArrowJaxError, match=r"YAML at the top of .*README.md can't be"
    ) as bad:
        card(tmp_path, "configs: [")
    assert "\n" not in str(bad.value)


CARD = "---\nconfigs:\n- config_name: default\n  data_files: {train: '*.csv'}\n---\n"


@pytest.mark.parametrize(
    "card",
    [
        CARD,
        CARD.replace("\n", "\r\n"),
        "\ufeff" + CARD,
        CARD + "# Rows \u00e9\n---\nmore: [\n",
        "# No front matter\n",
        "---\nconfigs: [\n",  # never closed, hence text
        "---\nconfigs:\n---\n",
        "---\nlicense: mit\n---\n",
        "",
    ],
)
def test_cards_of_every_make_are_read(card, tmp_path):
    (tmp_path / "train.csv").write_text("x\n1\n")
    (tmp_path / "README.md").write_bytes(card.encode())
    assert load_dataset(tmp_path)["train"]["x"] == [1]


def test_a_card_that_is_no_utf8_is_read(tmp_path):
    (tmp_path / "train.csv").write_text("x\n1\n")
    (tmp_path / "README.md").write_bytes(CARD.encode() + "M\u00fcll".encode("latin-1"))
    assert load_dataset(tmp_path)["train"]["x"] == [1]


@pytest.mark.parametrize(
    ("yaml", "found"),
    [
        ("- configs:", r"the YAML is \[.*wanted a mapping with configs:"),
        ("configs: 3", "configs is 3, wanted a list of"),
        ("configs: {a: b}", "configs is {'a': 'b'}, wanted a list"),
        ("configs: [3]", "an entry is 3, wanted {config_name"),
        ("configs: [{config_name: 3}]", "config_name is 3, wanted a string"),
        ("configs: [{data_dir: [a]}]", r"data_dir is \['a'\], wanted a string"),
        ("configs: [{data_files: 3}]", "the path of data_files is 3, wanted such as"),
        ("configs: [{data_files: {train: 3}}]", "the path of data_files is 3"),
        ("configs: [{data_files: [{split: a}]}]", "the path of data_files is None"),
        ("configs: [{data_files: [{split: 1, path: a}]}]", "split is 1, wanted a str"),
        ("configs: [", "can't be read: .*Correct it, or name the files"),
        (
            "configs: [{data_files: {odd: 'no/*.csv'}}]",
            r"split 'odd' is \['no/\*.csv'\], and no file that can be read is",
        ),
    ],
)
def test_a_card_that_is_none_says_what_was_found_in_it(yaml, found, tmp_path):
    (tmp_path / "train.csv").write_text("x\n1\n")
    (tmp_path / "README.md").write_text(f"---\n{yaml}\n---\n")
    with pytest.raises(ArrowJaxError, match=found):
        load_dataset(tmp_path)


def test_no_split_is_left_out_because_of_its_kind(tmp_path):
    (tmp_path / "train.csv").write_text("x\n1\n")
    (tmp_path / "test.jsonl").write_text('{"x": 2}\n')
    with pytest.raises(
        ArrowJaxError, match=r"split 'test' is .* one dataset is of one"
    ):
        load_dataset(tmp_path)
    assert load_dataset(tmp_path, split="test")["x"] == [2]
