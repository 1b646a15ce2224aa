"""What the tests of the HTTP client share: a server of this machine and the context of a program that may ask it."""

from __future__ import annotations

import pytest
from web_client import context
from web_server import WebServer, reply


@pytest.fixture
def server():
    with WebServer(lambda request: reply("hello", "X-Kind: Test")) as running:
        yield running


@pytest.fixture
def ctx():
    return context()
