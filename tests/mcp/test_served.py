"""Tool servers as programs, answered in handler mode: the tables of the manual, byte for byte."""

from __future__ import annotations

import json

import pytest
from served_programs import BY_HAND, WITH_REPLY

import language

JSON = "application/json"


def asked(program, body, token="t-ann", path="/mcp", method="POST", kind=JSON):
    headers = {"Content-Type": kind}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    return program.handle({"method": method, "path": path, "headers": headers, "body": body})


def message(method, params=None, ident=1):
    sent = {"jsonrpc": "2.0", "id": ident, "method": method}
    return json.dumps(sent if params is None else {**sent, "params": params})


@pytest.fixture(scope="module")
def by_hand():
    return language.Program(BY_HAND)


@pytest.fixture(scope="module")
def with_reply():
    return language.Program(WITH_REPLY.replace("{port}", "8080"))


def initialize(version, ident):
    return json.dumps({"jsonrpc": "2.0", "id": ident, "method": "initialize", "params": {"protocolVersion": version}})


def introduced(ident, version):
    about = '"capabilities": {"tools": {}}, "serverInfo": {"name": "pens", "version": "1.0.0"}'
    return f'{{"jsonrpc": "2.0", "id": {ident}, "result": {{"protocolVersion": "{version}", {about}}}}}'


TABLE_BY_HAND = [
    (initialize("2025-03-26", 1), 200, introduced("1", "2025-03-26")),
    (initialize("1999-01-01", "a"), 200, introduced('"a"', "2025-06-18")),
    ('{"jsonrpc":"2.0","method":"notifications/initialized"}', 202, ""),
    (
        message("tools/call", {"name": "add", "arguments": {"a": 2, "b": 3}}, 0),
        200,
        '{"jsonrpc": "2.0", "id": 0, "result": {"content": [{"type": "text", "text": "5"}]}}',
    ),
    (
        message("tools/call", {"name": "read_rows", "arguments": {"resource": "pens"}}, 2),
        200,
        '{"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": '
        r'"[{\"id\": 1, \"owner\": \"ann\", \"name\": \"blue\"}]"}]}}',
    ),
    (
        message("tools/call", {"name": "read_rows", "arguments": {"resource": "orders"}}, 2),
        200,
        '{"jsonrpc": "2.0", "id": 2, "error": {"code": -32602, "message": "unknown resource"}}',
    ),
    (
        message("tools/call", {"name": "drop"}, 3),
        200,
        '{"jsonrpc": "2.0", "id": 3, "error": {"code": -32602, "message": "unknown tool"}}',
    ),
    (
        '{"jsonrpc":"2.0","id":null,"method":"resources/list"}',
        200,
        '{"jsonrpc": "2.0", "id": null, "error": {"code": -32601, "message": "method not found"}}',
    ),
    ('{"jsonrpc":"2.0","id":4}', 400, '{"error": "missing field \'method\'", "status": 400, "field": "method"}'),
    ("[]", 400, '{"error": "expected a JSON object body", "status": 400, "field": null}'),
    ("{", 400, '{"error": "malformed JSON body", "status": 400}'),
]


@pytest.mark.parametrize(("body", "status", "wanted"), TABLE_BY_HAND)
def test_a_server_by_hand(by_hand, body, status, wanted):
    got = asked(by_hand, body)
    assert (got["status"], got["body"], got["content_type"]) == (status, wanted, JSON)


def test_nobody_gets_in_without_a_token(by_hand, with_reply):
    for program in (by_hand, with_reply):
        for body in (message("tools/list"), "[]", '"x"', "null"):
            got = asked(program, body, token="")
            assert (got["status"], got["body"]) == (401, '{"error": "unauthorized", "status": 401}')


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_other_methods(by_hand, with_reply, method):
    for program in (by_hand, with_reply):
        got = asked(program, "", method=method)
        assert (got["status"], got["body"]) == (405, '{"error": "method not allowed", "status": 405}')
        assert ["Allow", "POST"] in got["headers"]


