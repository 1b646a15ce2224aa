"""What every test shares."""

from __future__ import annotations

import gc
import signal
from pathlib import Path

import pytest
from hypothesis import settings

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
    HERE / "language" / "test_frontend_fuzz.py",
    HERE / "language" / "test_gate_queue_load.py",
    HERE / "mcp",
    HERE / "native" / "test_database_cancellation.py",
    HERE / "platform_api",
    HERE / "runner",
    HERE / "security" / "test_secret_sinks.py",
    HERE / "serve" / "test_chapter_load.py",
    HERE / "serve" / "test_clients.py",
    HERE / "shared",
    HERE / "stdlib" / "test_scheduler.py",
    HERE / "stdlib" / "test_sql_postgres.py",
    HERE / "test_editors.py",
    HERE / "wasm",
)


def pytest_runtest_setup() -> None:
    """Hypothesis times each collection of garbage from then on. What ends a program from outside must not arrive in that
    callback: nothing could catch it there, and it would be reported as the fault of whichever test runs."""
    gc.callbacks[:] = [callback for callback in gc.callbacks if not callback.__module__.startswith("hypothesis")]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    once = {path: any(path.is_relative_to(place) for place in ONCE) for path in {item.path for item in items}}
    for item in items:
        if once[item.path]:
            item.add_marker("once")
