"""One-time codes of an authenticator app at every sign-in."""

from __future__ import annotations

import time
from typing import Any

import pyotp
import pytest
from platform_service import PASSWORD, Service
from sqlalchemy import select, update

from platform_api.accounts import second_factor
from platform_api.accounts.second_factor import STEP, WRONG_CODES
from platform_api.accounts.sign_in_links import make_sign_in_link
from platform_api.administration.main import command
from platform_api.refusals import Refusal
from platform_api.store import tables


def code_of(secret: str, steps: int = 0) -> str:
    return pyotp.TOTP(secret).generate_otp(int(time.time()) // STEP + steps)


def switched_on(service: Service) -> tuple[str, str]:
    """An account with a second factor, and its secret. The codes of one step ago are used up."""
    account = service.account()
    secret, uri = second_factor.offer("owner@example.com")
    assert pyotp.parse_uri(uri).provisioning_uri() == uri and secret in uri
    main, keys = service.platform.store.main, service.platform.keys
    second_factor.enable(main, keys, account, secret, code_of(secret, -1))
    return account, secret


def sign_in(service: Service, code: str | None = None, password: str = PASSWORD) -> tuple[int, dict[str, Any]]:
    body = {"email": "owner@example.com", "password": password, **({} if code is None else {"code": code})}
    answer = service.client().post("/api/v1/auth/login", json=body)
    return answer.status_code, answer.json()


def test_a_password_alone_does_not_sign_in(service: Service) -> None:
    _, secret = switched_on(service)
    status, body = sign_in(service)
    assert (status, body["code"], body["field"]) == (401, "unauthorized", "code")
    assert body["details"] == {"second_factor": "totp"}
    assert "details" not in sign_in(service, password="wrong")[1], "who does not know the password learns nothing"
    assert sign_in(service, "000000" if code_of(secret) != "000000" else "111111")[0] == 401
    assert sign_in(service, code_of(secret))[0] == 200


def test_a_code_is_taken_once_and_none_before_it_any_more(service: Service) -> None:
    _, secret = switched_on(service)
    used = code_of(secret, 1)
    assert sign_in(service, used)[0] == 200
    assert sign_in(service, used)[0] == 401
    assert sign_in(service, code_of(secret, -1))[0] == 401


def test_codes_cannot_be_guessed_from_many_addresses(service: Service) -> None:
    account, secret = switched_on(service)
    main, keys = service.platform.store.main, service.platform.keys
    for _ in range(WRONG_CODES):
        with pytest.raises(Refusal, match="wrong or was used"):
            second_factor.check(main, keys, account, "wrong")
    with pytest.raises(Refusal) as refused:
        second_factor.check(main, keys, account, code_of(secret))
    assert refused.value.code == "rate_limited"


def test_a_secret_lies_encrypted_and_for_its_account_alone(service: Service) -> None:
    account, secret = switched_on(service)
    other = service.account("other@example.com")
    main = service.platform.store.main
    with main.writing() as connection:
        stored = connection.execute(select(tables.accounts.c.totp_secret).where(tables.accounts.c.id == account)).scalar_one()
        assert secret.encode() not in stored
        connection.execute(update(tables.accounts).where(tables.accounts.c.id == other).values(totp_secret=stored))
    copied = service.client().post(
        "/api/v1/auth/login", json={"email": "other@example.com", "password": PASSWORD, "code": code_of(secret)}
    )
    assert copied.status_code == 500


@pytest.mark.parametrize("second", [True, False])
def test_a_sign_in_link_stands_for_the_password_alone(service: Service, second: bool) -> None:
    account = switched_on(service)[0] if second else service.account()
    with service.platform.store.main.writing() as connection:
        link = make_sign_in_link(connection, service.platform.settings, account)
    fields = {"password": "another horse battery", "again": "another horse battery"}
    client = service.client()
    answer = client.post(link, data=fields, headers={"Origin": service.url})
    assert answer.status_code in (302, 303)
    assert ("platform-session" in client.cookies) == (not second)
    assert sign_in(service, password=fields["password"])[0] == (401 if second else 200)


def test_an_operator_helps_who_has_lost_the_app(
    service: Service, database: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLATFORM_DATABASE", database or "")
    switched_on(service)
    words = ["--data", str(service.platform.settings.data), "owner@example.com"]
    assert command(["user", "reset-second-factor", *words]) == 0
    assert sign_in(service)[0] == 200
    assert command(["user", "disable", *words]) == 0
    assert sign_in(service)[0] == 401
    assert command(["user", "enable", *words]) == 0
    assert sign_in(service)[0] == 200


def test_it_goes_on_and_off_with_a_code(service: Service) -> None:
    account, secret = switched_on(service)
    main, keys = service.platform.store.main, service.platform.keys
    fresh, _ = second_factor.offer("owner@example.com")
    with pytest.raises(Refusal, match="on already"):
        second_factor.enable(main, keys, account, fresh, code_of(fresh))
    for wrong in (code_of(fresh), "", "ä" * 6):
        with pytest.raises(Refusal, match="wrong or was used"):
            second_factor.disable(main, keys, account, wrong)
    second_factor.disable(main, keys, account, code_of(secret))
    assert sign_in(service)[0] == 200
    with pytest.raises(Refusal, match="not the code"):
        second_factor.enable(main, keys, account, fresh, code_of(secret))
    with pytest.raises(Refusal, match="not the code"):
        second_factor.enable(main, keys, account, "not base32!", "000000")
