"""A real browser for the tests: Chromium of the system, driven by Playwright.

Not installed, it skips its tests by name; where ``CI`` is ``true`` it fails them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.servers import missing

WIDE = (1200, 780)
NARROW = (390, 780)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser, which the tests of one file share. Nothing is downloaded."""
    command = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if command is None:
        missing("Chromium", "chromium")
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=command,
            # The superuser has no sandbox to give; the pages are our own.
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        )
        yield browser
        browser.close()


class Complaints(list[str]):
    """What the browser found wrong: errors of scripts, refused resources, answers that are errors of the server."""

    def watch(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.append(f"script: {error}"))
        page.on("console", lambda message: self.append(f"console: {message.text}") if message.type == "error" else None)
        page.on("response", lambda answer: self.append(f"{answer.status} {answer.url}") if answer.status >= 500 else None)


@contextmanager
def window(
    browser: Browser, size: tuple[int, int] = WIDE, *, dark: bool = False, scripts: bool = True, scale: float = 1
) -> Iterator[tuple[BrowserContext, Page, Complaints]]:
    """A new profile with one page."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        java_script_enabled=scripts,
        device_scale_factor=scale,
        locale="en-GB",
    )
    context.set_default_timeout(15_000)
    page = context.new_page()
    complaints = Complaints()
    complaints.watch(page)
    try:
        yield context, page, complaints
    finally:
        context.close()
