"""What every test shares."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import servers
from tests.wasm import web_build

# A property is about results: how long one example takes depends on what else the machine does.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

# A shell starts what it puts in the background with interrupts ignored, and every process started from there inherits that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

HERE = Path(__file__).resolve().parent
#: What stands on a browser, on Node, on an SDK, on a database server, on a WebAssembly build, or on the libraries of the
#: service and runner more than on the Python that runs the tests; the command line, the formatter and load; what asks the
#: same of every builtin: one version does.
ONCE = (
    HERE / "bench",
    HERE / "cli",
    HERE / "examples",
    HERE / "host_link",
    HERE / "language" / "test_format.py",
    HERE / "syntax" / "test_frontend_fuzz.py",
    HERE / "gates" / "test_gate_queue_load.py",
    HERE / "lsp",
    HERE / "mcp",
    HERE / "models",
    HERE / "native" / "test_database_cancellation.py",
    HERE / "native" / "test_memory_killed.py",
    HERE / "platform_api",
    HERE / "runner",
    HERE / "security" / "test_secret_sinks.py",
    HERE / "serve" / "test_chapter_load.py",
    HERE / "serve" / "test_clients.py",
    HERE / "serve" / "test_docs_page_browser.py",
    HERE / "serve" / "test_hostile_page.py",
    HERE / "shared",
    HERE / "stdlib" / "test_archives.py",
    HERE / "stdlib" / "test_arrays.py",
    HERE / "stdlib" / "test_dates.py",
    HERE / "stdlib" / "test_encryption.py",
    HERE / "stdlib" / "test_scheduler.py",
    HERE / "stdlib" / "test_seeded_random.py",
    HERE / "stdlib" / "test_sql_postgres.py",
    HERE / "stdlib" / "test_terminal.py",
    HERE / "stdlib" / "test_ws_connect.py",
    HERE / "test_editors.py",
    HERE / "test_servers_of_tests.py",
    HERE / "wasm",
)
#: Beside what has a server of its own, what takes long: its names, without parameters.
SLOW = frozenset((HERE / "slow.txt").read_text(encoding="utf-8").splitlines())
SERVERS = frozenset(
    ("postgres_place", "new_database", "postgres_url", "postgres", "mysql", "redis", "docker", "browser", "page", "chromium")
)


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # workers get it from the process that has started them
        os.environ[servers.SHARED] = tempfile.mkdtemp(prefix="lang-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(servers.SHARED), ignore_errors=True)


@pytest.hookimpl(tryfirst=True, wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """What runs a WebAssembly build waits for it before its own time begins to count."""
    if item.path.is_relative_to(HERE / "wasm") or hasattr(getattr(item, "module", None), "web_build"):
        web_build.await_builds()
    return (yield)


def pytest_runtest_setup() -> None:
    """Hypothesis times each collection of garbage from then on. What ends a program from outside must not arrive in that
    callback: nothing could catch it there, and it would be reported as the fault of whichever test runs."""
    gc.callbacks[:] = [callback for callback in gc.callbacks if not callback.__module__.startswith("hypothesis")]


def pytest_collection_finish() -> None:
    """The million objects that stand for the tests stay to the end: the collector need not look through them each time."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    once = {path: any(path.is_relative_to(place) for place in ONCE) for path in {item.path for item in items}}
    for item in items:
        if once[item.path]:
            item.add_marker("once")
        if _takes_long(item):
            item.add_marker("slow")


def _takes_long(item: pytest.Item) -> bool:
    name = item.nodeid.partition("[")[0]
    return name in SLOW or "postgresql" in item.name or not SERVERS.isdisjoint(getattr(item, "fixturenames", ()))
