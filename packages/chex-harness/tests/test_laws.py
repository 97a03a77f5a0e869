import jax.numpy as jnp
import pytest

from chex_harness import LAWS, Laws, Specimen


def arrays(dtype):
    return (jnp.arange(1, 9, dtype=dtype),)


TABLE = {
    "square": Specimen(fn=jnp.square, args=arrays, carry=1, rows=(0,), grad=(0,)),
    "count": Specimen(
        fn=lambda x: jnp.sum(x > 2) * jnp.ones(()),
        args=arrays,
        dtypes=("float32",),
        without={"promotion_is_strict": "counts are integers"},
    ),
}
test_laws = Laws(TABLE, public=["square", "count"]).test()


def test_only_laws_that_apply_are_tested():
    found = Laws(TABLE).cases()
    assert ("square", "sharding_is_kept") in found
    assert ("count", "sharding_is_kept") not in found
    assert ("square", "init_works_abstractly") not in found
    assert {law for _, law in found} == set(LAWS) - {"init_works_abstractly"}


def test_a_table_must_be_complete():
    with pytest.raises(AssertionError, match=r"lacks \['cube'\] and has \['count'"):
        Laws(TABLE, public=["cube"]).complete()


def test_an_exclusion_must_have_its_reason():
    row = Specimen(fn=jnp.square, args=arrays, without={"it_pickles": "old"})
    with pytest.raises(AssertionError, match=r"\(old\), but the law holds: remove it"):
        Laws({"square": row}).hold("square", "it_pickles")
    row = Specimen(fn=jnp.square, args=arrays, without={"it_flies": "?"})
    with pytest.raises(ValueError, match=r"\['it_flies'\], which are no laws; there"):
        Laws({"square": row})


def test_check_lists_all_that_failed():
    row = Specimen(fn=lambda x: x.astype(jnp.float16), args=arrays, carry=1)
    with pytest.raises(AssertionError) as caught:
        Laws({"narrow": row}).check()
    text = str(caught.value)
    assert "2 of 7 laws do not hold" in text
    assert "narrow, dtype_is_kept: AssertionError: of float32" in text
    assert "narrow, second_call_compiles_nothing" in text


def test_a_table_that_tests_nothing_is_refused():
    with pytest.raises(ValueError, match="has no specimen, so no law would be"):
        Laws({})
    row = Specimen(fn=jnp.square, args=arrays, rows=(-1,))
    with pytest.raises(ValueError, match=r"square has rows=\(-1,\), .* count from 0"):
        Laws({"square": row})


def test_a_mistake_in_the_table_is_no_exclusion():
    row = Specimen(
        fn=lambda x: undefined + x,  # noqa: F821
        args=arrays,
        without={"it_pickles": "holds a lock"},
    )
    with pytest.raises(NameError, match="undefined"):
        Laws({"typo": row}).hold("typo", "it_pickles")
