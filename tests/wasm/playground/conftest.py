"""The page of the playground, for every test of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.examples.browsing import window
from tests.wasm.playground.playground_page import open_page, serving
from tests.wasm.web_build import web_build
from wasm_abi.playground.serving import server


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    web_build()
    with serving(server(0)) as address:
        yield address


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    """The page, ready, with the first example. It may complain about nothing."""
    with window(browser) as (_, page, complaints):
        open_page(page, site)
        yield page
        assert not complaints
