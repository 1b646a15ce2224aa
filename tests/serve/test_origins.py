"""Requests that a page of another site makes a browser send are refused at every door that could make the service act."""

from __future__ import annotations

import json
from typing import Any

import pytest

import language
from language.gates.queue import GateQueue
from language.native.server.addresses import Trust, networks
from language.serve.approvals import answer
from language.serve.control import ControlApplication
from language.serve.origins import cross_origin
from language.serve.reply import ProxyReply, SocketReply
from language.serve.request import Request
from language.values import TRUE
from tests.mcp.served_programs import WITH_REPLY
from tests.serve.served import Served, header, request
from tests.waiting_gates import Asked, Console, approve

PROGRAM = """
require serve(8080)
require net("127.0.0.1")
serve on 8080
    CORS
    static "."
    route "GET /act"
        give state_incr("acts")
    route "POST /act"
        give state_incr("acts")
    route "PUT /act"
        give state_incr("acts")
    route "PATCH /act"
        give state_incr("acts")
    route "DELETE /act"
        give state_incr("acts")
    route "PURGE /act"
        give state_incr("acts")
    route "POST /stream"
        stream
            send state_incr("acts")
    route "POST /proxy"
        proxy to "http://127.0.0.1:9"
    route "GET /proxy"
        proxy to "http://127.0.0.1:9"
    route "GET /socket"
        socket
            ws_send(socket, state_incr("acts"))
    route "GET /acts"
        give state_get("acts", 0)
"""
HOST = "127.0.0.1:8080"
EVIL = "https://evil.example"

#: What browsers send for a page of another site: ``fetch`` with ``no-cors``, one without ``Sec-Fetch-Site``, a sandboxed frame,
#: a service at another port of this machine, a page on a name below the same domain.
FOREIGN: list[dict[str, str]] = [
    {"host": HOST, "origin": EVIL, "sec_fetch_site": "cross-site", "content_type": "text/plain"},
    {"host": HOST, "origin": EVIL},
    {"host": HOST, "origin": "null"},
    {"host": HOST, "origin": "http://127.0.0.1:3000"},
    {"host": HOST, "origin": "http://127.0.0.1:3000", "sec_fetch_site": "same-site"},
    {"host": "api.example.com", "origin": "https://api.example.com.evil.example"},
    {"host": "api.example.com", "origin": "https://app.example.com", "sec_fetch_site": "same-site"},
    {"host": HOST, "sec_fetch_site": "cross-site"},
    {"host": HOST, "origin": "http://" + HOST, "sec_fetch_site": "cross-site"},
    {"host": HOST, "origin": EVIL, "sec_fetch_site": "something new"},
    {"host": HOST, "origin": EVIL, "x_forwarded_host": "evil.example"},  # of no proxy that is believed
    {"origin": "http://" + HOST},
]
#: The service's own pages, a person who typed the address, programs.
OWN: list[dict[str, str]] = [
    {"host": HOST},
    {"host": HOST, "origin": "http://" + HOST},
    {"host": HOST, "origin": "http://" + HOST, "sec_fetch_site": "same-origin"},
    {"host": HOST, "sec_fetch_site": "none"},
    {"host": "Api.Example.com", "origin": "https://api.example.com"},
    {"host": "api.example.com:443", "origin": "https://api.example.com"},
    {"host": "[::1]:8080", "origin": "http://[::1]:8080"},
    {"host": "inner:8080", "origin": "https://api.example.com", "sec_fetch_site": "same-origin"},  # a proxy wrote Host anew
    {},
]


def served(cors: str = "") -> Served:
    return Served(PROGRAM.replace("CORS", cors or "max_streams 10"))


def acts(app: Served) -> int:
    return int(app("GET", "/acts").body)


@pytest.mark.parametrize("fields", FOREIGN, ids=str)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "PURGE"])
def test_an_unsafe_request_of_another_site_is_refused(method: str, fields: dict[str, str]) -> None:
    app = served()
    reply = app(method, "/act", "1", **fields)
    assert reply.status == 403
    assert json.loads(reply.body)["error"].startswith("cross-origin request refused")
    assert acts(app) == 0


