"""Loading from a hub: a local server in its shape."""

import io
import pathlib
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hub_server import REPO, TOKEN, commit_of, hub

from arrow_jax import ArrowJaxError, load_dataset


def parquet(values):
    buffer = io.BytesIO()
    pq.write_table(pa.table({"x": values}), buffer)
    return buffer.getvalue()


FILES = {
    "README.md": b"---\nlicense: mit\n---\n# Digits\n",
    "data/train-00000-of-00001.parquet": parquet([1, 2, 3]),
    "data/test-00000-of-00001.parquet": parquet([4]),
    "notes.bin": b"not wanted",
}


@pytest.fixture
def load(monkeypatch, tmp_path):
    """Loads REPO from an address, with a cache of the test's own."""
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    monkeypatch.delenv("HF_TOKEN", raising=False)

    def load(endpoint, repo=REPO, **options):
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
        return load_dataset(repo, cache_dir=tmp_path / "cache", **options)

    return load


def test_splits_come_from_the_hub_and_then_from_the_cache(load):
    with hub(FILES) as (endpoint, seen):
        ds = load(endpoint)
        assert {n: d["x"] for n, d in ds.items()} == {"train": [1, 2, 3], "test": [4]}
        assert not any("notes.bin" in path for _, path in seen)
        seen.clear()
        assert load(endpoint, split="test")["x"] == [4]
        assert not any(m == "GET" and "parquet" in path for m, path in seen)
    assert load(endpoint, split="train")["x"] == [1, 2, 3]  # the server is gone


def test_offline_only_the_cache_is_asked(load, monkeypatch):
    with hub(FILES) as (endpoint, seen):
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        with pytest.raises(
            ArrowJaxError, match=r"not in the cache, and http.*unset HF_HUB"
        ):
            load(endpoint)
        assert not seen
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        load(endpoint)
        seen.clear()
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        assert load(endpoint, split="test")["x"] == [4]
        assert not seen


def test_a_revision(load):
    with hub(FILES) as (endpoint, _):
        assert load(endpoint, split="test", revision=commit_of(FILES))["x"] == [4]
        with pytest.raises(ArrowJaxError, match=r"no revision 'v9' at http://127"):
            load(endpoint, revision="v9")


def test_a_new_commit_is_fetched(load):
    files = dict(FILES)
    with hub(files) as (endpoint, _):
        load(endpoint)
        files["data/test-00000-of-00001.parquet"] = parquet([5])
        assert load(endpoint, split="test")["x"] == [5]


def test_a_card_on_the_hub_names_what_is_fetched(load):
    said = b"---\nconfigs:\n- data_files:\n  - {split: a, path: x.csv}\n---\n"
    files = FILES | {"README.md": said, "x.csv": b"y\n7\n"}
    with hub(files) as (endpoint, seen):
        assert load(endpoint)["a"]["y"] == [7]
        assert not any("parquet" in path for method, path in seen if method == "GET")


def test_a_token_opens_what_is_not_public(load):
    with hub(FILES, private=True) as (endpoint, _):
        with pytest.raises(ArrowJaxError, match=r"not public: then pass token="):
            load(endpoint)
        assert load(endpoint, split="test", token=TOKEN)["x"] == [4]


def test_what_is_not_there(load):
    with hub(FILES) as (endpoint, _):
        with pytest.raises(
            ArrowJaxError, match=r"no dataset 'owner/absent' at http://127"
        ):
            load(endpoint, "owner/absent")
        with pytest.raises(
            ArrowJaxError, match=r"no split 'odd'; there are \['train', 'te"
        ):
            load(endpoint, split="odd")
        with pytest.raises(ArrowJaxError, match="no folder a/b/c, and it is no name"):
            load(endpoint, "a/b/c")
    with pytest.raises(ArrowJaxError, match="could not be asked: check the network"):
        load(endpoint, "owner/other")


def test_a_missing_package_says_what_to_type():
    code = (
        "import sys; sys.modules['huggingface_hub'] = None\n"
        "from arrow_jax import *\n"
        "try: load_dataset('owner/name')\n"
        "except ArrowJaxError as error: print(error)\n"
    )
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, check=True, text=True)
    assert 'pip install "arrow-jax[hub]"' in done.stdout
    assert not pathlib.Path("owner").exists()


ODD = {
    "a page for people": (200, {"Content-Type": "text/html"}, b"<html>log in</html>"),
    "a list": (200, {}, b"[1]"),
    "other keys": (200, {}, b'{"id": 3}'),
    "nothing": (200, {}, b""),
    "cut short": (200, {"Content-Length": "10000"}, b'{"id'),
    "a loop": (302, {"Location": "{path}"}, b""),
    "a failure": (500, {}, b""),
    "a refusal": (403, {}, b"{}"),
}


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_answer_is_said_with_a_way_on(kind, load):
    with hub(FILES, odd=ODD[kind]) as (endpoint, seen):
        with pytest.raises(ArrowJaxError, match=r"(?s)'owner/digits'.*http://127"):
            load(endpoint)
        assert len(seen) < 40
    if kind == "a failure":
        with (
            hub(FILES, odd=ODD[kind]) as (endpoint, _),
            pytest.raises(ArrowJaxError, match="it answered with status 500"),
        ):
            load(endpoint)
