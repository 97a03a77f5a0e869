"""What goes wrong with graphs: two classes that say in their text what to do."""

import importlib
from types import ModuleType


class GraphsError(ValueError):
    """Arrays do not make graphs; the text names the column, the graph and the row.

    Example:
      >>> import jraph_kit
      >>> jraph_kit.from_coo([0], [5], n_node=2)
      Traceback (most recent call last):
      jraph_kit._errors.GraphsError: receivers: graph 0, edge 0 ends at node 5, and the
      graph has 2 nodes; indices count from 0 within each graph
    """


class OversizeError(GraphsError):
    """A graph is larger than the largest bucket; the text names it."""


def require(module: str, *, extra: str) -> ModuleType:
    """Imports what an extra brings, or says how to install it.

    Args:
      module: the module's name.
      extra: the extra of this package that brings it.

    Raises:
      ImportError: if the module is missing.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{module.partition('.')[0]} is not installed; type: pip install "
            f"'jraph-kit[{extra}]'"
        ) from error
