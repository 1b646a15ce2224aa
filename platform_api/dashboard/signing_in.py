"""The pages on which a person signs in and out, and the choice of a language."""

from __future__ import annotations

from typing import Any

from litestar import Response, get, post
from litestar.params import FromPath, FromQuery

from platform_api.accounts.passwords import hash_password, in_turn
from platform_api.accounts.sessions import end_session, set_cookie, start_session
from platform_api.accounts.sign_in import sign_in
from platform_api.accounts.sign_in_links import account_of_link, use_sign_in_link
from platform_api.browser import OPEN, PageRequest
from platform_api.dashboard.forms import field
from platform_api.dashboard.rendering import go, inside, page
from platform_api.dashboard.words import LANGUAGES
from platform_api.refusals import Refusal
from runner.protocol import LANGUAGE_COOKIE

_YEAR_SECONDS = 365 * 24 * 3600


@get("/sign-in", opt={OPEN: True}, sync_to_thread=False)
def show_sign_in(request: PageRequest, back: FromQuery[str] = "/") -> Response[Any]:
    """The form."""
    if request.signed_in is not None:
        return go(inside(back))
    return page(request, "sign_in.html", back=inside(back), email="", error=None, needs_code=False)


@post("/sign-in", opt={OPEN: True}, status_code=200)
async def do_sign_in(request: PageRequest) -> Response[Any]:
    """Begins a session, or shows the form again with what is wrong."""
    platform = request.platform
    email, password, back = (
        await field(request, "email"),
        await field(request, "password"),
        inside(await field(request, "back")),
    )
    code = (await field(request, "code")).strip() or None
    try:
        account = await in_turn(sign_in, platform.store.main, platform.keys, email, password, request.address, code)
    except Refusal as refusal:
        needs_code = code is not None or refusal.field == "code"
        shown = page(
            request, "sign_in.html", refusal.status, back=back, email=email, error=refusal.message, needs_code=needs_code
        )
        if refusal.retry_after is not None:
            shown.headers["Retry-After"] = str(refusal.retry_after)
        return shown
    return await _begin(request, account.id, back)


@get("/sign-in/link/{value:str}", opt={OPEN: True})
async def show_link(request: PageRequest, value: FromPath[str]) -> Response[Any]:
    """The form on which a password is set. Showing it does not use up the link."""
    account = await request.platform.store.main.read(account_of_link, value)
    return page(request, "set_password.html", email=account.email, value=value, error=None)


@post("/sign-in/link/{value:str}", opt={OPEN: True}, status_code=200)
async def do_link(request: PageRequest, value: FromPath[str]) -> Response[Any]:
    """Spends the link, sets the password and begins a session."""
    main = request.platform.store.main
    account = await main.read(account_of_link, value)
    password = await field(request, "password")
    try:
        if password != await field(request, "again"):
            raise Refusal("validation", "The two passwords differ.", field="again")
        hashed = await in_turn(hash_password, password)
    except Refusal as refusal:
        return page(request, "set_password.html", refusal.status, email=account.email, value=value, error=refusal.message)
    spent = await main.write(use_sign_in_link, value, hashed)
    if spent.totp_secret is not None:  # a link stands for the password, not for the second factor
        return go("/sign-in")
    return await _begin(request, spent.id, "/")


@post("/sign-out", status_code=200)
async def sign_out(request: PageRequest) -> Response[Any]:
    """Ends the session of this browser."""
    assert request.signed_in is not None
    await request.platform.store.main.write(end_session, request.signed_in.digest)
    return go("/sign-in", **{"Set-Cookie": set_cookie(request.platform.settings, "")})


@post("/language", opt={OPEN: True}, status_code=200)
async def choose_language(request: PageRequest) -> Response[Any]:
    """Keeps the language of the pages in a cookie."""
    language = await field(request, "language")
    if language not in LANGUAGES:
        raise Refusal("validation", f"The pages are in {', '.join(LANGUAGES)}.", field="language")
    secure = "; Secure" if request.platform.settings.secure else ""
    cookie = f"{LANGUAGE_COOKIE}={language}; Path=/; Max-Age={_YEAR_SECONDS}; SameSite=Lax{secure}"
    return go(inside(await field(request, "back")), **{"Set-Cookie": cookie})


async def _begin(request: PageRequest, account_id: str, back: str) -> Response[Any]:
    value = await request.platform.store.main.write(start_session, account_id, request.address)
    return go(back, **{"Set-Cookie": set_cookie(request.platform.settings, value)})
