"""Browser sessions: their cookie, and what a write must carry to be believed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from litestar import get, post
from platform_service import Service
from sqlalchemy import update

from platform_api.accounts.devices import Asked
from platform_api.accounts.principal import Principal
from platform_api.accounts.records import find_account
from platform_api.accounts.sessions import Session, cookie_name, cookie_of, end_sessions, session_of, set_cookie, start_session
from platform_api.accounts.sign_in_links import make_sign_in_link, use_sign_in_link
from platform_api.browser import PageRequest, pages
from platform_api.environment.keys import Keys
from platform_api.environment.snapshots import Environment
from platform_api.moments import now
from platform_api.refusals import Refusal
from platform_api.settings import Settings
from platform_api.store import tables


@get("/who")
async def who(request: PageRequest) -> dict[str, str]:
    return {"email": request.principal.email, "via": request.principal.via}


@get("/open", opt={"open": True})
async def anybody(request: PageRequest) -> dict[str, bool]:
    return {"signed_in": request.signed_in is not None}


@post(["/change", "/api/change"], status_code=200)
async def change(request: PageRequest) -> dict[str, str | None]:
    form = await request.form()
    return {"field": form.get("field")}


@post("/enter", status_code=200, opt={"open": True})
async def enter(request: PageRequest) -> dict[str, bool]:
    return {"entered": True}


@pytest.fixture
def paged(tmp_path: Path, database: str | None) -> Iterator[Service]:
    """A service with the pages above."""
    with Service(tmp_path / "data", database=database, routers=[pages([who, anybody, change, enter])]) as running:
        yield running


def browser(service: Service, email: str = "owner@example.com") -> tuple[httpx.Client, str]:
    """A signed-in browser and the CSRF token of its forms."""
    account = service.account(email)
    with service.platform.store.main.writing() as connection:
        value = start_session(connection, account, "127.0.0.1")
        session = session_of(connection, value)
    assert session is not None
    client = service.client()
    client.cookies.set(cookie_name(service.platform.settings), value)
    return client, session.csrf


def test_a_cookie_signs_in_pages_and_never_the_api(paged: Service) -> None:
    client, csrf = browser(paged)
    assert client.get("/who").json() == {"email": "owner@example.com", "via": "session"}
    assert client.get("/api/v1/me").status_code == 401
    assert client.post("/api/v1/projects", headers={"Origin": paged.url, "X-CSRF-Token": csrf}).status_code == 401
    assert paged.client().get("/who").status_code == 401
    assert paged.client().get("/open").json() == {"signed_in": False}
    token = paged.token(paged.account("other@example.com"))
    assert paged.client(token).get("/who").status_code == 401, "a token signs in no page"


def test_a_write_needs_our_origin_and_the_token_of_its_session(paged: Service) -> None:
    client, csrf = browser(paged)
    _, other = browser(paged, "other@example.com")
    form = {"field": "x", "csrf": csrf}
    ours = {"Origin": paged.url}
    assert client.post("/change", data=form, headers=ours).json() == {"field": "x"}
    assert client.post("/change", headers={**ours, "X-CSRF-Token": csrf}).status_code == 200
    assert client.post("/change", data=form, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200
    refused = [
        client.post("/change", data=form, headers={"Origin": "https://evil.example"}),
        client.post("/change", data=form, headers={"Origin": f"{paged.url}.evil.example"}),
        client.post("/change", data=form, headers={"Origin": f"http://127.0.0.1:{paged.port + 1}"}),
        client.post("/change", data=form, headers={"Origin": "null"}),
        client.post("/change", data=form, headers={"Sec-Fetch-Site": "same-site"}),
        client.post("/change", data=form),
        client.post("/change", data={"field": "x"}, headers=ours),
        client.post("/change", data={"field": "x", "csrf": ""}, headers=ours),
        client.post("/change", data={"field": "x", "csrf": "ä"}, headers=ours),
        client.post("/change", data={"field": "x", "csrf": other}, headers=ours),
        client.post("/change", json={"csrf": csrf}, headers=ours),
        client.post("/api/change", data={"field": "x"}, headers=ours),
    ]
    assert [(answer.status_code, answer.json()["code"]) for answer in refused] == [(403, "forbidden")] * len(refused)
    assert paged.client().post("/change", data=form, headers=ours).status_code == 401


def test_signing_in_cannot_be_done_from_another_site(paged: Service) -> None:
    assert paged.client().post("/enter", headers={"Origin": "https://evil.example"}).status_code == 403
    assert paged.client().post("/enter", headers={"Origin": paged.url}).status_code == 200


@pytest.mark.parametrize("column", ["last_used_at", "expires_at"])
def test_a_session_ends_when_it_is_not_used_and_when_it_is_old(paged: Service, column: str) -> None:
    client, _ = browser(paged)
    with paged.platform.store.main.writing() as connection:
        connection.execute(update(tables.sessions).values({column: now() - 8 * 24 * 3600 * 1000}))
    assert client.get("/who").status_code == 401


def test_a_session_ends_with_its_account_and_when_it_is_signed_out(paged: Service) -> None:
    client, _ = browser(paged)
    other, _ = browser(paged, "other@example.com")
    main = paged.platform.store.main
    with main.writing() as connection:
        account = find_account(connection, "owner@example.com")
        assert account is not None
        connection.execute(update(tables.accounts).where(tables.accounts.c.id == account.id).values(disabled=True))
    assert client.get("/who").status_code == 401
    assert other.get("/who").status_code == 200
    with main.writing() as connection:
        connection.execute(update(tables.accounts).values(disabled=False))
    assert client.get("/who").status_code == 200
    with main.writing() as connection:
        end_sessions(connection, account.id)
    assert (client.get("/who").status_code, other.get("/who").status_code) == (401, 200)


def test_the_cookie_is_closed_to_scripts_to_other_sites_and_to_other_hosts(tmp_path: Path) -> None:
    open_, secure = Settings(data=tmp_path), Settings(data=tmp_path, base_url="https://platform.example")
    assert set_cookie(open_, "v") == "platform-session=v; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax"
    assert set_cookie(secure, "v") == "__Host-platform-session=v; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax; Secure"
    assert "Max-Age=0" in set_cookie(secure, "")


def test_a_sign_in_link_works_once_and_ends_what_the_old_password_opened(paged: Service) -> None:
    client, _ = browser(paged)
    main, settings = paged.platform.store.main, paged.platform.settings
    login = paged.client().post("/api/v1/auth/login", json={"email": "owner@example.com", "password": "correct horse battery"})
    with main.writing() as connection:
        account = find_account(connection, "owner@example.com")
        assert account is not None
        first = make_sign_in_link(connection, settings, account.id)
        second = make_sign_in_link(connection, settings, account.id)
    assert second.startswith(f"{paged.url}/sign-in/link/")
    values = [link.rpartition("/")[2] for link in (first, second)]

    def use(value: str) -> None:
        with main.writing() as connection:
            use_sign_in_link(connection, value, account.password_hash)

    with pytest.raises(Refusal, match="no such sign-in link"):
        use(values[0])
    use(values[1])
    with pytest.raises(Refusal, match="no such sign-in link"):
        use(values[1])
    assert client.get("/who").status_code == 401
    assert paged.client(login.json()["token"]).get("/api/v1/me").status_code == 401


def test_an_old_sign_in_link_does_nothing(paged: Service) -> None:
    account = paged.account()
    main = paged.platform.store.main
    with main.writing() as connection:
        value = make_sign_in_link(connection, paged.platform.settings, account).rpartition("/")[2]
        connection.execute(update(tables.sign_in_links).values(expires_at=now()))
    with pytest.raises(Refusal, match="no such sign-in link"), main.writing() as connection:
        use_sign_in_link(connection, value, "hash")


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("platform-session=abc", "abc"),
        ("other=1; platform-session=abc; last=2", "abc"),
        ('bad name="; platform-session=abc', "abc"),
        ("\x01; =; ;; x; platform-session=abc", "abc"),
        ("platform-session=abc; platform-session=abc", "abc"),
        ("platform-session=planted; platform-session=abc", None),
        ("Platform-Session=abc; platform-sessions=abc; __Host-platform-session=abc; session=abc", None),
        ("", None),
    ],
)
def test_no_other_cookie_of_the_host_signs_in_or_out(tmp_path: Path, header: str, value: str | None) -> None:
    """A program at another port of the host can set cookies of any name."""
    assert cookie_of(Settings(data=tmp_path), header) == value


def test_what_opens_something_is_in_no_representation(tmp_path: Path) -> None:
    secret = "s3cret-" * 5
    principal = Principal("usr_x", "e", "n", "free", False, "session", frozenset(), session=secret.encode())
    shown = [
        Settings(data=tmp_path, database=f"postgresql://u:{secret}@h/d", master_key=secret),
        Session(secret.encode(), principal, secret),
        Asked(secret, "ABCD-EFGH"),
        Environment({"REGION": "eu"}, {"KEY": secret}),
        Keys(lambda: [secret]),
    ]
    for thing in shown:
        assert secret not in repr(thing) + str(thing), type(thing).__name__
