"""The device flow: a terminal gets a token that a person has allowed in a browser."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from platform_service import Service
from sqlalchemy import update

from platform_api.accounts import devices
from platform_api.accounts.principal import ALL_SCOPES, Principal
from platform_api.accounts.records import find_account
from platform_api.moments import now
from platform_api.refusals import Refusal
from platform_api.store import tables


def person(service: Service, email: str = "owner@example.com", via: str = "session") -> Principal:
    """Somebody with an account, signed in with a browser."""
    with service.platform.store.main.reading() as connection:
        found = find_account(connection, email)
    account = service.account(email) if found is None else found.id
    return Principal(account, email, "", "team", False, via, ALL_SCOPES)


def ask(service: Service, **body: Any) -> dict[str, Any]:
    answer = service.client().post("/api/v1/auth/device", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def poll(service: Service, device_code: str) -> tuple[int, dict[str, Any]]:
    answer = service.client().post("/api/v1/auth/device/token", json={"device_code": device_code})
    return answer.status_code, answer.json()


def test_an_allowed_device_gets_its_token_once(service: Service) -> None:
    asked = ask(service, name="laptop")
    assert re.fullmatch(f"[{devices.ALPHABET}]{{4}}-[{devices.ALPHABET}]{{4}}", asked["user_code"])
    assert len(asked["device_code"]) == 43 and (asked["expires_in"], asked["interval"]) == (900, 5)
    assert asked["verify_url"] == f"{service.url}/device?code={asked['user_code']}"
    assert poll(service, asked["device_code"]) == (200, {"status": "pending"})
    ada, main = person(service), service.platform.store.main
    page = devices.device_page(main, ada, asked["user_code"].lower().replace("-", " "))
    assert (page.name, page.asked_from, page.scopes) == ("laptop", "127.0.0.1", ("read", "deploy", "secrets"))
    devices.decide(main, ada, asked["user_code"], ["read", "deploy"])
    status, body = poll(service, asked["device_code"])
    assert (status, body["status"], body["user"]["via"]) == (200, "ok", "device")
    assert service.client(body["token"]).get("/api/v1/me").json() == body["user"]
    assert service.client(body["token"]).get("/api/v1/tokens").json()["details"] == {"scope": "account"}
    assert poll(service, asked["device_code"])[0] == 404


def test_many_polls_at_once_get_one_token(service: Service) -> None:
    asked = ask(service)
    devices.decide(service.platform.store.main, person(service), asked["user_code"], ["read"])
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: poll(service, asked["device_code"])[0], range(16)))
    assert sorted(answers) == [200] + [404] * 15


def test_approve_is_given_only_when_it_is_ticked_and_nothing_else_is_added(service: Service) -> None:
    main, ada = service.platform.store.main, person(service)
    asked = ask(service, scopes=["read"])
    with pytest.raises(Refusal, match="did not ask for secrets"):
        devices.decide(main, ada, asked["user_code"], ["read", "secrets"])
    with pytest.raises(Refusal, match="at least one scope"):
        devices.decide(main, ada, asked["user_code"], [])
    devices.decide(main, ada, asked["user_code"], ["read", "approve"])
    token = poll(service, asked["device_code"])[1]["token"]
    assert service.client(token).get("/api/v1/me").status_code == 200


@pytest.mark.parametrize("body", [{"scopes": ["everything"]}, {"name": ""}, {"name": "a\x00b"}, {"name": 1}])
def test_a_request_that_cannot_be_is_refused(service: Service, body: dict[str, Any]) -> None:
    answer = service.client().post("/api/v1/auth/device", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "validation")
    assert answer.json()["field"] == next(iter(body))


def test_denied_expired_and_unknown_codes(service: Service) -> None:
    main, ada = service.platform.store.main, person(service)
    denied, late = ask(service), ask(service)
    devices.decide(main, ada, denied["user_code"], None)
    assert poll(service, denied["device_code"])[0] == 403
    with main.writing() as connection:
        connection.execute(
            update(tables.devices).where(tables.devices.c.user_code == late["user_code"]).values(expires_at=now() - 1)
        )
    assert poll(service, late["device_code"])[0] == 410
    assert poll(service, "nothing")[0] == 404
    for code in (late["user_code"], denied["user_code"], "BBBB-BBBB", ""):
        with pytest.raises(Refusal, match="no such device code"):
            devices.decide(main, ada, code, ["read"])


def test_a_token_cannot_allow_a_device(service: Service) -> None:
    asked = ask(service)
    with pytest.raises(Refusal) as refused:
        devices.decide(service.platform.store.main, person(service, via="token"), asked["user_code"], ["read"])
    assert refused.value.code == "forbidden"


def test_codes_cannot_be_guessed_through(service: Service) -> None:
    main, ada = service.platform.store.main, person(service)
    asked = ask(service)
    for _ in range(devices.WRONG_CODES):
        with pytest.raises(Refusal, match="no such"):
            devices.device_page(main, ada, "BBBB-BBBB")
    with pytest.raises(Refusal) as refused:
        devices.device_page(main, ada, asked["user_code"])
    assert refused.value.code == "rate_limited"
    devices.device_page(main, person(service, "other@example.com"), asked["user_code"])


def test_polling_more_than_once_a_second_is_refused(service: Service) -> None:
    asked, client = ask(service), service.client()
    answers = [
        client.post("/api/v1/auth/device/token", json={"device_code": asked["device_code"]})
        for _ in range(devices.POLLS_A_MINUTE + 1)
    ]
    assert [answer.status_code for answer in answers] == [200] * devices.POLLS_A_MINUTE + [429]
    assert 0 < int(answers[-1].headers["Retry-After"]) <= 60


def test_a_link_fills_in_its_code_only_where_the_device_is(service: Service) -> None:
    code = ask(service)["user_code"]
    with service.platform.store.main.reading() as connection:
        assert devices.prefilled(connection, code, "127.0.0.1") == code
        assert devices.prefilled(connection, code, "192.0.2.7") == ""


def test_a_disabled_account_gives_no_token_away(service: Service) -> None:
    main, ada = service.platform.store.main, person(service)
    asked = ask(service)
    devices.decide(main, ada, asked["user_code"], ["read"])
    with main.writing() as connection:
        connection.execute(update(tables.accounts).values(disabled=True))
    assert poll(service, asked["device_code"])[0] == 403
