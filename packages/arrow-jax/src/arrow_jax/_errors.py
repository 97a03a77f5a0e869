"""What can go wrong, as one tree.

    ArrowJaxError
      +-- NullsError             ValueError
      +-- NarrowingError         OverflowError, ValueError
      +-- ShapeError             ValueError
      +-- UnsupportedTypeError   TypeError
      +-- DecodeError            ValueError
      +-- ManifestError          ValueError
      +-- DeviceError            ValueError

Every message names the column, the first bad row where there is one, what was found,
what was wanted and what to type.
"""


class ArrowJaxError(Exception):
    """Anything that this package refuses; catch it to catch all of them.

    Example:
      >>> issubclass(NarrowingError, ArrowJaxError)
      True
    """


class NullsError(ArrowJaxError, ValueError):
    """A null where the column was not told what becomes of nulls.

    Choose with `with_format(..., nulls=)`: "mask", "nan" or a fill value.

    Example:
      >>> from arrow_jax import Dataset
      >>> Dataset.from_dict({"a": [1, None]}).with_format("numpy")[:]
      Traceback (most recent call last):
      arrow_jax._errors.NullsError: column 'a', row 1: found a null...
    """


class NarrowingError(ArrowJaxError, OverflowError, ValueError):
    """A value that the 32 bits of jax's default mode cannot hold.

    Turn on `jax_enable_x64` before the format is set, or cast the column.

    Example:
      >>> from arrow_jax import Dataset
      >>> Dataset.from_dict({"a": [2**40]}).with_format("jax")[:]
      Traceback (most recent call last):
      arrow_jax._errors.NarrowingError: column 'a', row 0: 1099511627776 ...
    """


class ShapeError(ArrowJaxError, ValueError):
    """A length or shape other than the one that was declared or is needed.

    Example:
      >>> from arrow_jax import Dataset
      >>> Dataset.from_dict({"a": [1, 2], "b": [1]})
      Traceback (most recent call last):
      arrow_jax._errors.ShapeError: column 'b' has 1 rows, column 'a' has 2...
    """


class UnsupportedTypeError(ArrowJaxError, TypeError):
    """A column whose type has no array to become; said when the format is set.

    Example:
      >>> from arrow_jax import Dataset
      >>> Dataset.from_dict({"a": [None]}).with_format("jax")
      Traceback (most recent call last):
      arrow_jax._errors.UnsupportedTypeError: column 'a' has type null...
    """


class DecodeError(ArrowJaxError, ValueError):
    """Bytes that are not the image they were declared to be.

    Example:
      >>> from arrow_jax import Dataset, Features, Image
      >>> ds = Dataset.from_dict({"a": [b"no image"]}, Features({"a": Image()}))
      >>> ds.with_format("numpy")[0]
      Traceback (most recent call last):
      arrow_jax._errors.DecodeError: column 'a', row 0: ...
    """


class ManifestError(ArrowJaxError, ValueError):
    """A saved state that does not belong to the data at hand.

    Example:
      >>> from arrow_jax import Dataset, Loader
      >>> Loader(Dataset.from_dict({"a": [1, 2]}), 2).resume({})
      Traceback (most recent call last):
      arrow_jax._errors.ManifestError: the state has no 'version'...
    """


class DeviceError(ArrowJaxError, ValueError):
    """A device name that jax does not know on this host.

    Example:
      >>> from arrow_jax import Dataset
      >>> Dataset.from_dict({"a": [1]}).with_format("jax", device="abacus:0")
      Traceback (most recent call last):
      arrow_jax._errors.DeviceError: device 'abacus:0' is not one of ...
    """
