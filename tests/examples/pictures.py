"""Takes the pictures in docs/images/, of the examples and of the playground: ``python -m tests.examples.pictures [NAME...]``.

They show what a reader gets who starts an example as its page says. With Inter installed (Debian: ``fonts-inter``) the system's
font is that, as on many screens.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread

from playwright.sync_api import Page, expect

from tests.examples.browsing import chromium, window
from tests.examples.running_services import REPOSITORY, Service, copied, lang, served
from tests.examples.test_support_desk import ANA, decision_address, sign_in
from wasm_abi.playground.serving import server

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


PLAYED = """\
require random
require net("api.example")

let roll be floor(random() * 6) + 1
print(roll in [1, 2, 3, 4, 5, 6])

try
    write_file("notes.txt", "a secret")
recover problem
    print(problem)
"""


def playground(page: Page) -> None:
    with server(0) as running:
        Thread(target=running.serve_forever, daemon=True).start()
        page.set_viewport_size({"width": SIZE[0], "height": 520})
        page.goto(f"http://127.0.0.1:{running.server_port}/")
        expect(page.locator("html[data-ready=true]")).to_be_attached(timeout=60_000)
        page.locator("#source").fill(PLAYED)
        page.locator("#ceiling").select_option("custom")
        page.get_by_label("Capabilities of the ceiling").fill("stdout,random")
        page.get_by_role("button", name="Run", exact=True).click()
        page.get_by_role("tab", name="Audit").click()
        expect(page.get_by_text("notes.txt", exact=False).last).to_be_visible()
        taken(page, "playground")
        running.shutdown()


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


def main(names: Sequence[str]) -> None:
    if not names or "playground" in names:  # in the fonts of the machine: there is much code in it
        with chromium() as browser, window(browser, SIZE, scale=1.25) as (_, page, complaints):
            playground(page)
            assert complaints == []
    with tempfile.TemporaryDirectory() as folder:
        fonts = Path(folder, "fonts.conf")
        fonts.write_text(FONTS, encoding="utf-8")
        os.environ["FONTCONFIG_FILE"] = str(fonts)
        with chromium() as browser:
            for name, (program, show) in SHOWN.items():
                if names and name not in names:
                    continue
                with (
                    served(copied(name, Path(folder)), program) as service,
                    window(browser, SIZE, scale=1.25) as (_, page, complaints),
                ):
                    show(page, service)
                    assert complaints == []


if __name__ == "__main__":
    main(sys.argv[1:])
