"""A request that is over ends what it waits for: the tool of a server, the call of a client. Under ``lang serve``."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from test_client_stdio import gone_soon
from tool_server import COMMAND, ToolServer, said, script
from tool_services import free_port, served

PROGRAM = """
require serve(8080)
require net("127.0.0.1")
require exec("{command}")
task forever(args)
    while true
        let x be 1
task catches(args)
    try
        while true
            let x be 1
    recover e
        give "caught: " + e
let server be {{"name": "s", "version": "1", "tools": {{
    "forever": {{"description": "d", "run": forever}}, "catches": {{"description": "d", "run": catches}}}}}}
serve on 8080
    timeout 1
    route "POST /mcp"
        give mcp_reply(request.json, server)
    route "GET /http"
        let conn be mcp_connect("{url}")
        give mcp_call(conn, "t")
    route "GET /process"
        let conn be mcp_connect("{command}", {{"args": ["-c", {code}]}})
        give mcp_call(conn, "t")
"""


def slow(message, request):
    time.sleep(8)
    return said("late")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def place(folder):
    pid = folder / "pid"
    body = f"open({str(pid)!r}, 'w').write(str(os.getpid()))\ndef on(message): time.sleep(600)"
    with ToolServer(slow) as server:
        code = json.dumps(script(body)["args"][1])
        (folder / "p.lang").write_text(PROGRAM.format(command=COMMAND, url=server.url, code=code), encoding="utf-8")
        port = free_port()
        with served(folder / "p.lang", port, folder):
            yield f"http://127.0.0.1:{port}"


def timed(place, path, message=None):
    started = time.monotonic()
    data = None if message is None else json.dumps(message).encode()
    request = urllib.request.Request(place + path, data, {"Content-Type": "application/json"})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=20)
    assert time.monotonic() - started < 15
    return caught.value.code, json.load(caught.value)


@pytest.mark.parametrize("tool", ["forever", "catches"])
def test_a_tool(place, tool):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}}
    status, body = timed(place, "/mcp", call)
    assert status == 504 and "result" not in body


def test_a_call_over_http(place):
    assert timed(place, "/http")[0] == 504


def test_a_call_to_a_process(place, folder):
    assert timed(place, "/process")[0] == 504
    assert gone_soon(int(Path(folder / "pid").read_text()))
