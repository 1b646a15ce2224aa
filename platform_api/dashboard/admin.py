"""What an operator sees: accounts, runners, plans."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from litestar import Response, get, post
from litestar.params import FromPath, QueryParameter

from platform_api.accounts import administration, second_factor
from platform_api.accounts.records import make_account
from platform_api.accounts.sign_in_links import make_sign_in_link
from platform_api.browser import PageRequest
from platform_api.dashboard.forms import field
from platform_api.dashboard.rendering import go, page
from platform_api.moments import now
from platform_api.refusals import Refusal
from platform_api.runners.forgetting import forget_runner
from platform_api.runners.registry import is_here, list_runners, make_runner_token, status_record

_SHOWN = 100


def _operator(request: PageRequest) -> None:
    if not request.principal.admin:
        raise Refusal("not_found", "There is nothing at this path.")


async def _page(
    request: PageRequest, refusal: Refusal | None = None, *, before: str | None = None, **values: Any
) -> Response[Any]:
    platform = request.platform
    main, moment = platform.store.main, now()
    people = await asyncio.to_thread(_accounts, request, before)
    runners = [(row, status_record(row), is_here(row, moment)) for row in await main.read(list_runners)]
    shown = {
        "accounts": people[:_SHOWN],
        "older": people[_SHOWN - 1].id if len(people) > _SHOWN else None,
        "runners": runners,
        "plans": [platform.plans[name] for name in platform.plans.names],
        "link": "",
        "token": "",
        "error": None if refusal is None else refusal.message,
    }
    return page(request, "admin.html", 200 if refusal is None else refusal.status, **{**shown, **values})


def _accounts(request: PageRequest, before: str | None) -> Any:
    with request.platform.store.main.reading() as connection:
        return administration.list_accounts(connection, limit=_SHOWN + 1, before=before)


@get("/admin")
async def show_admin(
    request: PageRequest, before: Annotated[str | None, QueryParameter(max_length=100)] = None
) -> Response[Any]:
    """The page."""
    _operator(request)
    return await _page(request, before=before)


@post("/admin/accounts", status_code=200)
async def do_make_account(request: PageRequest) -> Response[Any]:
    """Makes an account and shows a link on which its owner sets a password."""
    _operator(request)
    platform = request.platform
    email, name, plan = await field(request, "email"), (await field(request, "name")).strip(), await field(request, "plan")
    admin = bool(await field(request, "admin"))

    def make() -> str:
        if plan not in platform.plans.names:
            raise Refusal("validation", f"There is no plan {plan[:40]!r}.", field="plan")
        with platform.store.main.writing() as connection:
            account = make_account(connection, email, name=name[:100], plan=plan, admin=admin)
            return make_sign_in_link(connection, platform.settings, account)

    try:
        link = await asyncio.to_thread(make)
    except Refusal as refusal:
        return await _page(request, refusal)
    return await _page(request, link=link)


@post("/admin/accounts/{account_id:str}", status_code=200)
async def do_change_account(request: PageRequest, account_id: FromPath[str]) -> Response[Any]:
    """Closes or opens an account, moves it to another plan, helps its owner to sign in."""
    _operator(request)
    platform = request.platform
    main = platform.store.main
    what, plan = await field(request, "what"), await field(request, "plan")
    try:
        if what == "plan":
            if plan not in platform.plans.names:
                raise Refusal("validation", f"There is no plan {plan[:40]!r}.", field="plan")
            await main.write(administration.set_plan, account_id, plan)
        elif what in ("disable", "enable"):
            await main.write(administration.set_disabled, account_id, what == "disable")
        elif what == "forget_second_factor":
            await main.write(second_factor.remove, account_id)
        elif what == "link":
            return await _page(request, link=await main.write(make_sign_in_link, platform.settings, account_id))
    except Refusal as refusal:
        return await _page(request, refusal)
    return go("/admin")


@post("/admin/runners", status_code=200)
async def do_runner(request: PageRequest) -> Response[Any]:
    """Makes a token for a runner, which is shown this once, or forgets one that does not come back."""
    _operator(request)
    platform, runner = request.platform, (await field(request, "id")).strip()
    try:
        if await field(request, "what") == "forget":
            await asyncio.to_thread(forget_runner, platform.store, runner)
            return go("/admin")
        token = await platform.store.main.write(make_runner_token, runner)
    except Refusal as refusal:
        return await _page(request, refusal)
    return await _page(request, token=token)