@pytest.mark.parametrize("fields", OWN, ids=str)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "PURGE"])
def test_requests_of_the_own_pages_and_of_programs_pass(method: str, fields: dict[str, str]) -> None:
    app = served()
    assert app(method, "/act", "1", **fields).status == 200
    assert acts(app) == 1


@pytest.mark.parametrize("target", ["/stream", "/proxy", "/index.html", "/none"])
def test_every_kind_of_route_and_file_refuses_alike(target: str) -> None:
    reply = served()("POST", target, "1", host=HOST, origin=EVIL, sec_fetch_site="cross-site")
    assert reply.status == 403 and not isinstance(reply, ProxyReply)


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
@pytest.mark.parametrize("fields", FOREIGN, ids=str)
def test_what_changes_nothing_is_answered_to_everybody(method: str, fields: dict[str, str]) -> None:
    assert served()(method, "/act", **fields).status in (200, 204)


@pytest.mark.parametrize("fields", FOREIGN, ids=str)
@pytest.mark.parametrize("target", ["/socket", "/proxy"])
def test_an_upgrade_for_a_page_of_another_site_is_refused(target: str, fields: dict[str, str]) -> None:
    app = served()
    for protocol in ("websocket", "WebSocket", "other"):
        reply = app("GET", target, upgrade=protocol, connection="upgrade", **fields)
        assert (reply.status, type(reply).__name__) == (403, "Reply")


@pytest.mark.parametrize("fields", OWN, ids=str)
def test_an_upgrade_for_an_own_page_passes(fields: dict[str, str]) -> None:
    app = served()
    upgrade = {"upgrade": "websocket", "connection": "upgrade"}
    assert isinstance(app("GET", "/socket", **upgrade, **fields), SocketReply)
    assert isinstance(app("GET", "/proxy", **upgrade, **fields), ProxyReply)


@pytest.mark.parametrize(
    ("cors", "passes"), [(f'cors "{EVIL}"', True), ('cors "*"', True), ('cors "https://app.example"', False), ("", False)]
)
def test_an_origin_that_cors_allows_passes(cors: str, passes: bool) -> None:
    fields = {"host": HOST, "origin": EVIL}
    upgrade = {"upgrade": "websocket", "connection": "upgrade"}
    for more in ({}, {"sec_fetch_site": "cross-site"}):
        app = served(cors)
        assert app("POST", "/act", **fields, **more).status == (200 if passes else 403)
        assert app("GET", "/socket", **fields, **more, **upgrade).status == (101 if passes else 403)


def test_cors_for_one_origin_allows_no_request_that_names_none() -> None:
    app = served(f'cors "{EVIL}"')
    for origin in ("null", "", "https://evil.example.net", "http://evil.example"):
        assert app("POST", "/act", host=HOST, origin=origin, sec_fetch_site="cross-site").status == 403


def test_the_host_that_a_trusted_proxy_was_asked_for_is_the_own_one() -> None:
    app = served()
    for trusted, status in (("127.0.0.1", 200), ("10.0.0.0/8", 403)):
        made = request(
            "POST",
            "/act",
            host="inner:8080",
            origin="https://app.example",
            x_forwarded_host="app.example",
            x_forwarded_proto="https",
        )
        Trust(networks([trusted])).apply(made)
        assert app.application.respond(made).status == status


def test_what_stands_left_in_the_forwarded_host_is_the_clients_own_word() -> None:
    made = request("POST", "/act", host="inner:8080", origin=EVIL, x_forwarded_host="evil.example, app.example")
    Trust(networks(["127.0.0.1"])).apply(made)
    assert cross_origin(made, None) is not None


