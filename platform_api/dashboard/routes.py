"""Every page of the dashboard."""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler

from platform_api.browser import pages
from platform_api.dashboard import (
    account,
    admin,
    approvals,
    assets,
    declared,
    deploys,
    devices,
    environment,
    listing,
    live,
    new_project,
    notices,
    playground,
    project,
    project_settings,
    records,
    rehearsals,
    runs,
    signing_in,
    usage,
)

_MODULES = (
    account,
    admin,
    approvals,
    assets,
    declared,
    deploys,
    devices,
    environment,
    listing,
    live,
    new_project,
    notices,
    playground,
    project,
    project_settings,
    records,
    rehearsals,
    runs,
    signing_in,
    usage,
)

router = pages([found for module in _MODULES for found in vars(module).values() if isinstance(found, HTTPRouteHandler)])
