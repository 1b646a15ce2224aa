"""What every test shares."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# A property is about results: how long one example takes depends on what else the machine does.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

HERE = Path(__file__).resolve().parent
#: What stands on a browser, on Node, on an SDK, on a database server or on a WebAssembly build more than on the Python that
#: runs the tests, what a command says of a program without running it, what asks the same of every builtin: one version does.
ONCE = (
    HERE / "wasm",
    HERE / "examples",
    HERE / "cli" / "test_caps.py",
    HERE / "cli" / "test_check_command.py",
    HERE / "mcp",
    HERE / "native" / "test_database_cancellation.py",
    HERE / "security" / "test_secret_sinks.py",
    HERE / "stdlib" / "test_sql_postgres.py",
    HERE / "serve" / "test_clients.py",
    HERE / "test_editors.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(item.path.is_relative_to(place) for place in ONCE):
            item.add_marker("once")
