"""Notices through HTTP, to a server of the tests: who is told of what, and what a URL cannot reach."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from browsing_person import Person, plain
from platform_service import Service
from sqlalchemy import func, select
from stored_projects import stored_project

from platform_api.environment.keys import KeyMissing, Keys
from platform_api.environment.rotation import rotate
from platform_api.history.outbox import note
from platform_api.notices.post import Guard, Refused
from platform_api.notices.sending import _POST, _post, _take
from platform_api.notices.settings import url_of
from platform_api.notices.text import notice_of
from platform_api.store.store import Store
from platform_api.store.tables import notices, notices_due
from tests.folders import paths_below

GENEROUS = 120.0


class Receiver(ThreadingHTTPServer):
    """A server that keeps what it is sent. ``answers`` are the statuses of the next answers, then 200."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receiving)
        self.place = f"127.0.0.1:{self.server_address[1]}"
        self.got: list[dict[str, Any]] = []
        self.answers: list[int] = []
        self.elsewhere = ""


class _Receiving(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, Receiver)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server.got.append({"path": self.path, **json.loads(body)})
        self.send_response(server.answers.pop(0) if server.answers else 200)
        if server.elsewhere:
            self.send_header("Location", server.elsewhere)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, Receiver)
        server.got.append({"path": self.path})
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + GENEROUS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def tell(service: Service, project: str, **event: Any) -> None:
    with service.platform.store.main.writing() as connection:
        note(connection, project, event)


def add(client: httpx.Client, url: str, path: str = "/api/v1/notices", **more: Any) -> str:
    answer = client.post(path, json={"url": url, **more}, timeout=GENEROUS)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


def waiting(store: Store) -> int:
    with store.main.reading() as connection:
        return int(connection.scalar(select(func.count()).select_from(notices_due)) or 0)


# ---- who is told of what -------------------------------------------------------------------------------------------------


def test_who_wants_to_know_is_told_once(tmp_path: Path, database: str | None) -> None:
    with receiver() as got, Service(tmp_path, database=database, notice_hosts=(got.place,)) as service:
        account = service.account()
        store, client = service.platform.store, service.client(service.token(account))
        shop, blog = stored_project(store, account, "Shop"), stored_project(store, account, "Blog")
        add(client, f"json://{got.place}/all", name="all")
        add(client, f"json://{got.place}/gates", f"/api/v1/projects/{shop}/notices", kinds=["gate"])
        tell(service, shop, event="gate_opened", approval="apr_1", message="Charge the\ncard?")
        tell(service, blog, event="gate_opened", approval="apr_2", message="Publish?")
        tell(service, shop, event="deploy_failed", number=3, error="it exits at once")
        tell(service, shop, event="deploy_live", number=4)
        until(lambda: len(got.got) >= 4 and not waiting(store))
        found = sorted((one["path"], one["title"], one["message"].split("\n")[0]) for one in got.got)
        assert found == [
            ("/all", "Blog asks for an answer", "Publish?"),
            ("/all", "Shop asks for an answer", "Charge the card?"),
            ("/all", "Shop: a deploy failed", "Deploy 3: it exits at once"),
            ("/gates", "Shop asks for an answer", "Charge the card?"),
        ]
        assert f"{service.url}/approvals" in next(one for one in got.got if one["path"] == "/gates")["message"]
        [item] = client.get("/api/v1/notices").json()["items"]
        assert item["sent_at"] is not None and item["error"] is None and item["service"] == "json"


