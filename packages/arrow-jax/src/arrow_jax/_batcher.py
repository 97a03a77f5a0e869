"""The host's part of a batch: rows in, a tree of NumPy arrays of fixed shape out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from arrow_jax._audio_plan import AudioPlan
from arrow_jax._buckets import Buckets
from arrow_jax._chunks import Index
from arrow_jax._dataset import Dataset
from arrow_jax._errors import ArrowJaxError, ShapeError, UnsupportedTypeError
from arrow_jax._format import check_columns
from arrow_jax._forms import Flat, Form, Pad
from arrow_jax._image_plan import ImagePlan
from arrow_jax._ledger import Ledger
from arrow_jax._number_plan import NumberPlan
from arrow_jax._pack import Pack, Packed
from arrow_jax._plan import Plan
from arrow_jax._planner import plan_columns
from arrow_jax._ragged import segments
from arrow_jax._rows import compose
from arrow_jax._step import Draft, Layout
from arrow_jax._string_plan import StringPlan
from arrow_jax._struct_plan import StructPlan


@dataclass(frozen=True)
class Batcher:
    """Makes batches of a dataset's rows.

    Attributes:
      view: rows of the source.
      plans: of the columns that go to the devices.
      host: of the columns that stay.
      forms: column -> form, of those that are ragged.
      masked: whether batches have the key "valid".
    """

    view: Index
    plans: Mapping[str, Plan]
    host: Mapping[str, Plan]
    forms: Mapping[str, Form]
    masked: bool

    def make(
        self,
        draft: Draft,
        local: np.ndarray | None = None,
        ledger: Ledger | None = None,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Makes one batch.

        Args:
          draft: what it holds; rows of the view.
          local: positions in the batch that are wanted, or None for all.
          ledger: counts time and bytes.

        Returns:
          The columns for the devices, and those that stay.
        """
        valid = np.arange(draft.size) < draft.n_real
        if local is not None:
            draft, valid = draft.local(local), valid[local]
        rows = compose(self.view, draft.rows)
        shared = _segments(draft, self.forms)
        ledger = ledger or Ledger()
        batch = {}
        for name, plan in self.plans.items():
            with ledger.time(_work(plan)):
                form = self.forms.get(name)
                batch[name] = self._column(plan, form, rows, draft, shared)
            ledger.column(name, batch[name])
        if self.masked:
            batch["valid"] = valid
        return batch, {name: plan.batch(rows) for name, plan in self.host.items()}

    def _column(
        self, plan: Plan, form: Form | None, rows: Index, draft: Draft, shared: Any
    ) -> Any:
        if form is None:
            return plan.batch(rows)
        if isinstance(form, Pad):
            return plan.padded(rows, form.length, truncate=form.truncate)
        if isinstance(form, Buckets):
            length = draft.length if draft.length is not None else _greatest(form)
            return plan.padded(rows, length, truncate=form.truncate)
        # `_check_fixed` has let nothing else through.
        assert isinstance(plan, NumberPlan)  # noqa: S101
        if isinstance(form, Flat):
            return plan.flat(rows, form.capacity)
        layout = draft.layout or _NOTHING
        values = plan.packed(rows, layout, n_bins=draft.size, capacity=form.length)
        return Packed(values, *shared)

    def spec(self, batch_size: int, length: int | None = None) -> dict[str, Any]:
        """Finds what a batch is, without reading a row.

        Args:
          batch_size: rows in it.
          length: of its bucket, where there are some.

        Returns:
          A tree of `jax.ShapeDtypeStruct`.
        """
        empty, _ = self.make(Draft(range(0), 0, 0, length))

        def of(array: np.ndarray) -> jax.ShapeDtypeStruct:
            return jax.ShapeDtypeStruct((batch_size, *array.shape[1:]), array.dtype)

        # By column, since jax sorts the keys of a dict.
        spec = {name: jax.tree.map(of, column) for name, column in empty.items()}
        for name, form in self.forms.items():
            if isinstance(form, Flat):
                spec[name] = _flat_spec(spec[name], form.capacity)
        return spec

    @property
    def flat(self) -> list[str]:
        """The columns whose values have no batch axis."""
        return [n for n, form in self.forms.items() if isinstance(form, Flat)]


def _work(plan: Plan) -> str:
    return "decode" if isinstance(plan, AudioPlan | ImagePlan) else "assemble"


_NOTHING = Layout(*[np.zeros(0, np.int64)] * 4)


def _greatest(form: Buckets) -> int:
    return (form.edges or (0,))[-1]


def _flat_spec(tree: Any, capacity: int) -> Any:
    """Gives the values of a `Ragged`, below masks of rows, their own first axis."""

    def of(leaf: jax.ShapeDtypeStruct) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((capacity, *leaf.shape[1:]), leaf.dtype)

    if hasattr(tree, "lengths"):
        return tree._replace(values=jax.tree.map(of, tree.values))
    return tree._replace(values=_flat_spec(tree.values, capacity))


