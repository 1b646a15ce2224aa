"""Signing in, the account, its tokens."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from litestar import Router, delete, get, post
from litestar.params import FromPath, JSONBody

from platform_api.accounts import devices
from platform_api.accounts.passwords import in_turn
from platform_api.accounts.principal import SCOPES
from platform_api.accounts.sign_in import sign_in
from platform_api.accounts.tokens import list_tokens, make_token, revoke_token
from platform_api.api.paging import Cursor, Limit, Page
from platform_api.api.requests import ApiRequest
from platform_api.api.schemas.accounts import (
    Account,
    Device,
    DeviceAnswer,
    DeviceAsked,
    DevicePoll,
    Login,
    SignedIn,
    Token,
    Tokens,
)
from platform_api.api.schemas.shared import Done
from platform_api.moments import SECOND, rfc3339

if TYPE_CHECKING:
    from sqlalchemy import Row


@post("/auth/login", status_code=200)
async def login(request: ApiRequest, data: JSONBody[Login]) -> SignedIn:
    """A token with every scope for an e-mail address and a password, with ``code`` where a second factor is on."""
    platform, main = request.platform, request.platform.store.main
    found = await in_turn(sign_in, main, platform.keys, data.email, data.password, request.address, data.code)
    _, token = await main.write(make_token, found.id, "sign-in", SCOPES, "login")
    return SignedIn(token=token, user=_account(found, "login"))


@post("/auth/device", status_code=200)
async def device(request: ApiRequest, data: JSONBody[Device]) -> DeviceAsked:
    """Begins to ask for the token of a device, which a person allows in a browser."""
    asked = await request.platform.store.main.write(devices.ask, data.name, data.scopes, request.known_address)
    return DeviceAsked(
        device_code=asked.device_code,
        user_code=asked.user_code,
        verify_url=f"{request.platform.settings.base_url}/device?code={asked.user_code}",
        expires_in=devices.LIFE // SECOND,
        interval=devices.INTERVAL,
    )


@post("/auth/device/token", status_code=200)
async def device_token(request: ApiRequest, data: JSONBody[DevicePoll]) -> DeviceAnswer:
    """The token of a device, once a person has allowed it."""
    found = await asyncio.to_thread(devices.fetch, request.platform.store.main, data.device_code)
    if found is None:
        return DeviceAnswer(status="pending")
    account, token = found
    return DeviceAnswer(status="ok", token=token, user=_account(account, "device"))


@get("/me")
async def me(request: ApiRequest) -> Account:
    """The account of the token."""
    principal = request.principal
    return Account(
        id=principal.account_id,
        email=principal.email,
        name=principal.name,
        plan=principal.plan,
        admin=principal.admin,
        via=principal.via,
    )


@get("/tokens")
async def tokens(request: ApiRequest, limit: Limit = None, cursor: Cursor = None) -> Tokens:
    """The tokens of the account. Needs a token with every scope."""
    request.principal.needs("account")
    page, days = Page(limit, cursor), request.platform.settings.token_days
    account_id = request.principal.account_id
    found = await request.platform.store.main.read(list_tokens, account_id, days, page.wanted, page.after)
    rows, following = page.cut(found)
    items = [
        Token(
            id=row.id,
            name=row.name,
            scopes=row.scopes.split(),
            via=row.via,
            project_id=row.project_id,
            created_at=rfc3339(row.created_at),
            last_used_at=rfc3339(row.last_used_at),
        )
        for row in rows
    ]
    return Tokens(items=items, next_cursor=following)


@delete("/tokens/current", status_code=200)
async def revoke_current(request: ApiRequest) -> Done:
    """Revokes the token of this request: each may end itself."""
    principal = request.principal
    assert principal.token_id is not None
    await request.platform.store.main.write(revoke_token, principal.account_id, principal.token_id)
    return Done()


@delete("/tokens/{token_id:str}", status_code=200)
async def revoke(request: ApiRequest, token_id: FromPath[str]) -> Done:
    """Revokes a token. Needs a token with every scope."""
    await request.platform.store.main.write(revoke_token, request.principal.account_id, token_id)
    return Done()


def _account(row: Row[Any], via: str) -> Account:
    return Account(id=row.id, email=row.email, name=row.name, plan=row.plan, admin=row.admin, via=via)


router = Router(path="/", route_handlers=[login, device, device_token, me, tokens, revoke_current, revoke], tags=["accounts"])