class TestGates:
    def _gate(self) -> tuple[GateQueue, Asked, str]:
        console = Console()
        queue = GateQueue(console, {})
        asked = Asked(queue, approve())
        return queue, asked, console.token_of(asked.id)

    @pytest.mark.parametrize("fields", FOREIGN, ids=str)
    def test_the_form_of_a_decision_link_counts_wherever_it_is_sent_from(self, fields: dict[str, str]) -> None:
        queue, asked, token = self._gate()
        reply = answer(queue, request("POST", f"/approvals/{asked.id}", f"token={token}&decision=true", **fields))
        assert reply is not None and reply.status == 200
        assert asked.value() is TRUE

    @pytest.mark.parametrize("fields", FOREIGN, ids=str)
    def test_json_of_another_site_decides_nothing_at_either_listener(self, fields: dict[str, str]) -> None:
        queue, asked, token = self._gate()
        made = request("POST", f"/approvals/{asked.id}", json.dumps({"token": token, "decision": True}), **fields)
        for reply in (answer(queue, made), ControlApplication(queue, None).respond(made)):
            assert reply is not None and reply.status == 403
        assert [entry["id"] for entry in queue.pending()] == [asked.id]
        queue.close()

    @pytest.mark.parametrize("fields", OWN, ids=str)
    def test_json_of_a_program_decides(self, fields: dict[str, str]) -> None:
        queue, asked, token = self._gate()
        made = request("POST", f"/approvals/{asked.id}", json.dumps({"token": token, "decision": True}), **fields)
        reply = answer(queue, made)
        assert reply is not None and reply.status == 200


class TestHandlerMode:
    SOURCE = 'require serve(8080)\nserve on 8080\n    route "POST /act"\n        give 1\n'

    def _status(self, path: str = "/act", **headers: str) -> int:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        return int(language.Program(self.SOURCE).handle({"method": "POST", "path": path, "headers": fields})["status"])

    def test_it_refuses_what_a_server_refuses(self) -> None:
        for fields in FOREIGN:
            assert self._status(**fields) == 403
        for fields in OWN:
            assert self._status(**fields) == 200

    def test_the_url_names_the_host_where_no_field_does(self) -> None:
        assert self._status("https://app.example/act", Origin="https://app.example") == 200
        assert self._status("https://app.example:8443/act?x#y", Origin="https://app.example:8443") == 200
        assert self._status("https://app.example/act", Origin=EVIL) == 403


class TestToolServer:
    def _post(self, message: Any = None, **headers: str) -> dict[str, Any]:
        program = language.Program(WITH_REPLY.replace("{port}", "8080"))
        fields = {"Authorization": "Bearer t-ann", **{name.replace("_", "-"): value for name, value in headers.items()}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"} if message is None else message)
        return program.handle({"method": "POST", "path": "/mcp", "headers": fields, "body": body})

    def test_no_page_of_another_site_calls_a_tool(self) -> None:
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "own_home"}}
        assert self._post(call)["status"] == 200
        for fields in FOREIGN:
            answered = self._post(call, Content_Type="text/plain", **fields)
            assert answered["status"] == 403 and "/home" not in answered["body"]

    def test_an_origin_must_be_known_whatever_else_the_browser_says(self) -> None:
        answered = self._post(Host=HOST, Origin=EVIL, Sec_Fetch_Site="same-origin")
        assert (answered["status"], answered["content_type"]) == (403, "application/json")
        refused = json.loads(answered["body"])
        assert (refused["id"], refused["error"]["code"]) == (None, -32600)
        assert self._post(Host=HOST, Origin="http://" + HOST)["status"] == 200

    def test_an_unknown_version_of_the_protocol_is_a_bad_request(self) -> None:
        for version in ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"):
            assert self._post(MCP_Protocol_Version=version)["status"] == 200
        for version in ("1999-01-01", "", "2025-06-18, 2025-03-26", "latest"):
            answered = self._post(MCP_Protocol_Version=version)
            assert (answered["status"], json.loads(answered["body"])["error"]["code"]) == (400, -32600)


def test_a_refusal_carries_what_every_reply_carries() -> None:
    reply = served('cors "https://app.example"')("POST", "/act", host=HOST, origin=EVIL)
    assert header(reply, "Access-Control-Allow-Origin") == ["https://app.example"]
    assert isinstance(request("POST", "/"), Request)
