import pytest

from arrow_jax import (
    Array2D,
    Array3D,
    ArrowJaxError,
    Audio,
    ClassLabel,
    Dataset,
    Features,
    Image,
    ShapeError,
    Value,
)

PETS = ClassLabel(names=["cat", "dog", "parrot"])


def test_labels_go_both_ways():
    assert PETS.str2int("dog") == 1
    assert PETS.str2int(["parrot", "cat"]) == [2, 0]
    assert PETS.int2str(2) == "parrot"
    assert PETS.int2str([0, 1]) == ["cat", "dog"]
    assert PETS.num_classes == 3


def test_a_bad_label_is_named_with_those_near_it():
    with pytest.raises(ArrowJaxError, match=r"'parot' is none of the 3.*'parrot'"):
        PETS.str2int(["dog", "parot"])
    with pytest.raises(ArrowJaxError, match=r"7 is no label; .*numbered 0 to 2"):
        PETS.int2str([0, 7])
    with pytest.raises(ArrowJaxError, match="-1 is no label"):
        PETS.int2str(-1)
    with pytest.raises(ArrowJaxError, match="'a' is there 2 times"):
        ClassLabel(["a", "a"])


def test_labels_are_int32_and_may_be_given_as_names():
    ds = Dataset.from_dict({"p": ["dog", "cat"], "q": [2, -1]}, {"p": PETS, "q": PETS})
    got = ds.with_format("jax")[:]
    assert (got["p"].tolist(), got["p"].dtype) == ([1, 0], "int32")
    assert got["q"].tolist() == [2, -1]
    with pytest.raises(ArrowJaxError, match=r"column 'p', row 1: 3 is no label"):
        Dataset.from_dict({"p": [0, 3]}, {"p": PETS})


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float16", "bool", "int32"])
def test_declared_arrays_keep_their_dtype(dtype):
    features = Features({"m": Array2D(shape=(2, 2), dtype=dtype)})
    ds = Dataset.from_dict({"m": [[[0, 1], [1, 0]]] * 3}, features).with_format("jax")
    assert ds[0]["m"].shape == (2, 2)
    assert ds[:]["m"].shape == (3, 2, 2)
    assert ds[:]["m"].dtype == dtype


def test_declared_shapes_are_checked_and_never_regrouped():
    features = Features({"m": Array2D(shape=(2, 2), dtype="int32")})
    rows = [[[1, 2], [3, 4]], [[1, 2, 3], [4]]]
    ds = Dataset.from_dict({"m": rows}, features).with_format("jax")
    with pytest.raises(ShapeError, match=r"column 'm', row 1: found a list of 3.*decl"):
        ds[:]
    ds = Dataset.from_dict({"m": [[[1, 2]]]}, features).with_format("jax")
    with pytest.raises(ShapeError, match=r"row 0: found a list of 1, .*declares 2"):
        ds[:]


def test_a_first_size_of_none_is_ragged_even_if_all_are_alike():
    features = Features({"m": Array2D(shape=(None, 2), dtype="float32")})
    ds = Dataset.from_dict({"m": [[[1, 2]], [[3, 4]]]}, features).with_format("jax")
    assert [x.shape for x in ds[:]["m"]] == [(1, 2), (1, 2)]
    assert ds[0]["m"].shape == (1, 2)


def test_ranks_and_sizes_of_arrays():
    with pytest.raises(ShapeError, match=r"Array3D.*wanted 3 sizes"):
        Array3D(shape=(1, 2), dtype="int8")
    with pytest.raises(ShapeError, match="only the first may be None"):
        Array2D(shape=(1, None), dtype="int8")


def test_features_do_not_change():
    features = Features({"a": Value("int8")})
    assert features == {"a": Value("int8")}
    assert not hasattr(features, "__setitem__")
    assert hash(features) == hash(Features({"a": Value("int8")}))


def test_options_left_alone_are_not_shown():
    assert repr(Image()) == "Image()"
    assert repr(Image(mode="RGB", size=(2, 3))) == "Image(mode='RGB', size=(2, 3))"
    assert repr(Audio(sampling_rate=8000)) == "Audio(sampling_rate=8000)"


def test_labels_by_their_number():
    assert ClassLabel(num_classes=3) == ClassLabel(["0", "1", "2"])
    assert ClassLabel(["a"], num_classes=1).num_classes == 1
    for wrong in (
        lambda: ClassLabel(10),
        lambda: ClassLabel("abc"),
        lambda: ClassLabel(["a"], num_classes=2),
    ):
        with pytest.raises(ArrowJaxError, match=r"ClassLabel\(.*or num_classes= alone"):
            wrong()
