"""Takes the pictures of the examples in docs/images/: ``python -m tests.examples.pictures``.

They show what a reader gets who starts an example as its page says. With Inter installed (Debian: ``fonts-inter``) the system's
font is that, as on many screens.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.examples.browsing import chromium, window
from tests.examples.serving import REPOSITORY, Service, copied, lang, served
from tests.examples.test_support_desk import ANA, decision_address, sign_in

IMAGES = REPOSITORY / "docs" / "images"
SIZE = (1040, 720)
MOST_BYTES = 150_000
FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><include ignore_missing="yes">/etc/fonts/fonts.conf</include>
<match target="pattern"><test name="family" compare="contains"><string>s</string></test>
<test name="family" compare="not_contains"><string>ono</string></test>
<test name="family" compare="not_contains"><string>Cascadia</string></test>
<test name="family" compare="not_contains"><string>Consolas</string></test>
<edit name="family" mode="prepend_first" binding="strong"><string>Inter</string></edit></match></fontconfig>
"""


def support_desk(page: Page, desk: Service) -> None:
    lang(desk.folder, "run", "seed.lang")
    sign_in(page, desk, ANA)
    page.goto(f"{desk.url}/tickets/1")
    page.get_by_label("Amount in €").fill("32.50")
    page.get_by_label("Why").fill("cassette worn after a week")
    page.get_by_role("button", name="Ask for the refund").click()
    browser = page.context.browser
    assert browser is not None
    with window(browser, (480, 620)) as (_, phone, _):
        phone.goto(decision_address(desk, "32.50 €"))
        taken(phone, "decision")
        phone.get_by_role("button", name="Approve").click()
    expect(page.locator(".refunds .state")).to_have_text(["paid"])
    page.locator("main").click(position={"x": 2, "y": 2})
    taken(page, "support_desk")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": SIZE[0], "height": 470})
    page.goto(f"{desk.url}/tickets")
    taken(page, "support_desk_tickets")


def docs_site(page: Page, site: Service) -> None:
    page.set_viewport_size({"width": SIZE[0], "height": 860})
    page.goto(f"{site.url}/guide/costs")
    taken(page, "docs_site")


def dashboard(page: Page, board: Service) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto(board.url)
    expect(page.locator("figure[data-drawn]")).to_have_count(2)
    page.set_viewport_size({"width": SIZE[0], "height": 940})
    taken(page, "dashboard")


def taken(page: Page, name: str) -> None:
    IMAGES.mkdir(exist_ok=True)
    path = IMAGES / f"{name}.png"
    page.screenshot(path=path, animations="disabled")
    assert path.stat().st_size < MOST_BYTES, f"{path}: {path.stat().st_size} bytes"
    print(path.relative_to(REPOSITORY), path.stat().st_size)


SHOWN: dict[str, tuple[str, Callable[[Page, Service], None]]] = {
    "support_desk": ("desk.lang", support_desk),
    "docs_site": ("site.lang", docs_site),
    "dashboard": ("dashboard.lang", dashboard),
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        fonts = Path(folder, "fonts.conf")
        fonts.write_text(FONTS, encoding="utf-8")
        os.environ["FONTCONFIG_FILE"] = str(fonts)
        with chromium() as browser:
            for name, (program, show) in SHOWN.items():
                with (
                    served(copied(name, Path(folder)), program) as service,
                    window(browser, SIZE, scale=1.25) as (_, page, complaints),
                ):
                    show(page, service)
                    assert complaints == []


if __name__ == "__main__":
    main()
