"""Apache Arrow and Parquet to jax.Array: formats, datasets, and a resumable loader."""

from arrow_jax._buckets import Buckets
from arrow_jax._concatenate import concatenate
from arrow_jax._containers import Masked, Ragged
from arrow_jax._dataset import Dataset
from arrow_jax._dataset_dict import DatasetDict
from arrow_jax._encode import to_arrow
from arrow_jax._errors import (
    ArrowJaxError,
    DecodeError,
    DeviceError,
    ManifestError,
    NarrowingError,
    NullsError,
    ShapeError,
    UnsupportedTypeError,
)
from arrow_jax._features import (
    Array2D,
    Array3D,
    Array4D,
    Array5D,
    Audio,
    ClassLabel,
    Days,
    Dictionary,
    Features,
    Image,
    List,
    Value,
)
from arrow_jax._forms import Flat, Pad
from arrow_jax._grain import GrainSource
from arrow_jax._ipc import read_ipc
from arrow_jax._ledger import Stats
from arrow_jax._load import load_dataset
from arrow_jax._loader import Loader
from arrow_jax._mix import Mix, mix
from arrow_jax._pack import Pack, Packed
from arrow_jax._parquet import read_parquet
from arrow_jax._poisson import Poisson
from arrow_jax._scan import Scan, scan_parquet
from arrow_jax._text import read_csv, read_json
from arrow_jax._torch import collate
from arrow_jax._window import Window
from arrow_jax._write import write_parquet

__all__ = [
    "Array2D",
    "Array3D",
    "Array4D",
    "Array5D",
    "ArrowJaxError",
    "Audio",
    "Buckets",
    "ClassLabel",
    "Dataset",
    "DatasetDict",
    "Days",
    "DecodeError",
    "DeviceError",
    "Dictionary",
    "Features",
    "Flat",
    "GrainSource",
    "Image",
    "List",
    "Loader",
    "ManifestError",
    "Masked",
    "Mix",
    "NarrowingError",
    "NullsError",
    "Pack",
    "Packed",
    "Pad",
    "Poisson",
    "Ragged",
    "Scan",
    "ShapeError",
    "Stats",
    "UnsupportedTypeError",
    "Value",
    "Window",
    "collate",
    "concatenate",
    "load_dataset",
    "mix",
    "read_csv",
    "read_ipc",
    "read_json",
    "read_parquet",
    "scan_parquet",
    "to_arrow",
    "write_parquet",
]