def _segments(draft: Draft, forms: Mapping[str, Form]) -> tuple[Any, ...]:
    packs = [form for form in forms.values() if isinstance(form, Pack)]
    if not packs:
        return ()
    return segments(
        draft.layout or _NOTHING, n_bins=draft.size, capacity=packs[0].length
    )


def make_batcher(
    ds: Dataset, *, forms: Mapping[str, Form], host: Any, masked: bool, x64: bool
) -> Batcher:
    """Plans the batches of a dataset and checks its columns.

    Args:
      ds: the rows.
      forms: column -> form, of ragged columns.
      host: names of the columns that stay.
      masked: whether batches get the key "valid".
      x64: whether 64-bit columns stay.

    Returns:
      The batcher.

    Raises:
      UnsupportedTypeError: for strings that are not in `host`.
      ShapeError: for ragged columns that have no form.
      ArrowJaxError: if a name is unknown, or "valid" is taken.
    """
    if not isinstance(host, str | Iterable):
        raise ArrowJaxError(f"host={host!r}: wanted names of columns")
    host = (host,) if isinstance(host, str) else tuple(host)
    names = ds.column_names
    check_columns((*host, *forms), names)
    both = [name for name in host if name in forms]
    if both:
        raise ArrowJaxError(
            f"column {both[0]!r} is in host= and in ragged=, but what stays on the "
            "host is not padded. Name it in one of them"
        )
    plans = plan_columns(
        ds.source, names, x64=x64, nulls=ds.format.nulls, dtype=ds.format.dtype
    )
    on_device = {name: plan for name, plan in plans.items() if name not in host}
    if masked and "valid" in on_device:
        raise ArrowJaxError(
            'a column is named "valid", the key that last="mask" adds. Rename it, '
            "leave it out with with_format(..., columns=[...]), or use "
            'last="drop" or "keep"'
        )
    if not on_device:
        raise ArrowJaxError(
            f"no column of {names} goes to the devices: all are in host="
            if names
            else "the data have no columns, so there is nothing to load"
        )
    for name, plan in plans.items():
        plan.check(ds.rows)
        if name in on_device:
            _check_fixed(name, plan, forms)
    _check_packed(list(plans), forms)
    return Batcher(
        view=ds.rows,
        plans=on_device,
        host={name: plans[name] for name in host},
        forms=dict(forms),
        masked=masked,
    )


def _check_packed(names: list[str], forms: Mapping[str, Form]) -> None:
    packed = [name for name, form in forms.items() if isinstance(form, Pack)]
    others = [name for name in names if name not in packed]
    if packed and others:
        raise ArrowJaxError(
            f"{others} can't be in a batch of packed rows, which hold several rows "
            f"each. Leave them out: ds.with_format(columns={packed})"
        )


def _check_fixed(name: str, plan: Plan, forms: Mapping[str, Form]) -> None:
    if _has_strings(plan):
        raise UnsupportedTypeError(
            f"column {name!r} is strings or bytes, and batches hold arrays only. Name "
            f"it in Loader(..., host=[{name!r}]) to have it beside the batch, or leave "
            "it out: ds.with_format(columns=[...])"
        )
    form = forms.get(name)
    is_image = isinstance(plan, ImagePlan)
    if (plan.is_ragged and form is None) or (is_image and form is not None):
        raise ShapeError(f"column {name!r}: {_advice(name, plan)}")
    if isinstance(form, Flat | Pack | Buckets) and not isinstance(plan, NumberPlan):
        raise ShapeError(
            f"column {name!r}: {type(form).__name__} is for lists of numbers. Give a "
            f"length: ragged={{{name!r}: 512}}"
        )


def _advice(name: str, plan: Plan) -> str:
    if isinstance(plan, ImagePlan):
        return (
            "its images differ in size or mode, and batches have one shape. Make them "
            f'alike: ds.cast_column({name!r}, Image(mode="RGB", size=(224, 224)))'
        )
    if isinstance(plan, AudioPlan):
        return (
            "its sounds differ in length, and batches have one shape. Give the most "
            f"samples: Loader(..., ragged={{{name!r}: 160_000}})"
        )
    return (
        "its lists differ in length, or are not known not to (a scan does not look), "
        "and batches have one shape. Give the greatest "
        f"length: Loader(..., ragged={{{name!r}: 512}}), or Buckets() or Pack(512)"
    )


def _has_strings(plan: Plan) -> bool:
    if isinstance(plan, StructPlan):
        return any(map(_has_strings, plan.plans.values()))
    return isinstance(plan, StringPlan)
