"""What a client without a token is told: where it reads what a token is for."""

from __future__ import annotations

import json

import pytest
from mcp.client.auth.utils import extract_resource_metadata_from_www_auth

import language
from tests.serve.served import Served, header

PROGRAM = """
require serve(8080)
task who(token)
    when token == "t"
        give {"name": "ann"}
let server be {"name": "demo", "version": "1", "tools": {}}
serve on 8080
    auth with who
    route "POST /mcp" requires auth
        give mcp_reply(request.json, server, request.user)
    route "POST /open"
        give mcp_reply(request.json, server)
    route "GET /page" requires auth
        give "page"
"""
PLACE = "/.well-known/oauth-protected-resource"
PING = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'


@pytest.fixture(scope="module")
def served() -> Served:
    return Served(PROGRAM)


def test_a_client_without_a_token_is_told_where_it_reads_more(served: Served) -> None:
    refused = served("POST", "/mcp", PING, host="tools.example:8080", content_type="application/json")
    assert (refused.status, json.loads(refused.body)) == (401, {"error": "unauthorized", "status": 401})
    (challenge,) = header(refused, "www-authenticate")
    assert challenge == f'Bearer resource_metadata="http://tools.example:8080{PLACE}/mcp"'
    for path in (f"{PLACE}/mcp", PLACE):
        found = served("GET", path, host="tools.example:8080")
        assert (found.status, found.content_type) == (200, "application/json")
        about = json.loads(found.body)
        assert about == {"resource": "http://tools.example:8080/mcp", "bearer_methods_supported": ["header"]}
    assert served("POST", "/mcp", PING, authorization="Bearer t", content_type="application/json").status == 200


def test_the_official_sdk_reads_it(served: Served) -> None:
    import httpx2

    refused = served("POST", "/mcp", PING, host="tools.example", content_type="application/json")
    answer = httpx2.Response(401, headers=[("www-authenticate", header(refused, "www-authenticate")[0])])
    place = extract_resource_metadata_from_www_auth(answer)
    assert place == f"http://tools.example{PLACE}/mcp"


def test_no_host_ends_the_quotes(served: Served) -> None:
    for host in ('a"b', 'x", scope="all', "a b", "\xe9", ""):
        (challenge,) = header(served("POST", "/mcp", PING, host=host, content_type="application/json"), "www-authenticate")
        assert challenge == f'Bearer resource_metadata="http://localhost{PLACE}/mcp"'


def test_who_is_told_nothing(served: Served) -> None:
    assert header(served("GET", "/page"), "www-authenticate") == []
    for path in (f"{PLACE}/open", f"{PLACE}/page", f"{PLACE}/other", f"{PLACE}mcp", f"{PLACE}/mcp/x"):
        assert served("GET", path).status == 404
    handled = language.Program(PROGRAM).handle({"method": "POST", "path": "/mcp", "body": PING})
    assert handled["status"] == 401 and "www-authenticate" not in str(handled["headers"]).lower()


def test_a_program_says_it_itself() -> None:
    task = """task refuse(status, message, request)
    give with_header(fail(status, message), "WWW-Authenticate", "Bearer scope=x")
let server"""
    rows = f"""    errors with refuse
    route "GET {PLACE}/mcp"
        give {{"resource": "mine"}}
    route "GET /page\""""
    own = PROGRAM.replace("let server", task).replace('    route "GET /page"', rows)
    served = Served(own)
    assert header(served("POST", "/mcp", PING, content_type="application/json"), "www-authenticate") == ["Bearer scope=x"]
    assert json.loads(served("GET", f"{PLACE}/mcp").body) == {"resource": "mine"}


def test_the_document_of_one_of_several_and_of_a_private_service() -> None:
    two = Served(PROGRAM.replace('"POST /open"', '"POST /open" requires auth'))
    assert two("GET", PLACE).status == 404
    assert json.loads(two("GET", f"{PLACE}/open").body)["resource"].endswith("/open")
    private = Served(PROGRAM.replace("    auth with who", "    auth with who\n    private"))
    assert (private("GET", PLACE).status, private("GET", f"{PLACE}/mcp").status) == (404, 200)
