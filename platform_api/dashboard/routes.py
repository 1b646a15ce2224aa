"""Every page of the dashboard."""

from __future__ import annotations

from platform_api.browser import pages
from platform_api.dashboard import assets, listing, live, signing_in

router = pages(
    [
        assets.show_asset,
        signing_in.show_sign_in,
        signing_in.do_sign_in,
        signing_in.show_link,
        signing_in.do_link,
        signing_in.sign_out,
        signing_in.choose_language,
        listing.show_projects,
        live.live,
        live.live_log,
    ]
)
