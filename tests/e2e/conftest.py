"""What each test gets: a cluster with Paceline on it, a namespace of its own, and a dump of it if it fails."""
import os
import re
import secrets
from pathlib import Path

import pytest

import install
from diagnosis import dump
from job import ROOT, Job
from kubectl import Namespace, kubectl, run
from nodes import SharedClaim, need_kind


LOGS = os.environ.get("PACELINE_E2E_LOGS", "build/e2e")
SKIPS = os.environ.get("PACELINE_E2E_SKIPS")  # A file that gets a line for each skip: its test, a tab, its reason.


def pytest_addoption(parser):
    parser.addoption("--half", choices=["together", "alone"], help="only the tests that run side by side, or only those marked alone")


def pytest_configure(config):
    """tests/e2e/run always names this folder. A file or a test that is named as well is meant instead of it."""
    if len(config.args) > 1 and Path(config.args[0]).resolve() == Path(__file__).resolve().parent:
        del config.args[0]


def is_for_all(config):
    """Whether what is done now is done for all tests: in the process that hands them to others, before it does."""
    return not hasattr(config, "workerinput") and not config.option.collectonly


def pytest_sessionstart(session):
    if not is_for_all(session.config):
        return
    try:
        install.install()
    except AssertionError as trouble:
        pytest.exit(f"{trouble}\n{dump(Namespace(install.NAMESPACE), os.path.join(LOGS, 'install'))}", returncode=1)


def pytest_sessionfinish(session):
    if is_for_all(session.config) and not os.environ.get("PACELINE_E2E_KEEP"):
        install.uninstall()


def pytest_collection_modifyitems(config, items):
    half = config.option.half
    others = [item for item in items if half and (item.get_closest_marker("alone") is not None) != (half == "alone")]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]
    items.sort(key=lambda item: item.get_closest_marker("long") is None)  # Stable: otherwise as they stand.


def note_skip(report):
    """In each process that hears of it: who reads the file counts equal lines once."""
    _, _, reason = report.longrepr
    with open(SKIPS, "a", encoding="utf-8") as file:
        file.write(f"{report.nodeid}\t{' '.join(reason.removeprefix('Skipped: ').split())}\n")


def pytest_runtest_logreport(report):
    if SKIPS and report.skipped and not hasattr(report, "wasxfail"):
        note_skip(report)


def pytest_collectreport(report):
    if SKIPS and report.skipped:  # A whole file.
        note_skip(report)


@pytest.hookimpl(tryfirst=True, hookwrapper=True)
def pytest_runtest_makereport(item, call):
    # The dump has to be taken while the test's namespace is there: before its fixtures are torn down.
    report = (yield).get_result()
    namespace = item.funcargs.get("namespace") if report.failed and report.when != "teardown" else None
    if namespace is not None:
        report.sections.append(("what the cluster says", dump(namespace, os.path.join(LOGS, item.name))))


@pytest.fixture
def namespace(request):
    """Named after the test, gone after it."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:40].strip("-")
    namespace = Namespace(f"{name}-{secrets.token_hex(2)}")
    kubectl("create", "namespace", namespace.name)
    yield namespace
    kubectl("delete", "namespace", namespace.name, "--wait=false")


@pytest.fixture
def start_job(namespace):
    """start_job(manifest) applies it and returns the Job."""
    def start(manifest):
        namespace.apply(manifest)
        return Job(namespace, manifest["metadata"]["name"])
    return start


@pytest.fixture
def shared_claim(namespace):
    """shared_claim("out") makes a ReadWriteMany claim whose folder this machine sees."""
    claims = []

    def make(name):
        claims.append(SharedClaim(namespace, name))
        return claims[-1]
    yield make
    for claim in claims:
        claim.remove()


@pytest.fixture(scope="session")
def probe_image():
    """On all nodes; skips where images cannot be put there."""
    need_kind()
    run(str(ROOT / "tests/cluster/probe/load"))
    return "paceline.dev/probe:test"
