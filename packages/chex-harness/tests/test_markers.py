import pytest

MARKS = {
    "devices(99)": "devices(99) and jax has 2*--cpu-devices=99*",
    "devices(0)": "@pytest.mark.devices(0): wanted a number of devices, 1 or more*",
    "devices(n=-1)": "@pytest.mark.devices(n=-1): wanted a number of devices, 1 or*",
    "devices": "@pytest.mark.devices(): wanted a number*Type @pytest.mark.devices(8)*",
    "devices(1, 2)": "@pytest.mark.devices(1, 2): wanted*",
    "devices(m=2)": "@pytest.mark.devices(m=2): wanted*",
    "devices('2')": "@pytest.mark.devices('2'): wanted*",
    "devices(True)": "@pytest.mark.devices(True): wanted*",
    "devices(1.5)": "@pytest.mark.devices(1.5): wanted*",
    "variants()": "@pytest.mark.variants(): wanted names*",
}


def test_every_marked_test_is_checked_whatever_its_fixtures(pytester):
    lines = ["import pytest"]
    for i, mark in enumerate(MARKS):
        lines += [f"@pytest.mark.{mark}", f"def test_{i}(): pass"]
    lines += ["@pytest.mark.devices(n=2)", "def test_right(devices):"]
    lines += ["    assert len(devices) == 2"]
    lines += ["@pytest.mark.skip(reason='x')", "@pytest.mark.devices(99)"]
    lines += ["def test_skipped(): pass"]
    pytester.makepyfile("\n".join(lines))
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--cpu-devices=2")
    result.assert_outcomes(passed=1, skipped=1, errors=len(MARKS))
    result.stdout.fnmatch_lines_random(["*" + told for told in MARKS.values()])
    assert "_markers.py" not in result.stdout.str()


@pytest.mark.parametrize(
    ("mark", "told"),
    [
        ("variants()", "*@pytest.mark.variants(): wanted names, of eager, jit*"),
        ("variants", "*@pytest.mark.variants(): wanted names*variants('jit')*"),
        ("variants('jit', 'pmap')", "*variants('jit', 'pmap'): wanted names*"),
        ("variants(names='jit')", "*variants(names='jit'): wanted names*"),
        ("variants(['jit'])", "*variants(['jit']): wanted names*"),
    ],
)
def test_variants_without_names_or_with_wrong_ones_are_an_error(pytester, mark, told):
    pytester.makepyfile(f"""
        import pytest
        @pytest.mark.{mark}
        def test_it(variant): pass
    """)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([told.replace("[", "[[]")])
    assert "_markers.py" not in result.stdout.str()
