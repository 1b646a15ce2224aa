"""The page on which a person allows a device."""

from __future__ import annotations

import asyncio
from typing import Any

from litestar import Response, get, post
from litestar.params import FromQuery

from platform_api.accounts.devices import decide, device_page, prefilled
from platform_api.browser import PageRequest
from platform_api.dashboard.forms import field, fields
from platform_api.dashboard.rendering import page
from platform_api.refusals import Refusal


def _page(request: PageRequest, status: int = 200, **values: Any) -> Response[Any]:
    shown = {"code": "", "device": None, "done": "", "error": None, "address": request.known_address, **values}
    return page(request, "device.html", status, **shown)


@get("/device")
async def show_device(request: PageRequest, code: FromQuery[str] = "") -> Response[Any]:
    """Asks for the code that the device shows. It is filled in only where browser and device have one address."""
    known = await request.platform.store.main.read(prefilled, code, request.known_address) if code else ""
    return _page(request, code=known)


@post("/device", status_code=200)
async def do_device(request: PageRequest) -> Response[Any]:
    """Shows who asks for what; then allows or denies it."""
    main, principal = request.platform.store.main, request.principal
    code, decision = await field(request, "code"), await field(request, "decision")
    device = None
    try:
        device = await asyncio.to_thread(device_page, main, principal, code)
        if decision in ("allow", "deny"):
            granted = await fields(request, "scopes") if decision == "allow" else None
            await asyncio.to_thread(decide, main, principal, code, granted)
            return _page(request, device=device, done=decision)
    except Refusal as refusal:
        return _page(request, refusal.status, code=code, device=device, error=refusal.message)
    return _page(request, code=device.user_code, device=device)
