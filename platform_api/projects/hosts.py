"""The hosts of web projects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from platform_api.store.tables import projects
from runner.domains import canonical_host

if TYPE_CHECKING:
    from sqlalchemy import Connection


def is_served(connection: Connection, apps_domain: str | None, host: str) -> bool:
    """Whether a web project that is to be up is reached under a host.

    Args:
        apps_domain: below which web projects are reached; ``None`` where none has a name.
    """
    slug, _, domain = (canonical_host(host) or "").partition(".")
    if apps_domain is None or domain != apps_domain:
        return False
    found = select(projects.c.id).where(projects.c.slug == slug, projects.c.kind == "web", projects.c.desired == "up")
    return connection.execute(found).one_or_none() is not None
