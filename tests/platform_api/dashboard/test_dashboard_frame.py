"""The frame of the dashboard: signing in and out, the language, files, refusals, and who sees which page."""

from __future__ import annotations

import re

import httpx
import pytest
from browsing_person import HTML, Person, plain
from platform_service import PASSWORD, Service
from stored_projects import stored_project

from platform_api.accounts.sign_in_links import make_sign_in_link
from platform_api.gateway import LARGEST_BODY


def visitor(service: Service) -> httpx.Client:
    client = service.client()
    client.headers.update({**HTML, "Origin": service.url})
    return client


def test_who_is_not_signed_in_is_sent_to_sign_in_and_back(service: Service) -> None:
    service.account()
    client = visitor(service)
    answer = client.get("/?cursor=eA")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?back=%2F%3Fcursor%3DeA")
    form = client.get(answer.headers["location"]).text
    assert 'name="back" value="/?cursor=eA"' in form
    entered = client.post("/sign-in", data={"email": "owner@example.com", "password": PASSWORD, "back": "/?cursor=eA"})
    assert (entered.status_code, entered.headers["location"]) == (303, "/?cursor=eA")
    assert "HttpOnly" in entered.headers["set-cookie"] and "SameSite=Lax" in entered.headers["set-cookie"]
    assert client.get("/").status_code == 200


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/a\tb"])
def test_signing_in_leads_nowhere_else(service: Service, back: str) -> None:
    service.account()
    data = {"email": "owner@example.com", "password": PASSWORD, "back": back}
    assert visitor(service).post("/sign-in", data=data).headers["location"] == "/"


def test_a_wrong_password_shows_the_form_again_without_it(service: Service) -> None:
    service.account()
    answer = visitor(service).post("/sign-in", data={"email": 'x"><b>@example.com', "password": "hunter2hunter2"})
    assert answer.status_code == 401
    assert "wrong" in plain(answer.text) and "hunter2" not in answer.text and "<b>" not in answer.text


def test_a_form_of_another_site_signs_nobody_in(service: Service) -> None:
    service.account()
    client = visitor(service)
    data = {"email": "owner@example.com", "password": PASSWORD}
    assert client.post("/sign-in", data=data, headers={"Origin": "https://evil.example"}).status_code == 403


def test_a_password_is_set_by_a_link_once(service: Service) -> None:
    account = service.account()
    with service.platform.store.main.writing() as connection:
        link = make_sign_in_link(connection, service.platform.settings, account).removeprefix(service.url)
    client = visitor(service)
    for _ in range(2):
        assert "owner@example.com" in client.get(link).text
    differ = client.post(link, data={"password": "long enough words", "again": "others"})
    assert differ.status_code == 400 and "differ" in differ.text
    done = client.post(link, data={"password": "long enough words", "again": "long enough words"})
    assert (done.status_code, done.headers["location"]) == (303, "/")
    assert client.get("/").status_code == 200
    assert client.get(link).status_code == 404


def test_a_password_is_set_by_a_link_in_a_browser_that_is_signed_in(service: Service) -> None:
    person = Person(service)
    with service.platform.store.main.writing() as connection:
        link = make_sign_in_link(connection, service.platform.settings, person.account).removeprefix(service.url)
    [form] = re.findall(rf'<form method="post" action="{link}".*?</form>', person.shows(link), re.DOTALL)
    [csrf] = re.findall(r'name="csrf" value="([^"]*)"', form)
    done = person.sends(link, csrf=csrf, password="long enough words", again="long enough words")
    assert (done.status_code, done.headers["location"]) == (303, "/")


def test_signing_out_ends_the_session(service: Service) -> None:
    person = Person(service)
    assert person.sends("/sign-out").headers["location"] == "/sign-in"
    assert person.get("/").status_code == 303


def test_the_language_is_kept(service: Service) -> None:
    person = Person(service)
    assert '<html lang="en">' in person.shows("/")
    assert person.sends("/language", language="es", back="/").headers["location"] == "/"
    assert '<html lang="es">' in person.shows("/")
    assert person.sends("/language", language="xx", back="/").status_code == 400


def test_files_may_be_kept_while_they_are_what_was_asked_for(service: Service) -> None:
    client = visitor(service)
    addresses = set(re.findall(r'(?:href|src)="(/assets/[^"]+)"', client.get("/sign-in").text))
    assert len(addresses) == 4
    for address in addresses:
        kept = client.get(address)
        assert kept.status_code == 200 and "immutable" in kept.headers["cache-control"]
        assert client.get(address.partition("?")[0] + "?v=old").headers["cache-control"] == "no-cache"
    for name in ("words.py", "..%2Fwords.py", "%2e%2e/words.py", "htmx.LICENSE"):
        assert client.get(f"/assets/{name}").status_code == 404


