import numpy as np
import pytest

from arrow_jax import Dataset, Features, Image
from arrow_jax._planner import plan_columns

COLUMNS = {
    "number": [1, 2],
    "tensor": [[1.0, 2.0], [3.0, 4.0]],
    "ragged": [[1], [2, 3]],
    "struct": [{"a": 1}, {"a": 2}],
    "text": ["a", "b"],
    "image": np.zeros((2, 4, 4), np.uint8),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_every_kind_of_column_keeps_the_contract(name):
    features = Features({"image": Image()} if name == "image" else {})
    source = Dataset.from_dict({name: COLUMNS[name]}, features).source
    plan = plan_columns(source, [name], x64=False, nulls="error")[name]
    assert plan.name == name
    assert plan.is_ragged is (name == "ragged")
    assert (plan.spec is None) is (name == "text")
    plan.check(range(2))
    for rows, n in ((range(2), 2), (range(0), 0), (np.array([1, 0, 1]), 3)):
        batch = plan.batch(rows)
        assert len(batch["a"] if name == "struct" else batch) == n
