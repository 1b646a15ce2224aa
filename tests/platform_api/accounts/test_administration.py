"""Passwords are changed, accounts are closed, tokens are made by people: what holds afterwards and what does not."""

from __future__ import annotations

import pytest
from platform_service import PASSWORD, Service
from sqlalchemy import func, select, update
from stored_projects import stored_project

from platform_api.accounts import administration, sessions, throttle, tokens
from platform_api.accounts.housekeeping import prune_accounts
from platform_api.accounts.passwords import hash_password
from platform_api.accounts.principal import Principal
from platform_api.accounts.sessions import session_of, start_session
from platform_api.accounts.sign_in_links import make_sign_in_link
from platform_api.accounts.tokens import make_personal_token, make_token, revoke_token
from platform_api.moments import DAY, now
from platform_api.refusals import Refusal
from platform_api.store import tables
from platform_api.store.database import Database

NEW = "another horse battery"


def login(service: Service, password: str, email: str = "owner@example.com") -> int:
    return service.client().post("/api/v1/auth/login", json={"email": email, "password": password}).status_code


def holds(service: Service, token: str) -> bool:
    return service.client(token).get("/api/v1/me").status_code == 200


def browser(main: Database, account: str) -> tuple[str, Principal, bytes]:
    with main.writing() as connection:
        value = start_session(connection, account, "127.0.0.1")
        session = session_of(connection, value)
    assert session is not None
    return value, session.principal, session.digest


def open_sessions(main: Database) -> int:
    with main.reading() as connection:
        return int(connection.execute(select(func.count()).select_from(tables.sessions)).scalar_one())


def test_another_password_ends_what_the_old_one_opened(service: Service) -> None:
    account, main = service.account(), service.platform.store.main
    _, _, here = browser(main, account)
    browser(main, account)
    made = service.token(account)
    answer = service.client().post("/api/v1/auth/login", json={"email": "owner@example.com", "password": PASSWORD})
    with pytest.raises(Refusal, match="not the current password") as refused:
        administration.change_password(main, account, "wrong", NEW, session=here)
    assert refused.value.field == "current"
    with pytest.raises(Refusal, match="10 to 1024"):
        administration.change_password(main, account, PASSWORD, "short", session=here)
    administration.change_password(main, account, PASSWORD, NEW, session=here)
    assert open_sessions(main) == 1
    assert not holds(service, answer.json()["token"]) and holds(service, made)
    assert (login(service, PASSWORD), login(service, NEW)) == (401, 200)


def test_an_operator_sets_a_password(service: Service) -> None:
    account, main = service.account(), service.platform.store.main
    browser(main, account)
    with main.writing() as connection:
        administration.reset_password(connection, account, hash_password(NEW))
    assert open_sessions(main) == 0
    assert (login(service, PASSWORD), login(service, NEW)) == (401, 200)


def test_a_closed_account_gets_in_nowhere_and_comes_back_without_its_browsers(service: Service) -> None:
    account, main = service.account(), service.platform.store.main
    token = service.token(account)
    browser(main, account)
    with main.writing() as connection:
        make_sign_in_link(connection, service.platform.settings, account)
        administration.set_disabled(connection, account, True)
    assert not holds(service, token) and login(service, PASSWORD) == 401 and open_sessions(main) == 0
    with main.writing() as connection:
        assert connection.execute(select(func.count()).select_from(tables.sign_in_links)).scalar_one() == 0
        administration.set_disabled(connection, account, False)
    assert holds(service, token) and login(service, PASSWORD) == 200


def test_one_administrator_stays(service: Service) -> None:
    main = service.platform.store.main
    one, two = service.account("one@example.com", admin=True), service.account("two@example.com", admin=True)
    with main.writing() as connection:
        administration.set_disabled(connection, two, True)
        for change in (administration.set_disabled, administration.set_admin):
            with pytest.raises(Refusal, match="last administrator"):
                change(connection, one, change is administration.set_disabled)
        administration.set_disabled(connection, two, False)
        administration.set_admin(connection, one, False)
        with pytest.raises(Refusal, match="last administrator"):
            administration.set_admin(connection, two, False)
        with pytest.raises(Refusal, match="no such account"):
            administration.set_plan(connection, "usr_x", "pro")
        administration.set_plan(connection, one, "pro")
        found = administration.list_accounts(connection)
        assert [(row.email, row.admin, row.plan) for row in found] == [
            ("two@example.com", True, "team"), ("one@example.com", False, "pro"),
        ]  # fmt: skip
        assert not any("hash" in name or "secret" in name for name in found[0]._fields)
        assert [row.id for row in administration.list_accounts(connection, limit=1, before=found[0].id)] == [one]


