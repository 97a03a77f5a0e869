from @MODULE@ import double


def test_it_doubles():
    assert [double(x).item() for x in (-1, 0, 2.5)] == [-2, 0, 5.0]