def test_one_gate_for_routes_and_tools(by_hand):
    ann = asked(by_hand, "", path="/pens", method="GET")["body"]
    envelope = '{"items": [{"id": 1, "owner": "ann", "name": "blue"}], "count": 1, "total": 1, "cursor": null}'
    assert ann == envelope
    bob = json.loads(asked(by_hand, "", "t-bob", path="/pens", method="GET")["body"])
    assert [row["id"] for row in bob["items"]] == [2]
    call = message("tools/call", {"name": "read_rows", "arguments": {"resource": "pens"}})
    content = json.loads(asked(by_hand, call, "t-bob")["body"])["result"]["content"]
    assert content[0]["text"] == '[{"id": 2, "owner": "bob", "name": "red"}]'
    assert language.Program(BY_HAND).run()["output"] == ["[]"]  # without a user


def test_a_list_that_is_given_is_a_page(by_hand):
    assert asked(by_hand, "", path="/b")["body"] == '{"items": [{"id": 1}], "count": 1, "total": 1, "cursor": null}'
    assert asked(by_hand, "", path="/b2")["body"] == '[{"id": 1}]'


def test_a_tool_that_fails_by_hand(by_hand):
    got = asked(by_hand, "", path="/safe")
    found = json.loads(got["body"])
    assert got["status"] == 200 and found["result"]["isError"] is True and "error" not in found
    assert "pen not found" in found["result"]["content"][0]["text"]


def result(text):
    return '{"jsonrpc": "2.0", "id": 1, "result": ' + text + "}"


def error(text):
    return '{"jsonrpc": "2.0", "id": 1, "error": ' + text + "}"


def call(name, arguments=None):
    return message("tools/call", {"name": name} if arguments is None else {"name": name, "arguments": arguments})


TABLE_WITH_REPLY = [
    (
        message("initialize", {"protocolVersion": "2025-03-26"}),
        result(
            '{"protocolVersion": "2025-03-26", "capabilities": {"tools": {}}, '
            '"serverInfo": {"name": "demo", "version": "1.0.0"}}'
        ),
    ),
    (call("add", {"a": 2, "b": 3, "c": 9}), result('{"content": [{"type": "text", "text": "5"}]}')),
    (call("add", {"a": 2}), error('{"code": -32602, "message": "missing argument \'b\'"}')),
    (call("add", {"a": "2", "b": 3}), error('{"code": -32602, "message": "argument \'a\' must be number, got text"}')),
    (
        call("greet"),
        result(r'{"content": [{"type": "text", "text": "{\"hello\": \"ann\", \"style\": \"plain\"}"}]}'),
    ),
    (call("own_home"), result('{"content": [{"type": "text", "text": "/home"}]}')),
    (call("drop"), error('{"code": -32602, "message": "unknown tool"}')),
    (message("ping"), result("{}")),
    (message("resources/list"), error('{"code": -32601, "message": "method not found"}')),
    (
        '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]',
        '[{"jsonrpc": "2.0", "id": 1, "result": {}}]',
    ),
    ("[]", '{"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "invalid request"}}'),
]


@pytest.mark.parametrize(("body", "wanted"), TABLE_WITH_REPLY)
def test_mcp_reply(with_reply, body, wanted):
    got = asked(with_reply, body)
    assert (got["status"], got["body"], got["content_type"]) == (200, wanted, JSON)


def test_the_list_of_tools(with_reply):
    tools = json.loads(asked(with_reply, message("tools/list"))["body"])["result"]["tools"]
    assert json.dumps(tools[0]) == (
        '{"name": "add", "description": "Adds two numbers", "inputSchema": {"type": "object", "properties": {"a": '
        '{"type": "number"}, "b": {"type": "number", "description": "second"}}, "required": ["a", "b"]}}'
    )
    assert [tool["inputSchema"]["required"] for tool in tools[1:]] == [[], [], []]
    assert tools[2]["inputSchema"]["properties"] == {}


def test_a_tool_without_the_require_line(with_reply):
    found = json.loads(asked(with_reply, call("home"))["body"])["result"]
    assert found["isError"] is True
    assert found["content"][0]["text"].startswith('Capability not granted: env("DEMO_HOME")')