def test_a_person_makes_tokens_and_a_token_makes_none(service: Service) -> None:
    owner, other, main = service.account(), service.account("other@example.com"), service.platform.store.main
    _, principal, _ = browser(main, owner)
    mine, theirs = (stored_project(service.platform.store, account) for account in (owner, other))
    with main.writing() as connection:
        token_id, token = make_personal_token(connection, principal, " CI ", ["deploy", "read"], mine)
    assert service.client(token).get("/api/v1/me").json()["via"] == "token"
    [listed] = service.client(service.token(owner)).get("/api/v1/tokens").json()["items"][1:]
    assert (listed["id"], listed["name"], listed["scopes"], listed["project_id"]) == (token_id, "CI", ["read", "deploy"], mine)
    by_token = Principal(owner, "", "", "team", False, "token", principal.scopes)
    for who, name, scopes, project, message in (
        (principal, "x", ["read"], theirs, "no such project"),
        (principal, "x", [], None, "at least one scope"),
        (principal, "x", ["account"], None, "is no scope"),
        (principal, " ", ["read"], None, "1 to 100"),
        (principal, "a\0", ["read"], None, "1 to 100"),
        (by_token, "x", ["read"], None, "signed in with a browser"),
    ):
        with pytest.raises(Refusal, match=message), main.writing() as connection:
            make_personal_token(connection, who, name, scopes, project)


def test_the_tokens_of_an_account_are_bounded(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MOST", 4)
    account, other, main = service.account(), service.account("other@example.com"), service.platform.store.main
    _, principal, _ = browser(main, account)
    with main.writing() as connection:
        first, value = make_token(connection, account, "sign-in", ["read"], "login")
        made = [make_personal_token(connection, principal, f"{number}", ["read"])[0] for number in range(2)]
        made += [make_token(connection, account, f"{number}", ["read"], "device")[0] for number in range(2)]
    for via in ("token", "device"):
        with pytest.raises(Refusal, match="4 tokens: revoke one first"), main.writing() as connection:
            make_token(connection, account, "x", ["read"], via)
    with main.writing() as connection:
        make_token(connection, other, "x", ["read"], "token")
        revoke_token(connection, account, made[0])
        make_personal_token(connection, principal, "x", ["read"])
        connection.execute(update(tables.tokens).where(tables.tokens.c.id == made[1]).values(last_used_at=now() - 91 * DAY))
        prune_accounts(connection, 90)
        make_personal_token(connection, principal, "in the place of one that expired", ["read"])
    assert holds(service, value)
    with main.writing() as connection:
        connection.execute(update(tables.tokens).where(tables.tokens.c.id == first).values(last_used_at=now() - DAY))
        for _ in range(4):
            make_token(connection, account, "sign-in", ["read"], "login")
    assert not holds(service, value), "of sign-ins, the one that was used least recently ends"
    with main.writing() as connection:
        for _ in range(10):
            revoke_token(connection, account, make_token(connection, account, "sign-in", ["read"], "login")[0])
        kept = select(func.count()).select_from(tables.tokens).where(tables.tokens.c.account_id == account)
        assert connection.scalar(kept) <= 3 * 4 + 1, "nor do ended ones grow without end"


def test_the_sessions_of_an_account_are_bounded(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST", 4)
    account, main = service.account(), service.platform.store.main
    value, _, digest = browser(main, account)
    with main.writing() as connection:
        connection.execute(update(tables.sessions).where(tables.sessions.c.digest == digest).values(last_used_at=now() - DAY))
        newest = [start_session(connection, account, "") for _ in range(4)]
        assert session_of(connection, value) is None
        assert all(session_of(connection, one) is not None for one in newest)


def test_tokens_that_expired_are_not_listed(service: Service) -> None:
    account, main = service.account(), service.platform.store.main
    service.token(account)
    with main.writing() as connection:
        connection.execute(update(tables.tokens).values(last_used_at=now() - 91 * DAY))
    assert len(service.client(service.token(account)).get("/api/v1/tokens").json()["items"]) == 1


def test_tokens_are_listed_in_pages(service: Service) -> None:
    account = service.account()
    tokens = [service.token(account) for _ in range(5)]
    client = service.client(tokens[0])
    whole = client.get("/api/v1/tokens").json()
    assert "next_cursor" not in whole
    found, cursor = [], None
    for _ in range(3):
        page = client.get("/api/v1/tokens", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        found += page["items"]
        cursor = page["next_cursor"]
    assert found == whole["items"] and cursor is None
    assert client.get("/api/v1/tokens?cursor=!").json()["field"] == "cursor"


def test_what_is_over_is_swept_and_what_holds_stays(service: Service) -> None:
    account, main = service.account(), service.platform.store.main
    token = service.token(account)
    service.client().post("/api/v1/auth/device")
    for _ in range(2):
        browser(main, account)
    old = now() - 200 * DAY
    with main.writing() as connection:
        make_sign_in_link(connection, service.platform.settings, account)
        revoked, _ = make_token(connection, account, "old", ["read"], "token")
        connection.execute(update(tables.tokens).where(tables.tokens.c.id == revoked).values(revoked_at=old))
        connection.execute(update(tables.sign_in_links).values(expires_at=old))
        [first, _] = connection.execute(select(tables.sessions.c.digest)).scalars().all()
        connection.execute(update(tables.sessions).where(tables.sessions.c.digest == first).values(last_used_at=old))
        throttle.count(connection, "old", 1)
        connection.execute(update(tables.counts).where(tables.counts.c.key == "old").values(since=old))
        throttle.count(connection, "new", 1)
        prune_accounts(connection, 90)
        left = {
            table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (tables.tokens, tables.sign_in_links, tables.sessions, tables.devices, tables.counts)
        }
    assert left == {"tokens": 1, "sign_in_links": 0, "sessions": 1, "devices": 1, "counts": 1}
    assert holds(service, token)