def test_a_person_chooses_where_notices_go_tries_it_and_takes_it_away(tmp_path: Path, database: str | None) -> None:
    with receiver() as got, Service(tmp_path / "data", database=database, notice_hosts=(got.place,)) as service:
        person, stranger = Person(service), Person(service, email="other@example.com")
        shop = stored_project(service.platform.store, person.account, "Shop <b>")
        secret = f"json://user:hunter2@{got.place}/topic"
        for url, kinds in (("nowhere", ["run"]), (secret, []), (secret, ["run", "weather"]), (secret + "\x01", ["run"])):
            refused = person.sends("/notices", url=url, name="phone", kinds=kinds)
            assert refused.status_code == 400 and "hunter2" not in refused.text
        assert person.sends("/notices", url=secret, kinds=["run"], project="prj_x").status_code == 404
        assert stranger.sends("/notices", url=secret, kinds=["run"], project=shop).status_code == 404
        assert person.sends("/notices", url=secret, name="<i>phone", kinds=["run", "gate"], project=shop).status_code == 303
        shown = person.shows("/notices")
        assert "hunter2" not in shown and "&lt;i&gt;phone" in shown and "Shop &lt;b&gt;" in shown
        assert "none yet" in shown and "questions that wait for an answer, runs that failed" in plain(shown)
        [made] = set(re.findall(r'action="/notices/(ntc_\w+)/test"', shown))
        for who, project in ((person, ""), (stranger, shop)):
            assert who.sends(f"/notices/{made}/test", project=project).status_code == 404
            assert who.sends(f"/notices/{made}/remove", project=project).status_code == 404
        assert "The test was sent." in person.sends(f"/notices/{made}/test", project=shop).text
        assert [one["title"] for one in got.got] == ["A test"]
        got.answers = [500]
        person.sends("/language", language="es", back="/")
        failed = person.sends(f"/notices/{made}/test", project=shop)
        assert failed.status_code == 422 and "El aviso no se envió: el servicio de destino no lo aceptó." in plain(failed.text)
        assert "ntc_" not in stranger.shows("/notices")
        assert person.sends(f"/notices/{made}/remove", project=shop).status_code == 303
        assert "ntc_" not in person.shows("/notices")


def test_settings_are_listed_without_their_url_which_is_stored_encrypted(tmp_path: Path, database: str | None) -> None:
    with Service(tmp_path / "data", database=database) as service:
        account, other = service.account(), service.account("other@example.com")
        client, project = service.client(service.token(account)), stored_project(service.platform.store, account)
        path = f"/api/v1/projects/{project}/notices"
        made = add(
            client, "ntfys://user:hunter2hunter2@ntfy.example.com/secret-topic", path, name="phone", kinds=["run", "gate"]
        )
        listed = client.get(path)
        [item] = listed.json()["items"]
        assert (item["id"], item["project_id"], item["name"], item["service"]) == (made, project, "phone", "ntfys")
        assert item["kinds"] == ["gate", "run"] and "hunter2" not in listed.text
        assert client.get("/api/v1/notices").json() == {"items": []}
        stranger = service.client(service.token(other))
        for method, place in (("GET", path), ("POST", f"{path}/{made}/test"), ("DELETE", f"{path}/{made}")):
            assert stranger.request(method, place).status_code == 404
        assert stranger.delete(f"/api/v1/notices/{made}").status_code == 404
        assert client.delete(f"/api/v1/notices/{made}").status_code == 404  # it is one of the project
        reader = service.client(service.token(account, "read", "deploy", "approve"))
        refused = reader.post(path, json={"url": "json://example.com"})
        assert (refused.status_code, refused.json()["details"]) == (403, {"scope": "secrets"})
        assert client.delete(f"{path}/{made}").json() == {"ok": True} and client.get(path).json() == {"items": []}
        add(client, "ntfys://user:hunter2hunter2@ntfy.example.com/secret-topic")
    files = [file for file in paths_below(tmp_path / "data") if file.is_file()]
    assert files and not any(b"hunter2hunter2" in file.read_bytes() or b"secret-topic" in file.read_bytes() for file in files)


def test_a_new_master_key_takes_the_urls_over(tmp_path: Path, database: str | None) -> None:
    old, new = "o" * 32, "n" * 32
    with Service(tmp_path, database=database, master_key=old) as service:
        add(service.client(service.token(service.account())), "json://example.com/topic")
        store = service.platform.store
        rotate(store.main, Keys(lambda: (new, old)))
        with store.main.reading() as connection:
            [row] = connection.execute(select(notices)).all()
    assert url_of(Keys(lambda: (new,)), row) == "json://example.com/topic"
    with pytest.raises(KeyMissing):
        url_of(Keys(lambda: (old,)), row)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"url": "nonsense://x"}, "url"),
        ({"url": ""}, "data.url"),
        ({}, "url"),
        ({"url": "json://example.com/\0"}, "data.url"),
        ({"url": "json://example.com/", "name": "a\0b"}, "data.name"),
        ({"url": "json://example.com", "kinds": ["all"]}, "kinds"),
        ({"url": "json://example.com", "kinds": []}, "kinds"),
    ],
)
def test_what_is_no_setting_is_refused(service: Service, body: dict[str, Any], field: str) -> None:
    answer = service.signed_in().post("/api/v1/notices", json=body, timeout=GENEROUS)
    assert (answer.status_code, answer.json()["code"]) == (400, "validation")
    assert field.rpartition(".")[2] in (answer.json()["field"] or "")


