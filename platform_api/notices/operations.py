"""The settings of notices: adding one checks its URL, testing one sends a notice at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from platform_api.accounts import throttle
from platform_api.moments import MINUTE
from platform_api.notices import sending
from platform_api.notices.settings import add_notice, find_notice, parse_kinds, url_of
from platform_api.projects.find import project_of
from platform_api.refusals import Refusal

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from platform_api.accounts.principal import Principal
    from platform_api.platform import Platform

_LIMIT, _WINDOW = 20, 15 * MINUTE


async def add_checked(
    platform: Platform, principal: Principal, project_id: str | None, *, url: str, name: str, kinds: Sequence[str] | None
) -> str:
    """Stores a URL that apprise knows and returns the id of the setting.

    Args:
        project_id: the project that it is about; ``None`` for all of the account.
        kinds: the kinds of events; ``None`` for all.

    Errors: ``not_found`` for the project, ``validation`` for an invalid URL or kind, ``conflict`` if there are 20 already,
    ``rate_limited``.
    """
    main, wanted = platform.store.main, parse_kinds(kinds)
    if project_id is not None:
        await main.read(project_of, principal, project_id)
    await main.write(_count, principal.account_id)
    why = await sending.post(url, "", "", platform.settings, send=False)
    if why:
        raise Refusal("validation", f"url: {why}.", field="url")
    return await main.write(add_notice, platform.keys, principal, project_id, name=name, url=url, kinds=wanted)


async def send_test(platform: Platform, principal: Principal, project_id: str | None, notice_id: str) -> None:
    """Sends a notice now.

    Errors: ``not_found``, ``upstream_failed`` with the reason, ``rate_limited``.
    """
    main = platform.store.main
    row = await main.read(find_notice, principal, project_id, notice_id)
    await main.write(_count, principal.account_id)
    body = f"Notices of {platform.settings.base_url} come here."
    why = await sending.post(url_of(platform.keys, row), "A test", body, platform.settings)
    if why:
        raise Refusal("upstream_failed", f"The notice was not sent: {why}.")


def _count(connection: Connection, account_id: str) -> None:
    key = f"notice:{account_id}"
    throttle.refuse_above(connection, key, _LIMIT, _WINDOW, "Too many notices were tried")
    throttle.count(connection, key, _WINDOW)
