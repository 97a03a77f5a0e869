"""One table, the same laws for every public object.

A package registers each object once, as a `Specimen`; `Laws` makes a test of every
law that applies. A new object adds a row, a new law is held to all.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from chex_harness import _each_law
from chex_harness._specimen import Specimen

Law = Callable[[Specimen], None]
# Each law and the attributes of a specimen that it needs.
LAWS: dict[str, tuple[Law, tuple[str, ...]]] = {
    "jit_equals_eager": (_each_law.jit_equals_eager, ()),
    "vmap_equals_a_loop": (_each_law.vmap_equals_a_loop, ()),
    "dtype_is_kept": (_each_law.dtype_is_kept, ("dtypes",)),
    "promotion_is_strict": (_each_law.promotion_is_strict, ()),
    "second_call_compiles_nothing": (_each_law.second_call_compiles_nothing, ()),
    "init_works_abstractly": (_each_law.init_works_abstractly, ("init",)),
    "sharding_is_kept": (_each_law.sharding_is_kept, ("carry",)),
    "it_pickles": (_each_law.it_pickles, ()),
    "gradient_is_finite": (_each_law.gradient_is_finite, ("grad",)),
    "auto_mesh_agrees": (_each_law.auto_mesh_agrees, ("rows",)),
    "explicit_mesh_agrees": (_each_law.explicit_mesh_agrees, ("rows",)),
}


class Laws:
    """A table of specimens and what must hold for each.

    Args:
      table: the specimens by name.
      public: names that the table must have, such as those of a module; a table
        that lacks one fails a test of its own.

    Raises:
      ValueError: if there is no specimen, one excludes a law that there is none of,
        or has a position below 0.

    Example:
      >>> import jax.numpy as jnp
      >>> laws = Laws({
      ...     "square": Specimen(
      ...         fn=jnp.square, args=lambda dtype: (jnp.arange(1, 9, dtype=dtype),),
      ...         rows=(0,), grad=(0,)),
      ... })
      >>> test_laws = laws.test()  # in a test module: one test a law and specimen
      >>> laws.check()  # without pytest
    """

    def __init__(
        self, table: Mapping[str, Specimen], *, public: Iterable[str] = ()
    ) -> None:
        self._table = dict(table)
        self._public = sorted(public)
        if not self._table:
            raise ValueError("the table has no specimen, so no law would be tested")
        for name, specimen in self._table.items():
            if min(*specimen.rows, *specimen.grad, specimen.carry, 0) < 0:
                raise ValueError(
                    f"{name} has rows={specimen.rows}, grad={specimen.grad} and carry="
                    f"{specimen.carry}; positions count from 0"
                )
            if unknown := set(specimen.without) - set(LAWS):
                raise ValueError(
                    f"{name} is without {sorted(unknown)}, which are no laws; there "
                    f"are {', '.join(LAWS)}"
                )

    def cases(self) -> list[tuple[str, str]]:
        """The pairs (name of a specimen, name of a law) that apply."""
        return [
            (name, law)
            for name, specimen in self._table.items()
            for law, (_, needs) in LAWS.items()
            if all(getattr(specimen, need) for need in needs)
        ]

    def hold(self, name: str, law: str) -> None:
        """Holds one specimen to one law.

        Args:
          name: of the specimen.
          law: of the law.

        Raises:
          AssertionError: if it does not hold; or if it does and is excluded.
          Exception: what the specimen raises.
        """
        specimen = self._table[name]
        reason = specimen.without.get(law)
        if reason is None:
            LAWS[law][0](specimen)
            return
        try:
            LAWS[law][0](specimen)
        except (NameError, ImportError):  # of a mistake in the table
            raise
        except Exception:  # noqa: BLE001  (however else it fails, it is excluded)
            return
        raise AssertionError(
            f"{name} is without {law!r} ({reason}), but the law holds: remove it there"
        )

    def complete(self) -> None:
        """Asserts that the table has every public name.

        Raises:
          AssertionError: if it lacks one, or has one that is not public.
        """
        missing = set(self._public) - set(self._table)
        unknown = set(self._table) - set(self._public)
        if self._public and (missing or unknown):
            raise AssertionError(
                f"the table lacks {sorted(missing)} and has {sorted(unknown)}, which "
                "are not public"
            )

    def check(self) -> None:
        """Holds all to all laws.

        Raises:
          AssertionError: lists every specimen and law that failed.
        """
        self.complete()
        failed = []
        for name, law in self.cases():
            try:
                self.hold(name, law)
            except Exception as error:  # noqa: BLE001  (collected, and raised below)
                failed.append(f"{name}, {law}: {type(error).__name__}: {error}")
        if failed:
            listed = "\n".join(failed)
            raise AssertionError(
                f"{len(failed)} of {len(self.cases())} laws do not hold:\n{listed}"
            )

    def test(self) -> Callable[[str, str], None]:
        """A test function for pytest, with one test a specimen and law.

        Returns:
          The function; give it a name that starts with `test_`.
        """
        import pytest  # noqa: PLC0415  (laws work without it)

        cases: Sequence[tuple[str, str]] = self.cases()
        if self._public:
            cases = [*cases, ("the table", "is complete")]

        def test_law(specimen: str, law: str) -> None:
            if law == "is complete":
                self.complete()
            else:
                self.hold(specimen, law)

        return pytest.mark.parametrize(
            ("specimen", "law"), cases, ids=[f"{name}-{law}" for name, law in cases]
        )(test_law)
