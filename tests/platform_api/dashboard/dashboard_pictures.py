"""Takes the pictures of the pages in docs/images/; run it with ``PYTHONPATH=.:tests/platform_api``."""

from __future__ import annotations

import tempfile
from pathlib import Path

from browsing_person import Person
from dashboard_stage import company

from platform_api.accounts.sessions import cookie_name
from tests.examples.browsing import chromium, window

IMAGES = Path(__file__).parents[3] / "docs" / "images"


def main() -> None:
    """Replaces the pictures."""
    with tempfile.TemporaryDirectory() as folder, company(Path(folder)) as (service, owner), chromium() as browser:
        name = cookie_name(service.platform.settings)
        value = str(Person(service, owner.account).client.cookies.get(name))
        refunds = owner.projects["Refunds"]
        for picture, path, size, dark in (
            ("platform_projects", "/", (1040, 460), False),
            ("platform_audit", f"/projects/{refunds}/audit", (1040, 900), True),
            ("platform_approvals", "/approvals", (390, 480), False),
        ):
            with window(browser, size, dark=dark) as (context, page, _):
                context.add_cookies([{"name": name, "value": value, "url": service.url}])
                page.goto(service.url + path)
                page.screenshot(path=IMAGES / f"{picture}.png")


if __name__ == "__main__":
    main()
