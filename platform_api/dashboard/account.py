"""A person's own account: tokens, password, second factor."""

from __future__ import annotations

import asyncio
from typing import Any

from litestar import Response, get, post

from platform_api.accounts import second_factor
from platform_api.accounts.administration import change_password
from platform_api.accounts.passwords import in_turn
from platform_api.accounts.principal import SCOPES
from platform_api.accounts.records import find_account
from platform_api.accounts.tokens import list_tokens, make_personal_token, revoke_token
from platform_api.browser import PageRequest
from platform_api.dashboard.forms import field, fields
from platform_api.dashboard.qr import qr_code
from platform_api.dashboard.rendering import go, page
from platform_api.gateway import TOOLS
from platform_api.projects.listing import list_projects
from platform_api.refusals import Refusal

_MOST = 500


async def _page(request: PageRequest, refusal: Refusal | None = None, **values: Any) -> Response[Any]:
    platform, principal = request.platform, request.principal
    main = platform.store.main
    shown: dict[str, Any] = {
        "tokens": await main.read(list_tokens, principal.account_id, platform.settings.token_days, _MOST),
        "projects": await main.read(list_projects, principal, _MOST, None),
        "account": await main.read(find_account, principal.email),
        "days": platform.settings.token_days,
        "scopes": SCOPES,
        "token": "",
        "tools": f"{platform.settings.base_url}{TOOLS}",
        "secret": "",
        "uri": "",
        "code": None,
        "said": "",
        "error": None if refusal is None else refusal.message,
    }
    return page(request, "account.html", 200 if refusal is None else refusal.status, **{**shown, **values})


@get("/account")
async def show_account(request: PageRequest) -> Response[Any]:
    """The page."""
    return await _page(request)


@post("/account/tokens", status_code=200)
async def do_make_token(request: PageRequest) -> Response[Any]:
    """Makes a token and shows it this once."""
    name, project = await field(request, "name"), await field(request, "project") or None
    scopes = await fields(request, "scopes")
    try:
        _, token = await request.platform.store.main.write(make_personal_token, request.principal, name, scopes, project)
    except Refusal as refusal:
        return await _page(request, refusal)
    return await _page(request, token=token)


@post("/account/tokens/revoke", status_code=200)
async def do_revoke_token(request: PageRequest) -> Response[Any]:
    """Ends a token."""
    try:
        token = await field(request, "token")
        await request.platform.store.main.write(revoke_token, request.principal.account_id, token)
    except Refusal as refusal:
        return await _page(request, refusal)
    return go("/account")


@post("/account/password", status_code=200)
async def do_change_password(request: PageRequest) -> Response[Any]:
    """Sets another password; this browser stays signed in, no other does."""
    session, main = request.signed_in, request.platform.store.main
    assert session is not None
    current, new = await field(request, "current"), await field(request, "password")
    try:
        if new != await field(request, "again"):
            raise Refusal("validation", "The two passwords differ.", field="again")
        account = request.principal.account_id
        await in_turn(change_password, main, account, current, new, session=session.digest)
    except Refusal as refusal:
        return await _page(request, refusal)
    return await _page(request, said="account.password_changed")


@post("/account/second-factor", status_code=200)
async def do_second_factor(request: PageRequest) -> Response[Any]:
    """Offers a secret, turns the second factor on with a code of it, or off with one."""
    platform, account = request.platform, request.principal.account_id
    what, code, secret = await field(request, "what"), await field(request, "code"), await field(request, "secret")
    main, keys = platform.store.main, platform.keys
    try:
        if what == "on":
            await asyncio.to_thread(second_factor.enable, main, keys, account, secret, code)
            return await _page(request, said="account.totp_is_on")
        if what == "off":
            await asyncio.to_thread(second_factor.disable, main, keys, account, code)
            return await _page(request, said="account.totp_is_off")
    except Refusal as refusal:
        return await _page(request, refusal)
    secret, uri = second_factor.offer(request.principal.email)
    return await _page(request, secret=secret, uri=uri, code=qr_code(uri))
