"""The pytest plugin: simulated devices, Markdown examples, and no silent skips.

Loading it imports neither jax nor numpy.
"""

from typing import TYPE_CHECKING, Any

import pytest

from chex_harness._devices import compile_cheaply, simulate_devices
from chex_harness._markdown import MarkdownFile
from chex_harness._markers import VARIANTS, marked_devices, marked_variants
from chex_harness._process_tests import MARKER, run_marked

if TYPE_CHECKING:
    from pathlib import Path

    import jax

    from chex_harness._variants import Variant


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--cpu-devices`, `--forbid-skips` and `cheap_compiles`."""
    group = parser.getgroup("chex-harness")
    group.addoption(
        "--cpu-devices",
        type=int,
        default=8,
        metavar="N",
        help="CPU devices that jax shows in this session (default: 8)",
    )
    group.addoption(
        "--forbid-skips",
        action="store_true",
        help="a skipped test fails, so that a green run has run everything",
    )
    parser.addini(
        "cheap_compiles",
        type="bool",
        default=False,
        help="have XLA optimise little, for tests where compiling takes the time",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Sets the number of CPU devices, before a test module can import jax."""
    config.addinivalue_line(
        "markers",
        "devices(n): the test needs n devices; the `devices` and `mesh` fixtures hand "
        "over exactly n",
    )
    config.addinivalue_line("markers", MARKER)
    config.addinivalue_line(
        "markers",
        "variants(*names): which variants the `variant` fixture runs the test in, of "
        f"{', '.join(VARIANTS)}; all without it",
    )
    if config.getini("cheap_compiles"):
        compile_cheaply()
    try:
        simulate_devices(config.getoption("cpu_devices"))
    except (RuntimeError, ValueError) as error:
        raise pytest.UsageError(str(error)) from error


def pytest_collect_file(
    file_path: "Path", parent: pytest.Collector
) -> MarkdownFile | None:
    """Collects the examples of README.md files that are asked for by name."""
    if file_path.name != "README.md":
        return None
    # Not isinitpath, which forgets a file that is named beside its folder.
    config = parent.config
    named = (arg.partition("::")[0] for arg in config.args)  # testpaths are in it
    if file_path in {config.invocation_params.dir.joinpath(arg) for arg in named}:
        return MarkdownFile.from_parent(parent, path=file_path)
    return None


@pytest.fixture
def devices(request: pytest.FixtureRequest) -> "list[jax.Device]":
    """The first n devices, n from `@pytest.mark.devices(n)`, or all of them."""
    import jax  # noqa: PLC0415  (the plugin loads without jax)

    return jax.devices()[: marked_devices(request.node)]


@pytest.fixture
def mesh(devices: "list[jax.Device]") -> "jax.sharding.Mesh":
    """A mesh with the one axis `data`, of type Auto, over the `devices` fixture."""
    import jax  # noqa: PLC0415  (the plugin loads without jax)

    auto = (jax.sharding.AxisType.Auto,)
    return jax.make_mesh((len(devices),), ("data",), auto, devices=devices)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Checks the markers of every test, with or without their fixtures."""
    marked_devices(item)
    marked_variants(item)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Makes one test of each variant."""
    if "variant" in metafunc.fixturenames:
        names = marked_variants(metafunc.definition)
        metafunc.parametrize("variant", names, indirect=True)


@pytest.fixture
def variant(request: pytest.FixtureRequest, devices: "list[jax.Device]") -> "Variant":
    """A way to call a function, the test runs once in each: `variant(fn)(x)`."""
    from chex_harness._variants import Variant  # noqa: PLC0415  (loads jax)

    return Variant(request.param, devices=devices)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs the body of a test marked `processes` in its processes."""
    marker = pyfuncitem.get_closest_marker("processes")
    if marker is None:
        return None
    run_marked(pyfuncitem, marker)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Turns a skip into a failure under `--forbid-skips`."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        _forbid(report, item.config)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Any:
    """Turns the skip of a whole module into a failure under `--forbid-skips`."""
    report = yield
    if report.skipped:
        _forbid(report, collector.config)
    return report


def _forbid(
    report: pytest.TestReport | pytest.CollectReport, config: pytest.Config
) -> None:
    if not config.getoption("forbid_skips"):
        return
    reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else ""
    report.outcome = "failed"
    report.longrepr = f"{report.nodeid} was skipped under --forbid-skips. {reason}"
