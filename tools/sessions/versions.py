"""Sessions about versions: which work together, and the release of a new one."""

import nox

from .places import NEWEST, PACKAGES, VERSIONS, find_python, test_group


@nox.session(python=NEWEST, default=False)
def compat(session: nox.Session) -> None:
    """Test all projects against all sets of versions, and print the matrix."""
    session.install("nox", "uv")
    session.run("python", "tools/compat.py", *session.posargs)


@nox.session(name="jax-nightly", python=NEWEST, default=False)
def jax_nightly(session: nox.Session) -> None:
    """Test every package with the jax of last night."""
    url = "https://us-python.pkg.dev/ml-oss-artifacts-published/jax/simple/"
    nightly = ["--prerelease=allow", "--upgrade", "--extra-index-url", url]
    for path in PACKAGES:
        session.install("-e", str(path), test_group(path))
        session.install(*nightly, "jax", "jaxlib")
        session.chdir(path)
        session.run("pytest", *session.posargs)


@nox.session(python=NEWEST, default=False)
def release(session: nox.Session) -> None:
    """Prepare a release: `-- arrow-jax [0.2.0]`; or check a tag: `-- --check TAG`."""
    session.install("towncrier>=24.8")
    session.run("python", "tools/release.py", *session.posargs)


@nox.session(name="release-check", python=NEWEST, default=False)
def release_check(session: nox.Session) -> None:
    """Rehearse a release on both ends of the Pythons: `-- arrow-jax [--out DIR]`."""
    session.install("griffe>=1.7", "uv")
    ends = [f"--python={find_python(python)}" for python in (VERSIONS[0], VERSIONS[-1])]
    session.run("python", "tools/release_check.py", *ends, *session.posargs)
