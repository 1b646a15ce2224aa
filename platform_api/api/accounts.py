"""Signing in, the account, its tokens."""

from __future__ import annotations

import asyncio

from litestar import Router, delete, get, post
from litestar.params import FromPath, JSONBody

from platform_api.accounts.principal import SCOPES
from platform_api.accounts.sign_in import sign_in
from platform_api.accounts.tokens import list_tokens, make_token, revoke_token
from platform_api.api.requests import ApiRequest
from platform_api.api.schemas.accounts import Account, Login, SignedIn, Token, Tokens
from platform_api.api.schemas.shared import Done
from platform_api.moments import rfc3339


@post("/auth/login", status_code=200)
async def login(request: ApiRequest, data: JSONBody[Login]) -> SignedIn:
    """A token with every scope for an e-mail address and a password."""
    main = request.platform.store.main
    found = await asyncio.to_thread(sign_in, main, data.email, data.password, request.address)
    _, token = await main.write(make_token, found.id, "sign-in", SCOPES, "login")
    user = Account(id=found.id, email=found.email, name=found.name, plan=found.plan, admin=found.admin, via="login")
    return SignedIn(token=token, user=user)


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
async def tokens(request: ApiRequest) -> Tokens:
    """The tokens of the account. Needs a token with every scope."""
    request.principal.needs("account")
    rows = await request.platform.store.main.read(list_tokens, request.principal.account_id)
    return Tokens(
        items=[
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
    )


@delete("/tokens/{token_id:str}", status_code=200)
async def revoke(request: ApiRequest, token_id: FromPath[str]) -> Done:
    """Revokes a token. Needs a token with every scope."""
    request.principal.needs("account")
    await request.platform.store.main.write(revoke_token, request.principal.account_id, token_id)
    return Done()


router = Router(path="/", route_handlers=[login, me, tokens, revoke], tags=["accounts"])