def test_silence(with_reply):
    for body in (
        '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"home"}}',
        '{"jsonrpc":"2.0","method":"notifications/initialized"}',
        '{"jsonrpc":"2.0","id":5,"result":{}}',
        '[{"jsonrpc":"2.0","method":"x"}]',
    ):
        got = asked(with_reply, body)
        assert (got["status"], got["body"]) == (202, "")
        assert not [record for record in got["audit"] if record["capability"] == "env"]


def test_what_is_no_json(with_reply):
    got = asked(with_reply, "{", kind="text/plain")
    wanted = '{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "parse error"}}'
    assert (got["status"], got["body"]) == (200, wanted)


def test_a_header_around_it(with_reply):
    for body, status in ((message("ping"), 200), ("[" + message("ping") + "]", 200), ('{"jsonrpc":"2.0","method":"x"}', 202)):
        got = asked(with_reply, body, path="/wrapped")
        assert got["status"] == status and ["Mcp-Session-Id", "s1"] in got["headers"]


def test_a_fault_of_the_program(with_reply):
    got = asked(with_reply, message("ping"), path="/faulty")
    assert got["status"] == 500
    assert any("mcp_reply: tool 't': member 'run' is missing" in line for line in got["log"])


def test_numbers_keep_their_form(with_reply):
    got = asked(with_reply, '{"jsonrpc":"2.0","id":12345678901234567890123,"method":"ping"}')
    assert got["body"] == '{"jsonrpc": "2.0", "id": 12345678901234567890123, "result": {}}'
    assert asked(with_reply, call("add", {"a": 10**30, "b": 0.5}))["body"].endswith('"text": "1e+30"}]}}')


def test_a_limit_passes_through_the_tool():
    source = WITH_REPLY.replace("{port}", "8080").replace("    give args.a + args.b", "    while true\n        let x be 1\n")
    program = language.Program(source, limits={"time_ms": 300})
    got = asked(program, call("add", {"a": 1, "b": 2}))
    assert (got["status"], got["limit"]) == (503, "time_ms") and "isError" not in got["body"]
    assert asked(program, call("own_home"))["body"] == result('{"content": [{"type": "text", "text": "/home"}]}')


CLIENT = """
require serve(8080)
require net("tools.example")
let kept be mcp_connect("https://tools.example/mcp")
let opened be nothing
serve on 8080
    route "GET /kept"
        give mcp_call(kept, "t")
    route "GET /own"
        set opened to mcp_connect("https://tools.example/mcp")
        give mcp_call(opened, "t")
    route "GET /state"
        let conn be mcp_connect("https://tools.example/mcp")
        state_set("conn", conn)
        give text(conn)
    route "GET /from_state"
        give mcp_call(state_get("conn"), "t")
"""


def test_connections_stay_in_their_handler():
    methods = []

    def http(request):
        if request["method"] == "DELETE":
            methods.append("DELETE")
            return {"status": 200}
        sent = json.loads(request["body"])
        methods.append(sent["method"])
        if sent["method"] == "server/discover":
            return {"status": 404}
        done = (
            {"protocolVersion": "2025-06-18"}
            if sent["method"] == "initialize"
            else {"content": [{"type": "text", "text": "x"}]}
        )
        reply = {"jsonrpc": "2.0", "id": sent.get("id"), "result": done}
        headers = {"Content-Type": "application/json", "Mcp-Session-Id": "s"}
        return {"status": 200, "headers": headers, "body": json.dumps(reply)}

    program = language.Program(CLIENT, host={"http": http})

    def get(path):
        methods.clear()
        return program.handle({"method": "GET", "path": path})

    crossing = "a connection does not cross into workers, agents or handlers: open one there"
    assert get("/kept")["status"] == 500
    assert any(f"mcp_call: {crossing}" in line for line in get("/kept")["log"]) and not methods
    for _ in range(3):
        assert get("/own")["body"] == '"x"'
        assert methods == ["server/discover", "initialize", "notifications/initialized", "tools/call", "DELETE"]
    assert get("/state")["body"] == '"connection(tools.example)"'
    assert methods[-1] == "DELETE"
    for _ in range(3):
        assert get("/from_state")["status"] == 500 and not methods
