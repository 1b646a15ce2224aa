"""A tool that fails tells its client nothing of the service, in both eras of the protocol and on every way to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import language
from tests.mcp.test_program_on_streams import exchange
from tests.serve.served import Served

PROGRAM = """
require serve(8080)
require file.read("kept/*")
require db("pens.db")
db_open("pens.db", "memory")
sql_exec("CREATE TABLE pens (owner TEXT)")
task reads(args)
    give read_file(cwd() + "/data/" + args.name)
task asks(args)
    require db("pens.db")
    give sql("SELECT hidden_column FROM pens")
task picks(args)
    give args.absent_member
task divides(args)
    give 1 / 0
task asserts(args)
    assert(1 == 2, "balance_of_account_7")
task refuses(args)
    raise "no pen of that colour"
let server be {"name": "s", "version": "1", "tools": {
    "reads": {"description": "d", "run": reads, "params": {"name": {"type": "text"}}},
    "asks": {"description": "d", "run": asks},
    "picks": {"description": "d", "run": picks},
    "divides": {"description": "d", "run": divides},
    "asserts": {"description": "d", "run": asserts},
    "refuses": {"description": "d", "run": refuses}}}
serve on 8080
    route "POST /mcp"
        give mcp_reply(request.json, server)
"""
FAILING = {
    "reads": "Capability not granted",
    "asks": "hidden_column",
    "picks": "absent_member",
    "divides": "Division by zero",
    "asserts": "balance_of_account_7",
}


def message(name: str, era: str, modes: dict[str, Any]) -> dict[str, Any]:
    params: dict[str, Any] = {"name": name, "arguments": {"name": "x"} if name == "reads" else {}}
    if era:
        meta = {"protocolVersion": era, "clientCapabilities": modes}
        params["_meta"] = {f"io.modelcontextprotocol/{key}": value for key, value in meta.items()}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def told(served: Served, name: str, era: str, modes: dict[str, Any]) -> str:
    fields = {"content_type": "application/json"}
    if era:
        fields |= {"mcp_protocol_version": era, "mcp_method": "tools/call", "mcp_name": name}
    reply = served("POST", "/mcp", json.dumps(message(name, era, modes)), **fields)
    result = json.loads(reply.body)["result"]
    assert result["isError"] is True
    text: str = result["content"][0]["text"]
    return text


ERAS = [("", {}), ("2026-07-28", {}), ("2026-07-28", {"elicitation": {"url": {}, "form": {}}})]


@pytest.mark.parametrize(("era", "modes"), ERAS)
def test_the_cause_stands_in_the_log_with_its_place_and_not_in_the_answer(
    era: str, modes: dict[str, Any], tmp_path: Path
) -> None:
    served = Served(PROGRAM, tmp_path, secure=True)
    for name, detail in FAILING.items():
        served.host.errors.clear()
        text = told(served, name, era, modes)
        assert detail not in text
        assert str(tmp_path) not in text
        (line,) = [line for line in served.host.errors if detail in line]
        assert line.startswith(f"[serve:8080] tool '{name}' failed: Runtime error: {tmp_path}/app.lang:")


@pytest.mark.parametrize(("era", "modes"), ERAS)
def test_what_the_program_raises_is_told(era: str, modes: dict[str, Any]) -> None:
    served = Served(PROGRAM, secure=True)
    assert told(served, "refuses", era, modes) == "no pen of that colour"


@pytest.mark.parametrize(("era", "modes"), ERAS)
def test_whoever_develops_reads_the_cause(era: str, modes: dict[str, Any]) -> None:
    served = Served(PROGRAM)
    for name, detail in FAILING.items():
        assert detail in told(served, name, era, modes)
        assert any(detail in line for line in served.host.errors)


def test_an_argument_that_is_wrong_is_named() -> None:
    served = Served(PROGRAM, secure=True)
    sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "reads", "arguments": {}}}
    reply = served("POST", "/mcp", json.dumps(sent), content_type="application/json")
    assert json.loads(reply.body)["error"]["message"] == "missing argument 'name'"


def test_a_program_without_a_server_follows_its_embedder() -> None:
    for detailed in (True, False):
        without = "\n".join(line for line in PROGRAM.splitlines() if "db_open" not in line and "CREATE" not in line)
        program = language.Program(without, error_detail=detailed)
        request = {"method": "POST", "path": "/mcp", "headers": {"content-type": "application/json"}}
        answer = program.handle({**request, "body": json.dumps(message("picks", "", {}))})
        assert ("absent_member" in answer["body"]) is detailed
        assert any("absent_member" in line for line in answer["log"])


def test_a_client_on_standard_input_reads_the_cause_where_its_operator_says_so(tmp_path: Path) -> None:
    (tmp_path / "s.lang").write_text(PROGRAM)
    for setting in ("on", "off"):
        replies, errors, _ = exchange(tmp_path, ["s.lang"], [message("picks", "", {})], PLATFORM_ERROR_DETAIL=setting)
        assert ("absent_member" in replies[0]["result"]["content"][0]["text"]) is (setting == "on")
        assert "absent_member" in errors


DOORS = """
require serve(8080)
task shaped(status, message, request)
    give {"shaped": message}
serve on 8080
    errors with shaped
    route "GET /page"
        give {"a": 1}.hidden_member
    route "GET /stream"
        stream
            send 1
            send {"a": 1}.hidden_member
    route "GET /socket"
        socket
            ws_send(socket, {"a": 1}.hidden_member)
"""


class Closed:
    """A channel that keeps how it was closed."""

    def __init__(self) -> None:
        self.bells: set[Any] = set()
        self.closed = (0, "")

    def send(self, message: str | bytes) -> None:
        raise AssertionError(message)

    def receive(self, seconds: float | None) -> None:
        return None

    def ready(self) -> bool:
        return True

    def waiting(self) -> list[int]:
        return []

    def close(self, code: int, reason: str = "") -> None:
        self.closed = (code, reason)


def test_no_other_way_to_a_program_tells_the_cause() -> None:
    from language.serve.reply import SocketReply
    from tests.serve.served import streamed

    served = Served(DOORS, secure=True)
    page = served("GET", "/page")
    assert (page.status, page.body) == (500, b'{"shaped": "internal server error"}')
    assert streamed(served("GET", "/stream")).endswith('event: error\ndata: {"error": "internal server error"}\n\n')
    reply = served("GET", "/socket", upgrade="websocket")
    assert isinstance(reply, SocketReply)
    channel = Closed()
    reply.run(channel)
    assert channel.closed == (1011, "internal server error")
    assert sum("hidden_member" in line for line in served.host.errors) == 3