def test_a_failure_is_shown_and_tried_again(tmp_path: Path, database: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform_api.notices.sending.MINUTE", 1)
    monkeypatch.setattr("platform_api.notices.sending._LOOK_AGAIN", 0.2)
    with receiver() as got, Service(tmp_path, database=database, notice_hosts=(got.place,)) as service:
        account = service.account()
        store, client = service.platform.store, service.client(service.token(account))
        add(client, f"json://{got.place}/", kinds=["run"])
        project = stored_project(store, account)
        got.answers = [500, 500, 500, 200]
        tell(service, project, event="run_failed", exit_code=3)
        until(lambda: bool(got.got) and not waiting(store))
        assert len(got.got) == 3  # and then no more of that one
        [item] = client.get("/api/v1/notices").json()["items"]
        assert item["failed_at"] is not None and item["error"] == "the service it goes to did not take it"
        tell(service, project, event="run_timed_out")
        until(lambda: len(got.got) == 4 and not waiting(store))
        [item] = client.get("/api/v1/notices").json()["items"]
        assert item["failed_at"] is None and item["error"] is None


def test_two_replicas_take_a_notice_once(store: Store) -> None:
    from platform_api.accounts.records import make_account
    from platform_api.notices.sending import put_in_line

    with store.main.writing() as connection:
        account = make_account(connection, "owner@example.com")
    project = stored_project(store, account)
    with store.main.writing() as connection:
        connection.execute(
            notices.insert().values(
                id="ntc_1", account_id=account, name="", service="json", kinds="gate", ciphertext=b"", created_at=1
            )
        )
        note(connection, project, {"event": "gate_opened", "message": "?"})
        from platform_api.store.tables import history_outbox

        rows = connection.execute(select(history_outbox)).all()
        for _ in range(60):  # a program that asks without end
            put_in_line(connection, "http://x", rows)
    taken: list[int] = []

    def take() -> None:
        while True:
            with store.main.writing() as connection:
                found = [row.due_id for row in _take(connection)]
            if not found:
                return
            taken.extend(found)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == len(set(taken)) == 50


def test_notices_are_sent_by_children_of_one_process_that_has_loaded_the_services() -> None:
    with receiver() as got:
        request = {"url": f"json://{got.place}/", "title": "t", "body": "b", "send": True, "allowed": [got.place]}
        assert _post(request) == ""
        first = _POST.pid
        assert _post(request) == ""
        assert _post({**request, "allowed": []}) == f"{got.place} is not of the public network"
        assert _POST.pid == first
        assert len(got.got) == 2


# ---- what a URL cannot reach ---------------------------------------------------------------------------------------------


def test_a_notice_reaches_no_private_address_however_it_is_written(tmp_path: Path, database: str | None) -> None:
    with (
        receiver() as inside,
        receiver() as allowed,
        Service(tmp_path, database=database, notice_hosts=(allowed.place,)) as service,
    ):
        client = service.client(service.token(service.account()))
        port = inside.server_address[1]
        allowed.elsewhere, allowed.answers = f"http://127.0.0.1:{port}/redirected", [302]
        places = [
            f"json://127.0.0.1:{port}/",
            f"json://localhost:{port}/",
            f"json://2130706433:{port}/",
            f"form://0.0.0.0:{port}/",
            f"mailto://user:pass@example.com?smtp=127.0.0.1&port={port}&to=a@example.com&mode=insecure",
            f"json://{allowed.place}/",
        ]
        for place in places:
            answer = client.post("/api/v1/notices", json={"url": place}, timeout=GENEROUS)
            assert answer.status_code == 200, (place, answer.text)
            tried = client.post(f"/api/v1/notices/{answer.json()['id']}/test", timeout=GENEROUS)
            assert (tried.status_code, tried.json()["code"]) == (422, "upstream_failed"), place
        assert not inside.got
        assert "is not of the public network" in tried.json()["error"] and len(allowed.got) == 1


@pytest.mark.parametrize("scheme", ["dbus", "syslog", "gnome", "kde", "windows", "macosx"])
def test_a_notice_does_nothing_to_the_machine_itself(service: Service, scheme: str) -> None:
    client = service.signed_in()
    answer = client.post("/api/v1/notices", json={"url": f"{scheme}://"}, timeout=GENEROUS)
    if answer.status_code == 200:
        answer = client.post(f"/api/v1/notices/{answer.json()['id']}/test", timeout=GENEROUS)
    assert answer.status_code in (400, 422)


def test_a_notice_sends_no_file_of_the_machine(tmp_path: Path, database: str | None) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps({"type": "message", "text": "hunter2"}))
    with receiver() as got, Service(tmp_path / "data", database=database, notice_hosts=(got.place,)) as service:
        client = service.client(service.token(service.account()))
        workflow, signature = "a" * 32, "b" * 43
        url = f"workflows://{got.place}/{workflow}/{signature}/?template={secret}"
        answer = client.post("/api/v1/notices", json={"url": url}, timeout=GENEROUS)
        if answer.status_code == 200:
            answer = client.post(f"/api/v1/notices/{answer.json()['id']}/test", timeout=GENEROUS)
        assert answer.status_code in (400, 422) and "hunter2" not in json.dumps(got.got)


