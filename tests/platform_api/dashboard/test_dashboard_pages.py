"""The pages of the dashboard over HTTP: what each shows and does, for whom, and that nothing of a program acts on them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from browsing_person import HTML, Person, plain
from deploying import runner_of, until
from litestar.routes import HTTPRoute
from platform_service import PASSWORD, Service
from stored_projects import stored_deploy, stored_project

from platform_api.accounts import devices
from platform_api.browser import checked
from platform_api.moments import MINUTE, now
from platform_api.records.audit import append_audit
from platform_api.records.logs import append_logs
from platform_api.usage.figures import take_figures
from runner.protocol import Figures

EVIL = "<script>alert(1)</script>"
KEYED = 'require secret("API_KEY")\nprint(secret("API_KEY") == "x")\n'


@pytest.fixture
def person(service: Service) -> Person:
    return Person(service)


def routes(service: Service) -> list[tuple[str, str, Any]]:
    """Method, path and handler of every page."""
    return [
        (method, route.path, handler)
        for route in service.gateway.application.routes
        if isinstance(route, HTTPRoute)
        for handler in route.route_handlers
        if checked in handler.resolve_guards()
        for method in handler.http_methods - {"HEAD", "OPTIONS"}
    ]


def filled(path: str, project: str) -> str:
    path = path.replace("{project_id:str}", project)
    return re.sub(r"\{\w+:\w+\}", "x", path)


def test_every_page_asks_who_is_not_signed_in_to_sign_in(service: Service) -> None:
    client = service.client()
    client.headers.update({**HTML, "Origin": service.url})
    tried = 0
    for method, path, handler in routes(service):
        if handler.opt.get("open"):
            continue
        answer = client.request(method, filled(path, "prj_x"))
        assert answer.status_code == 303, f"{method} {path}: {answer.status_code}"
        assert answer.headers["location"].startswith("/sign-in?back=")
        tried += 1
    assert tried > 40


def test_every_form_needs_the_token_of_its_session(service: Service, person: Person) -> None:
    project = stored_project(service.platform.store, person.account)
    tried = 0
    for method, path, handler in routes(service):
        if method != "POST" or handler.opt.get("open"):
            continue
        for csrf in ("", "wrong", Person(service, person.account).csrf):
            assert person.sends(filled(path, project), csrf=csrf).status_code == 403, path
        answer = person.client.post(
            filled(path, project), data={"csrf": person.csrf}, headers={"Origin": "https://evil.example"}
        )
        assert answer.status_code == 403, path
        tried += 1
    assert tried > 20


def test_a_project_of_another_account_is_not_there(service: Service, person: Person) -> None:
    project = stored_project(service.platform.store, person.account, "Hidden name")
    stranger = Person(service, email="stranger@example.com", admin=True)
    tried = 0
    for method, path, _ in routes(service):
        if "{project_id:str}" in path:
            target = filled(path, project)
            answer = stranger.get(target) if method == "GET" else stranger.sends(target, what="remove", name="Hidden name")
            assert answer.status_code == 404, f"{method} {path}: {answer.status_code}"
            assert "Hidden name" not in answer.text
            tried += 1
    assert tried > 20


def test_every_tab_of_a_project_is_shown_in_every_language(service: Service, person: Person) -> None:
    store = service.platform.store
    project = stored_project(store, person.account, EVIL, kind="job")
    stored_deploy(store, project)
    with store.records.writing() as connection:
        append_logs(connection, project, [(now(), "out", EVIL, None)])
        record = {"ts": now() / 1000, "capability": "net", "scope": EVIL, "granted": False, "origin": EVIL, "why": EVIL}
        append_audit(connection, project, None, [record])
    for language in ("en", "es", "pt"):
        person.sends("/language", language=language, back="/")
        for tab in ("", "/deploys", "/log", "/audit", "/environment", "/approvals", "/runs", "/metrics", "/settings"):
            text = person.shows(f"/projects/{project}{tab}")
            assert "<script>alert" not in text and 'aria-current="page"' in text
            assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=", text)
        for page in (
            "/",
            "/new",
            "/new?way=upload",
            "/new?way=recipe",
            "/new?way=repo",
            "/approvals",
            "/account",
            "/notices",
            "/device",
            "/usage",
        ):
            assert f'<html lang="{language}">' in person.shows(page)


def test_what_is_said_in_english_alone_is_marked_on_a_page_of_another_language(service: Service, person: Person) -> None:
    store = service.platform.store
    project = stored_project(store, person.account, desired="up", phase="failed", phase_detail="Parse error: main.lang:3:1")
    stored_deploy(store, project, status="failed", error="Parse error: main.lang:3:1")
    with store.records.writing() as connection:
        append_logs(connection, project, [(now(), "system", "started again", None), (now(), "out", "hola", None)])
    person.sends("/language", language="es", back="/")
    for path in (f"/projects/{project}", f"/projects/{project}/deploys"):
        assert '<span lang="en">Parse error: main.lang:3:1</span>' in person.shows(path)
    log = person.shows(f"/projects/{project}/log")
    assert '<span class="system" lang="en">started again' in log and '<span class="out">hola' in log
    refused = person.sends("/new", way="repo", name="R", repo="https://nowhere.example/a/b")
    assert refused.status_code == 400 and re.search(r'No se trae el repositorio: <span lang="en">[^<]+</span>\.', refused.text)


def test_a_pasted_program_becomes_a_project(service: Service, person: Person) -> None:
    answer = person.sends("/new", way="paste", name="Shop", source='print("hi")\n')
    assert answer.status_code == 303
    text = person.shows(answer.headers["location"])
    assert "Shop" in text and "not deployed" in plain(text)
    assert "Shop" in person.shows("/")


def test_a_program_with_a_fault_is_shown_again_with_its_place(person: Person) -> None:
    answer = person.sends("/new", way="paste", name="Shop", source=f'print("{EVIL}"\nlet\n')
    assert answer.status_code == 400
    assert "main.lang:" in answer.text and "&lt;script&gt;" in answer.text and "<script>alert" not in answer.text
    assert person.sends("/new", way="paste", name=" ", source="print(1)\n").status_code == 400


def test_uploaded_files_and_folders_become_a_project(service: Service, person: Person) -> None:
    several = [("files", ("main.lang", b'print("hi")\n')), ("files", ("note.bin", b"\xff\x00"))]
    answer = person.sends("/new", way="upload", name="Files", files=several)
    assert answer.status_code == 303, plain(answer.text)
    folder = [("folder", ("shop/main.lang", b'print("hi")\n')), ("folder", ("shop/data/a.txt", b"a"))]
    answer = person.sends("/new", way="upload", name="Folder", files=folder)
    assert answer.status_code == 303, plain(answer.text)
    token = service.client(service.token(person.account))
    project = answer.headers["location"].rpartition("/")[2]
    package = token.get(f"/api/v1/projects/{project}/package").json()
    assert [file["path"] for file in package["files"]] == ["data/a.txt", "main.lang"]


def test_a_package_may_have_as_many_files_in_a_form_as_it_may_have(person: Person) -> None:
    files = [("folder", (f"shop/data/{number}.txt", b"x")) for number in range(1_999)]
    program = ("folder", ("shop/main.lang", b"print(1)\n"))
    assert person.sends("/new", way="upload", name="Large", files=[program, *files]).status_code == 303
    beyond = person.sends("/new", way="upload", name="Larger", files=[program, *files, ("folder", ("shop/one.txt", b"x"))])
    assert beyond.status_code == 400 and "2,000 files" in beyond.text


def test_a_secret_is_stored_and_never_shown(service: Service, person: Person) -> None:
    project = person.sends("/new", way="paste", name="Shop", source=KEYED).headers["location"]
    assert "API_KEY" in person.shows(project)
    assert person.sends(f"{project}/environment", name="API_KEY", value="s3cret-value").status_code == 303
    assert person.sends(f"{project}/environment", name="COLOUR", value="blue<b>").status_code == 303
    text = person.shows(f"{project}/environment")
    assert "s3cret-value" not in text and "fingerprint" in text and "blue&lt;b&gt;" in text
    refused = person.sends(f"{project}/environment", name="not a name", value="s3cret-value")
    assert refused.status_code == 400 and "s3cret-value" not in refused.text
    assert person.sends(f"{project}/environment/delete", name="API_KEY").status_code == 303
    assert person.sends(f"{project}/environment/delete", name="API_KEY").status_code == 404


def test_a_program_is_deployed_stopped_and_gone_back_to(service: Service, person: Person) -> None:
    with runner_of(service) as runner:
        runner.start()
        answer = person.sends("/new", way="paste", name="Shop", kind="worker", source='print("one")\nsleep(1)\n', deploy="1")
        project = answer.headers["location"]
        until(lambda: "running" in plain(person.shows(project)))
        changed = 'require net("api.example.com")\nprint("two")\nsleep(1)\n'
        assert person.sends(f"{project}/deploys", source=changed).status_code == 303
        until(lambda: "Go back to deploy 1" in person.shows(f"{project}/deploys"))
        text = plain(person.shows(f"{project}/deploys"))
        assert "may now require net(&#34;api.example.com&#34;)" in text or "may now require net" in text
        deploy = re.search(r"/deploys/(dep_\w+)/rollback", person.shows(f"{project}/deploys"))
        assert deploy is not None
        assert person.sends(f"{project}/deploys/{deploy[1]}/rollback").status_code == 303
        until(lambda: "Deploy 3 live" in plain(person.shows(f"{project}/deploys")))
        assert person.sends(f"{project}/stop").status_code == 303
        until(lambda: "stopped" in plain(person.shows(project)))


def test_a_deploy_that_may_do_more_waits_for_the_person(service: Service, person: Person) -> None:
    with runner_of(service) as runner:
        runner.start()
        project = person.sends("/new", way="paste", name="S", kind="worker", source="sleep(1)\n", deploy="1").headers[
            "location"
        ]
        until(lambda: "running" in plain(person.shows(project)))
        assert person.sends(f"{project}/review", review_widening="1").status_code == 303
        assert person.sends(f"{project}/deploys", source='require net("api.example.com")\nsleep(1)\n').status_code == 303
        text = person.shows(f"{project}/deploys")
        assert "needs review" in plain(text) and "api.example.com" in text
        deploy = re.search(r"/deploys/(dep_\w+)/confirm", text)
        assert deploy is not None
        assert person.sends(f"{project}/deploys/{deploy[1]}/confirm", decision="yes").status_code == 303
        until(lambda: "Deploy 2 live" in plain(person.shows(f"{project}/deploys")))
        assert person.sends(f"{project}/deploys/{deploy[1]}/confirm", decision="no").status_code == 409


def test_a_gate_is_decided_in_the_inbox_once(service: Service, person: Person) -> None:
    with runner_of(service) as runner:
        runner.start()
        source = 'approve "Pay <b>3</b> EUR?"\nsleep(1)\n'
        project = person.sends("/new", way="paste", name="Pay", kind="worker", source=source, deploy="1").headers["location"]
        until(lambda: 'name="decision"' in person.shows("/approvals"))
        text = person.shows("/approvals")
        assert "Pay &lt;b&gt;3&lt;/b&gt; EUR?" in text
        gate = re.search(r'action="/approvals/(apr_\w+)"', text)
        assert gate is not None
        assert 'name="decision"' in person.shows(f"{project}/approvals")
        other = Person(service, email="other@example.com")
        assert other.sends(f"/approvals/{gate[1]}", decision="yes").status_code == 404
        decided = person.sends(f"/approvals/{gate[1]}", decision="yes", back="//evil.example")
        assert (decided.status_code, decided.headers["location"]) == (303, "/")
        again = person.sends(f"/approvals/{gate[1]}", decision="no")
        assert again.status_code == 409 and "approved" in plain(again.text)


def test_a_job_runs_by_hand_and_by_schedule(service: Service, person: Person) -> None:
    with runner_of(service) as runner:
        runner.start()
        project = person.sends("/new", way="paste", name="Job", kind="job", source='print("done")\n', deploy="1").headers[
            "location"
        ]
        until(lambda: "ready" in plain(person.shows(project)))
        run = person.sends(f"{project}/runs").headers["location"]
        until(lambda: "succeeded" in plain(person.shows(run)))
        assert "done" in person.shows(run)
        assert person.sends(f"{project}/schedule", cron="30 6 * * *").status_code == 303
        assert "06:30" in person.shows(f"{project}/runs")
        bad = person.sends(f"{project}/schedule", cron="99 * * * *")
        assert bad.status_code == 400 and 'value="99 * * * *"' in bad.text


def test_the_audit_is_filtered(service: Service, person: Person) -> None:
    store = service.platform.store
    project = stored_project(store, person.account)
    with store.records.writing() as connection:
        for granted, scope in ((True, "api.example.com"), (False, "evil.example")):
            record = {"ts": now() / 1000, "capability": "net", "scope": scope, "granted": granted, "origin": "main", "why": ""}
            append_audit(connection, project, None, [record])
    table = person.shows(f"/projects/{project}/audit", only="denied").partition('<form method="get"')[2]
    assert "evil.example" in table and "api.example.com" not in table
    table = person.shows(f"/projects/{project}/audit", q="API.").partition('<form method="get"')[2]
    assert "api.example.com" in table and "evil.example" not in table
    history = person.get(f"/projects/{project}/history.jsonl")
    assert history.status_code == 200 and "attachment" in history.headers["content-disposition"]


def test_settings_are_changed_and_a_project_is_deleted_by_its_name(service: Service, person: Person) -> None:
    project = f"/projects/{stored_project(service.platform.store, person.account, 'Shop')}"
    assert person.sends(f"{project}/settings", name="Other", memory_mb="512").status_code == 303
    assert person.sends(f"{project}/settings", name="Other", memory_mb="-1").status_code == 400
    for name in ("", " ", "x" * 101, "a\x07b", "a\nb"):
        assert person.sends(f"{project}/settings", name=name, memory_mb="512").status_code == 400
        assert person.sends("/new", way="paste", name=name, source="print(1)").status_code == 400
    assert "Other" in person.shows(f"{project}/settings")
    made = person.sends(f"{project}/hook", what="make")
    address = re.search(r"/hooks/deploy/[\w-]{43}", made.text)
    assert address is not None
    assert address[0] not in person.shows(f"{project}/settings")
    assert person.sends(f"{project}/hook", what="remove").status_code == 303
    assert person.sends(f"{project}/delete", name="Shop").status_code == 400
    assert person.sends(f"{project}/delete", name="Other").headers["location"] == "/"
    assert person.get(project).status_code == 404


def test_a_device_is_allowed_with_what_was_ticked(service: Service, person: Person) -> None:
    asked = service.client().post("/api/v1/auth/device", json={"name": f"laptop {EVIL}", "scopes": ["read", "deploy"]}).json()
    code = asked["user_code"]
    filled = person.shows("/device", code=code)
    assert f'value="{code}"' in filled
    assert "Check that your terminal shows this code." in filled and "Type the code" not in filled
    assert "Type the code that your terminal shows." in person.shows("/device")
    shown = person.sends("/device", code=code)
    assert "&lt;script&gt;" in shown.text and plain(shown.text).count("127.0.0.1") == 2
    boxes = dict(re.findall(r'name="scopes" value="(\w+)"( checked)?', shown.text))
    assert boxes == {"read": " checked", "deploy": " checked", "approve": ""}
    beyond = person.sends("/device", code=code, decision="allow", scopes=["read", "secrets"])
    assert beyond.status_code == 400
    assert person.sends("/device", code=code, decision="allow", scopes=["read"]).status_code == 200
    token = service.client().post("/api/v1/auth/device/token", json={"device_code": asked["device_code"]}).json()
    assert token["status"] == "ok"
    assert person.sends("/device", code=code).status_code == 404


def test_a_code_of_another_address_is_not_filled_in(service: Service, person: Person) -> None:
    with service.platform.store.main.writing() as connection:
        asked = devices.ask(connection, "far away", ["read"], "203.0.113.9")
    assert 'name="code" class="mono code" value=""' in person.shows("/device", code=asked.user_code)
    assert "203.0.113.9" in person.sends("/device", code=asked.user_code).text
    assert person.sends("/device", code=asked.user_code, decision="deny").status_code == 200


def test_tokens_are_shown_once_and_revoked(service: Service, person: Person) -> None:
    made = person.sends("/account/tokens", name="ci", scopes=["read", "deploy"])
    token = re.search(r"lp_[\w-]{43}", made.text)
    assert token is not None and token[0] not in person.shows("/account")
    assert f"<code>{service.url}/mcp</code>" in person.shows("/account"), "where an assistant gives it"
    client = service.client(token[0])
    assert client.get("/api/v1/projects").status_code == 200
    token_id = re.search(r'value="(tok_\w+)"', person.shows("/account"))
    assert token_id is not None
    assert person.sends("/account/tokens/revoke", token=token_id[1]).status_code == 303
    assert client.get("/api/v1/projects").status_code == 401
    assert person.sends("/account/tokens", name="none").status_code == 400


def test_the_password_is_changed_and_other_browsers_are_signed_out(service: Service, person: Person) -> None:
    other = Person(service, person.account)
    fields = {"password": "another long one", "again": "another long one"}
    assert person.sends("/account/password", current="wrong", **fields).status_code == 400
    assert person.sends("/account/password", current=PASSWORD, **fields).status_code == 200
    assert person.get("/").status_code == 200 and other.get("/").status_code == 303


def test_a_second_factor_is_offered_as_a_picture_and_turned_on(service: Service, person: Person) -> None:
    import pyotp

    offered = person.sends("/account/second-factor", what="offer").text
    secret = re.search(r'name="secret" value="(\w{32})"', offered)
    assert secret is not None and '<svg class="qr"' in offered and "otpauth://totp/" in offered
    wrong = person.sends("/account/second-factor", what="on", secret=secret[1], code="000000")
    assert wrong.status_code == 400
    code = pyotp.TOTP(secret[1]).now()
    assert person.sends("/account/second-factor", what="on", secret=secret[1], code=code).status_code == 200
    assert secret[1] not in person.shows("/account")


def test_the_pages_of_an_operator_are_there_for_operators(service: Service, person: Person) -> None:
    admin = Person(service, email="admin@example.com", admin=True)
    for path in ("/admin/accounts", "/admin/accounts/x", "/admin/runners"):
        assert person.sends(path, id="one", email="new@example.com").status_code == 404
    assert person.get("/admin").status_code == 404
    made = admin.sends("/admin/accounts", email="new@example.com", plan="free")
    assert "/sign-in/link/" in made.text
    assert admin.sends("/admin/accounts", email="new@example.com", plan="free").status_code == 409
    assert admin.sends(f"/admin/accounts/{person.account}", what="plan", plan="pro").status_code == 303
    assert admin.sends(f"/admin/accounts/{admin.account}", what="disable").status_code == 409
    assert admin.sends(f"/admin/accounts/{person.account}", what="disable").status_code == 303
    assert person.get("/").status_code == 303
    assert re.search(r"lr_[\w-]{43}", admin.sends("/admin/runners", id="one").text)
    assert "one" in admin.shows("/admin") and "new@example.com" in admin.shows("/admin")
    assert admin.sends("/admin/runners", id="one", what="forget").status_code == 303


def test_the_playground_says_when_it_is_not_there(person: Person) -> None:
    assert "PLATFORM_PLAYGROUND" in person.shows("/playground")
    assert person.get("/playground/site/index.html").status_code == 404


def test_the_playground_serves_its_folder_and_nothing_else(tmp_path: Any) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text("<h1>Playground</h1>")
    (folder / "lang-web.wasm").write_bytes(b"\0asm")
    (tmp_path / "secret.html").write_text("no")
    with Service(tmp_path / "data", playground=folder) as service:
        person = Person(service)
        assert 'href="/playground/site/index.html"' in person.shows("/playground")
        answer = person.get("/playground/site/index.html")
        assert answer.status_code == 200 and answer.headers["cross-origin-embedder-policy"] == "require-corp"
        assert f"connect-src {service.url}/playground/site/;" in answer.headers["content-security-policy"]
        for path in ("..%2Fsecret.html", "%2e%2e/secret.html", "/%2Fetc%2Fpasswd", "nothing.html"):
            assert person.get(f"/playground/site/{path}").status_code == 404


def test_a_project_is_narrowed_to_what_it_did(service: Service, person: Person) -> None:
    source = 'require net("api.example.com")\nrequire net("never.example")\nsleep(1)\n'
    with runner_of(service) as runner:
        runner.start()
        project = person.sends("/new", way="paste", name="S", kind="worker", source=source, deploy="1").headers["location"]
        until(lambda: "running" in plain(person.shows(project)))
        record = {"ts": now() / 1000, "capability": "net", "scope": "api.example.com", "granted": True, "origin": "", "why": ""}
        with service.platform.store.records.writing() as connection:
            append_audit(connection, project.rpartition("/")[2], None, [record])
        proposed = re.search(r'name="ceiling" value="([^"]*)"', person.shows(f"{project}/audit"))
        assert proposed is not None and "never.example" not in proposed[1]
        assert person.sends(f"{project}/shrink", ceiling="stdout").status_code == 409
        assert person.sends(f"{project}/shrink", ceiling=proposed[1]).status_code == 303
        until(lambda: "Deploy 2 live" in plain(person.shows(f"{project}/deploys")))
        text = person.shows(f"{project}/deploys")
        assert 'class="removed"' in text and "Shrink to done" not in text


def test_what_is_used_of_the_plan_and_what_a_project_takes_is_shown(service: Service, person: Person) -> None:
    store = service.platform.store
    project = stored_project(store, person.account, kind="web", desired="up")
    assert "has not reported" in plain(person.shows(f"/projects/{project}/metrics"))
    taken = ((50, 90.0, 1000, 120), (2, 100.5, 1300, 150), (1, 2.0, 40, 160))  # the last one of a program that began anew
    with store.main.writing() as connection:
        for minutes, seconds, requests, memory in taken:
            figures = Figures(project=project, memory_mb=memory, cpu_seconds=seconds, disk_mb=7, requests=requests)
            take_figures(connection, project, figures, now() - minutes * MINUTE + MINUTE // 2)
    text = plain(person.shows(f"/projects/{project}/metrics"))
    assert "160 / 256 MB" in text and "7 / 20480 MB" in text
    assert "12.5 s" in text and "340" in text
    text = plain(person.shows("/usage"))
    assert "Services 1 100" in text and "160 MB" in text
    assert "Memory set aside 0 MB 64 GB" in text, "what runs has memory set aside, and no version was deployed here"
