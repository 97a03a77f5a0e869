"""A dataset for pipelines of grain."""

from typing import Any

from arrow_jax._dataset import Dataset
from arrow_jax._errors import ArrowJaxError


class GrainSource:
    """Serves the rows of a dataset to grain, as NumPy.

    Use it where a pipeline of `grain.MapDataset` or `grain.DataLoader` is there
    already; it has a random access source's `__len__` and `__getitem__`, and pickles,
    so worker processes can have it. `Loader` is faster: it works on whole batches.

    Args:
      ds: the dataset; its columns and `nulls` hold.

    Example:
      >>> from arrow_jax import Dataset, GrainSource
      >>> source = GrainSource(Dataset.from_dict({"x": [[1, 2], [3, 4]]}))
      >>> len(source), source[1]["x"]
      (2, array([3, 4]))
    """

    def __init__(self, ds: Dataset) -> None:
        if not isinstance(ds, Dataset):
            raise ArrowJaxError(
                f"GrainSource got a {type(ds).__name__}, wanted a Dataset"
            )
        form = ds.format
        if form.kind != "numpy":
            ds = ds.with_format("numpy", columns=form.columns, nulls=form.nulls)
        self._ds = ds

    def __len__(self) -> int:
        return len(self._ds)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self._ds[int(index)]

    def __repr__(self) -> str:
        # grain compares it between a run and the one that resumes it.
        names = ", ".join(self._ds.column_names)
        return f"GrainSource({len(self)} rows of {names})"
