"""``lang mcp FILE``: the tools of a program over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
LANG = [sys.executable, "-m", "language.cli.main", "mcp"]
PROGRAM = """
require serve(8080)
print("the program begins")

task add(args)
    print("a tool prints")
    eprint("and complains")
    give args.a + args.b

task fails(args)
    raise "not today"

let server be {"name": "sums", "version": "1.0.0", "tools": {
    "add": {"description": "Adds", "run": add, "params": {"a": {"type": "number"}, "b": {"type": "number"}}},
    "fails": {"description": "Fails", "run": fails}}}

serve on 8080
    route "GET /"
        give "a page"
    route "POST /tools"
        give mcp_reply(request.json, server)
"""
WITH_USERS = """
require serve(8080)
require secret("TOKEN")

task who(token)
    when secret("TOKEN") == token
        give {"name": "ann"}

let server be {"name": "me", "version": "1", "tools": {"me": {"description": "Who", "run": (args, user) => user.name}}}

serve on 8080
    auth with who
    route "POST /mcp" requires auth
        give mcp_reply(request.json, server, request.user)
"""


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def exchange(folder: Path, words: list[str], messages: list[Any], **env: str) -> tuple[list[Any], str, int]:
    """The replies to some messages, what stood on standard error, and the exit code."""
    given = "".join(json.dumps(message) + "\n" for message in messages)
    done = subprocess.run([*LANG, *words], input=given, capture_output=True, text=True, cwd=folder, env=environment(**env))
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr, done.returncode


def call(name: str, number: int = 1, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def test_the_official_client_uses_the_tools_of_a_program(tmp_path: Path) -> None:
    (tmp_path / "sums.lang").write_text(PROGRAM)

    async def use() -> None:
        parameters = StdioServerParameters(
            command=sys.executable, args=[*LANG[1:], "sums.lang"], cwd=tmp_path, env=environment()
        )
        async with Client(parameters) as client:
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == ["add", "fails"]
            assert (await client.call_tool("add", {"a": 2, "b": 3})).content[0].text == "5"
            failed = await client.call_tool("fails", {})
            assert failed.is_error
            assert failed.content[0].text == "not today"

    asyncio.run(use())


def test_what_a_program_prints_stands_on_standard_error(tmp_path: Path) -> None:
    (tmp_path / "sums.lang").write_text(PROGRAM)
    messages = [call("add", 1, a=1, b=1), {"jsonrpc": "2.0", "method": "notifications/initialized"}, call("add", 2, a=2, b=2)]
    replies, errors, code = exchange(tmp_path, ["sums.lang"], messages)
    assert [reply["id"] for reply in replies] == [1, 2]
    assert [reply["result"]["content"][0]["text"] for reply in replies] == ["2", "4"]
    assert "the program begins" in errors
    assert errors.count("a tool prints") == 2
    assert code == 0


def test_a_route_that_wants_a_user_gets_the_token_of_a_variable(tmp_path: Path) -> None:
    (tmp_path / "me.lang").write_text(WITH_USERS)
    replies, _, _ = exchange(tmp_path, ["me.lang", "--token-env", "MINE"], [call("me")], TOKEN="t-1", MINE="t-1")
    assert replies[0]["result"]["content"][0]["text"] == "ann"
    replies, _, _ = exchange(tmp_path, ["me.lang"], [call("me")], TOKEN="t-1")
    assert "--token-env" in replies[0]["error"]["message"]
    replies, errors, code = exchange(tmp_path, ["me.lang", "--token-env", "NOBODY"], [call("me")])
    assert (replies, code) == ([], 2)
    assert "NOBODY" in errors


def test_a_ceiling_holds_for_the_tools_of_a_program(tmp_path: Path) -> None:
    (tmp_path / "me.lang").write_text(WITH_USERS)
    words = ["me.lang", "--token-env", "MINE", "--cap-set", "stdout,serve"]
    replies, _, _ = exchange(tmp_path, words, [call("me")], TOKEN="t-1", MINE="t-1")
    assert "result" not in replies[0]


def test_a_program_without_one_route_for_tools(tmp_path: Path) -> None:
    (tmp_path / "none.lang").write_text('print("hello")\n')
    replies, errors, code = exchange(tmp_path, ["none.lang"], [call("x")])
    assert (replies, code) == ([], 1)
    assert "--route" in errors
    (tmp_path / "wrong.lang").write_text("let x = 5\n")
    replies, errors, code = exchange(tmp_path, ["wrong.lang"], [])
    assert (replies, code) == ([], 1)
    assert "wrong.lang:1:7" in errors
    replies, _, _ = exchange(tmp_path, ["none.lang", "--route", "/mcp"], [call("x")])
    assert replies[0]["error"]["code"] == -32603


def test_a_capability_that_a_tool_lacks_is_told_on_standard_error(tmp_path: Path) -> None:
    """The client reads the message alone, whose `require` line stands at the top already."""
    program = (
        "require serve(8080)\nrequire random\ntask roll(args)\n    give random()\nserve on 8080\n"
        '    route "POST /mcp"\n        give mcp_reply(request.json, {"name": "dice", "version": "1", '
        '"tools": {"roll": {"description": "Rolls", "run": roll}}})\n'
    )
    (tmp_path / "dice.lang").write_text(program)
    replies, errors, _ = exchange(tmp_path, ["dice.lang"], [call("roll"), call("roll")])
    assert all(reply["result"]["isError"] for reply in replies)
    told = "a tool holds only what its own task requires: write `require random` as the first line of the task `roll`"
    warning = f"lang: warning: the tool 'roll' was refused a capability: {told}"
    cause = "[handler] tool 'roll' failed: Runtime error: dice.lang:4:16: Capability not granted: random"
    assert warning in errors.splitlines()
    assert all(line == warning or line.startswith(cause) for line in errors.splitlines())


LOOPING = """
require serve(8080)
let kept be 7

task loop(args)
    while true
        let _q be 1

task quick(args)
    give kept

let server be {"name": "loops", "version": "1", "tools": {
    "loop": {"description": "Never ends", "run": loop}, "quick": {"description": "Ends", "run": quick}}}

serve on 8080
    route "POST /mcp"
        give mcp_reply(request.json, server)
"""


def test_a_tool_that_never_ends_is_cancelled_and_holds_up_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "loops.lang").write_text(LOOPING)
    pipe = subprocess.PIPE
    with subprocess.Popen([*LANG, "loops.lang"], stdin=pipe, stdout=pipe, text=True, cwd=tmp_path, env=environment()) as server:
        assert server.stdin is not None and server.stdout is not None

        def send(*messages: dict[str, Any]) -> None:
            assert server.stdin is not None
            server.stdin.write("".join(json.dumps(message) + "\n" for message in messages))
            server.stdin.flush()

        def cancels(number: int) -> dict[str, Any]:
            return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}

        for begun in (1, 11):
            ping = {"jsonrpc": "2.0", "id": begun + 1, "method": "ping"}
            send(call("loop", begun), ping)
            assert json.loads(server.stdout.readline()) == {"jsonrpc": "2.0", "id": begun + 1, "result": {}}
            send(call("quick", begun + 2), call("quick", begun + 3), cancels(begun + 2), cancels(begun))
            reply = json.loads(server.stdout.readline())  # nobody waits for the two others
            assert (reply["id"], reply["result"]["content"][0]["text"]) == (begun + 3, "7")
        send(call("loop", 20))
        server.stdin.close()
        assert server.wait(120) == 0  # what never ends does not outlive its client
        assert server.stdout.read() == ""
