"""A loader against the plain list of rows it stands for, however it is used."""

import json
import tempfile
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pyarrow.parquet as pq
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from arrow_jax import Dataset, Loader, Window, mix, scan_parquet
from arrow_jax._ledger import Ledger

MOST_ROWS = 23


def sources(folder, n):
    """The same rows from everywhere that a loader reads, with the shuffles it has."""
    ds = Dataset.from_dict({"x": np.arange(n)})
    file = folder / f"{n}.parquet"
    if not file.exists():
        pq.write_table(ds.source.table, file, row_group_size=4)
    backwards = Dataset.from_dict({"x": np.arange(n)[::-1]}).select(range(n)[::-1])
    return [
        (ds, False),
        (ds, True),
        (backwards, True),
        (scan_parquet(file), False),
        (scan_parquet(file), Window(2)),
        (mix([ds, ds.select([0])], [3, 1]), True),
    ]


class Model(RuleBasedStateMachine):
    """Next, save, resume, with other batch sizes, prefetching and numbers of hosts."""

    folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)

    @initialize(
        n=st.integers(1, MOST_ROWS),
        kind=st.integers(0, 5),
        last=st.sampled_from(["mask", "drop", "keep"]),
        epochs=st.sampled_from([1, 3]),
        seed=st.integers(0, 2),
    )
    def begin(self, n, kind, last, epochs, seed):
        self.data, shuffle = sources(Path(self.folder.name), n)[kind]
        self.options = {
            "shuffle": shuffle,
            "seed": seed,
            "epochs": epochs,
            "last": last,
        }
        one = self.loader(1)
        self.plain = [int(batch["x"][0]) for batch in one]
        self.given = []
        self.run = iter(self.loader(1))
        self.loader_at_hand = one
        self.saved = (self.run.state(), 0)

    def loader(self, batch_size, prefetch=0):
        return Loader(self.data, batch_size, prefetch=prefetch, **self.options)

    @rule()
    def step(self):
        batch = next(self.run, None)
        if batch is None:
            left = len(self.plain) - len(self.given)
            held = self.batch_size if self.options["last"] == "drop" else 1
            assert left < held
            return
        valid = np.asarray(batch.get("valid", np.ones(len(batch["x"]), bool)))
        rows = np.asarray(batch["x"])[valid].tolist()
        start = len(self.given)
        assert rows == self.plain[start : start + len(rows)]
        assert rows
        self.given += rows

    batch_size = 1

    @rule()
    def save(self):
        self.saved = json.loads(json.dumps(self.run.state())), len(self.given)

    @rule(batch_size=st.integers(1, 9), prefetch=st.sampled_from([0, 2]))
    def resume(self, batch_size, prefetch):
        # An epoch's end is a batch's end, so another size can only begin where one is.
        state, n_given = self.saved
        drop = self.options["last"] == "drop"
        if drop and batch_size > len(self.plain):
            return
        self.run.close()
        self.batch_size = batch_size
        self.run = self.loader(batch_size, prefetch).resume(state)
        del self.given[n_given:]

    @rule(hosts=st.sampled_from([1, 2, 4]), order=st.permutations(range(8)))
    def share_among_hosts(self, hosts, order):
        if self.options["last"] == "drop" and len(self.plain) < 8:
            return
        loader = self.loader(8)
        at = loader.resume(self.saved[0])._at
        step = loader._order.step(at, 8)
        if step is None or step.draft.size < 8:
            return
        whole, _ = loader._feed.open(Ledger(), 0).make(step.draft, None)
        found = np.full(8, -1)
        for part in np.split(np.array(order), hosts):
            local = np.sort(part)
            mine, _ = loader._feed.open(Ledger(), 0).make(step.draft, local)
            found[local] = mine["x"]
        assert found.tolist() == whole["x"].tolist()

    def teardown(self):
        if hasattr(self, "run"):
            self.run.close()


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=40, stateful_step_count=12, deadline=None)