def test_a_page_has_no_script_or_style_of_its_own(service: Service) -> None:
    text = Person(service).shows("/")
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=", text)


def test_refusals_are_pages_for_browsers_and_data_for_programs(service: Service) -> None:
    person = Person(service)
    answer = person.get("/nothing/here")
    assert answer.status_code == 404 and "Not found" in answer.text and 'href="/"' in answer.text
    assert person.client.get("/nothing/here", headers={"Accept": "*/*"}).json()["code"] == "not_found"
    assert person.get("/api/v1/projects").json()["code"] == "unauthorized"


def test_a_form_needs_the_token_of_its_session(service: Service) -> None:
    person = Person(service)
    assert person.sends("/sign-out", csrf="wrong").status_code == 403
    assert person.get("/").status_code == 200


def test_projects_are_listed_for_their_owner_and_cannot_act(service: Service) -> None:
    owner, other = Person(service), Person(service, email="other@example.com")
    assert "No projects yet" in owner.shows("/")
    stored_project(service.platform.store, owner.account, '<script>alert(1)</script>"')
    text = owner.shows("/")
    assert "&lt;script&gt;" in text and "<script>alert" not in text and "not deployed" in text
    assert "alert(1)" not in other.shows("/")


def test_the_changes_of_the_account_are_streamed_to_its_session_alone(service: Service) -> None:
    person = Person(service)
    with person.client.stream("GET", "/live") as answer:
        assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/event-stream")
    assert service.client().get("/live").status_code == 401
    project = stored_project(service.platform.store, person.account)
    with person.client.stream("GET", f"/projects/{project}/log/live") as answer:
        assert answer.status_code == 200
    assert Person(service, email="other@example.com").get(f"/projects/{project}/log/live").status_code == 404


@pytest.mark.parametrize("end", ["sign-out", "password"])
def test_a_stream_ends_with_the_session_that_opened_it(service: Service, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    monkeypatch.setattr("platform_api.event_stream.HEARTBEAT", 0.1)
    watching = Person(service)
    other = Person(service, watching.account)
    with watching.client.stream("GET", "/live", timeout=60) as answer:
        lines = answer.iter_lines()
        assert next(lines) == ":"
        if end == "sign-out":
            assert watching.sends("/sign-out").status_code == 303
        else:
            fields = {"current": PASSWORD, "password": "long enough words", "again": "long enough words"}
            assert other.sends("/account/password", **fields).status_code == 200
        assert set(lines) <= {":", ""}  # it ends


def test_what_is_refused_before_any_page_is_a_page_too(service: Service) -> None:
    client = visitor(service)
    refused = {
        413: client.build_request("POST", "/new", content=bytes(LARGEST_BODY + 1)),
        421: client.build_request("GET", "/", headers={"Host": "evil.example"}),
        400: client.build_request("GET", "/new?way=%00"),
        403: client.build_request("POST", "/sign-in", data={"email": "x"}, headers={"Origin": "https://evil.example"}),
    }
    for status, request in refused.items():
        answer = client.send(request)
        assert answer.status_code == status and answer.headers["content-type"].startswith("text/html"), answer.text
        assert '<a class="button" href="/">' in answer.text and len(answer.headers["x-request-id"]) >= 8
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        request.headers["Accept"] = "*/*"
        assert client.send(request).json()["status"] == status
    for path in ("/api/v1/me", "/runner/v1/poll", "/hooks/deploy/x?x=%00", "/healthz?x=%00"):
        answer = client.get(path)
        assert answer.headers["content-type"] == "application/json", path


def test_refusals_are_in_the_language_of_the_page(service: Service) -> None:
    service.account()
    client = visitor(service)
    said = {
        "es": ("La dirección de correo o la contraseña no son correctas.", "No hay nada en esta dirección."),
        "pt": ("O endereço de e-mail ou a senha está errado.", "Não há nada neste endereço."),
    }
    for language, (wrong, nothing) in said.items():
        client.headers["Accept-Language"] = language
        form = client.post("/sign-in", data={"email": "x@example.com", "password": "wrong words"})
        assert form.status_code == 401 and wrong in form.text and "is wrong" not in form.text
        assert nothing in client.get("/sign-in/nowhere/at/all").text
        host = client.get("/", headers={"Host": "evil.example"}).text
        assert service.url in host and "is reached" not in host
        api = client.post("/api/v1/auth/login", json={"email": "x@example.com", "password": "wrong words"})
        assert api.json()["error"] == "The e-mail address or the password is wrong."
