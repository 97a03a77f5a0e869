"""The loaders that several processes and one run alike."""

from arrow_jax import Buckets, Loader, Pack, Window, scan_parquet


def loaders(folder, sharding):
    scan = scan_parquet(folder, columns=["x", "t"])
    only = scan.with_format(columns=["t"])
    common = {"shuffle": Window(2), "epochs": 2, "sharding": sharding}
    buckets = Buckets([2, 4], block=1)
    return {
        "rows": Loader(scan, 4, ragged={"t": 4}, **common),
        "buckets": Loader(scan, 4, ragged={"t": buckets}, **common),
        "packed": Loader(only, 4, ragged={"t": Pack(4, block=1)}, **common),
    }
