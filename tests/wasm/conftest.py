"""What the tests of the artifacts in a browser share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.examples.browsing import chromium


@pytest.fixture(scope="module")  # while it is open nothing else in the process can run an event loop
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running