def test_the_guard_of_the_process_that_sends(tmp_path: Path) -> None:
    guard = Guard(["127.0.0.1:25", "[::1]:25"])
    allowed: list[tuple[str, tuple[Any, ...]]] = [
        ("socket.connect", (None, ("93.184.216.34", 443))),
        ("socket.connect", (None, ("127.0.0.1", 25))),
        ("socket.connect", (None, ("::1", 25, 0, 0))),
        ("open", (json.__file__, "r", 0)),
        ("open", ("/dev/null", "w", 1)),
        ("open", (7, "r", 0)),
    ]
    for event, args in allowed:
        guard(event, args)
    assert not guard.refused
    link = tmp_path / "link"
    link.symlink_to("/etc/passwd")
    refused: list[tuple[str, tuple[Any, ...]]] = [
        ("socket.connect", (None, ("127.0.0.1", 26))),
        ("socket.connect", (None, ("169.254.169.254", 80))),
        ("socket.connect", (None, ("::ffff:127.0.0.1", 80, 0, 0))),
        ("socket.connect", (None, ("localhost", 80))),
        ("socket.connect", (None, "/run/docker.sock")),
        ("socket.connect", (None, b"\0abstract")),
        ("socket.sendto", (None, ("10.0.0.1", 53))),
        ("open", ("/etc/passwd", "r", 0)),
        ("open", (f"{json.__file__}/../../../../../../../../etc/passwd", "r", 0)),
        ("open", (str(link), "r", 0)),
        ("open", (json.__file__, "w", 1)),
        ("subprocess.Popen", ("sh", [], None, None)),
        ("os.system", (b"id",)),
        ("os.posix_spawn", ("sh", [], {})),
        ("os.remove", ("a", -1)),
        ("syslog.syslog", (1, "x")),
    ]
    for event, args in refused:
        with pytest.raises(Refused):
            guard(event, args)
    assert guard.refused == "127.0.0.1:26 is not of the public network"


def test_what_a_program_says_stands_on_one_line_and_acts_on_nobody() -> None:
    event = {"event": "gate_opened", "message": "Pay?\r\nBcc: all@example.com\x1b[2J\u202e"}
    notice = notice_of(event, "Shop\nX", "prj_1", "http://x")
    assert notice is not None and notice.title == "Shop X asks for an answer"
    assert notice.body == "Pay? Bcc: all@example.com\ufffd[2J\ufffd\n\nhttp://x/approvals"
    assert notice_of({"event": "deploy_live"}, "Shop", "prj_1", "http://x") is None
