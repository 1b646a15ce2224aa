"""Every context that a test made ends with it: connections count for the whole process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tool_server


@pytest.fixture(autouse=True)
def _end_contexts() -> Iterator[None]:
    yield
    while tool_server.CONTEXTS:
        tool_server.CONTEXTS.pop().lifetime.end()
