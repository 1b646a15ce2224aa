"""Takes the pictures of the pages that the runtime makes, in docs/images/: ``python -m tests.serve.page_pictures``."""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.examples.browsing import chromium, window
from tests.examples.running_services import REPOSITORY, served
from tests.serve.shown_service import SOURCE

IMAGES = REPOSITORY / "docs" / "images"
MOST_BYTES = 60_000
SIZES = {"phone": (390, 844), "desk": (1280, 720)}


def report(page: Page, url: str) -> None:
    page.goto(f"{url}/report")


def docs(page: Page, url: str) -> None:
    page.goto(f"{url}/docs")
    page.get_by_label("Bearer token").fill("s3cret")
    form = page.locator('form[data-path="/pens"]')
    form.locator("xpath=..").locator("summary").first.click()
    form.get_by_label("Body").fill('{"name": "Quill", "price": 12.50}')
    form.locator("button").first.click()
    expect(form.locator(".answer .status")).to_contain_text("201 Created")
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    page.locator(".route").filter(has=form).evaluate("e => e.scrollIntoView({block: 'end', behavior: 'instant'})")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pens.lang").write_text(SOURCE, encoding="utf-8")
        with served(Path(folder), "pens.lang") as service, chromium() as browser:
            for show in (report, docs):
                for name, size in SIZES.items():
                    for dark in (False, True):
                        with window(browser, size, dark=dark) as (_, page, _complaints):
                            show(page, service.url)
                            path = IMAGES / f"page_{show.__name__}_{name}_{'dark' if dark else 'light'}.png"
                            page.screenshot(path=path, animations="disabled")
                            assert path.stat().st_size <= MOST_BYTES, f"{path}: {path.stat().st_size} bytes"
                            print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
