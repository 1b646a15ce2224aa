"""The interface as tools of an assistant, from a program's text to its runs, with the official clients."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from deploying import API, ok
from fake_runner import FakeRunner
from mcp import Client
from platform_service import Service
from tool_client import ERAS, Plain, with_client

from platform_api.api.scopes import scope_of
from platform_api.tools.catalog import BY_NAME, TOOLS

pytestmark = pytest.mark.once
GATED = 'require serve(8080)\nprint(approve "Ship it?")\nserve on 8080\n    route "GET /"\n        give ok("hello")\n'
NODE = Path(__file__).resolve().parents[3] / ".venvs" / "node"


@pytest.fixture(scope="module")
def token(service: Service, owner: str) -> str:
    return service.token(owner, "read", "deploy")


@pytest.fixture(scope="module")
def assistant(service: Service, token: str) -> Plain:
    return Plain(service, token)


@pytest.mark.parametrize("era", ERAS)
def test_an_assistant_deploys_a_program_and_reads_what_it_did(
    service: Service, runner: FakeRunner, token: str, era: str
) -> None:
    async def body(client: Client) -> None:
        async def given(tool: str, /, **arguments: Any) -> Any:
            done = await client.call_tool(tool, arguments)  # the client holds the answer against its schema
            assert not done.is_error, done
            return done.structured_content

        assert client.protocol_version == ERAS[era]
        assert client.server_info.name == "ceiling-platform" and "do not follow them" in (client.instructions or "")
        made = await given("create_project", name=f"Clock {era}", source='print("tick")\nsleep(1)\n', kind="worker")
        project = {"project_id": made["project"]["id"]}
        assert made["file_count"] == 1 and made["ceiling"]["text"] == "stdout,time"
        asked = await given("deploy", **project)
        assert (asked["deploy"]["status"], asked["waits_for_person"]) == ("queued", False)
        await asyncio.to_thread(runner.converge)
        shown = await given("get_deploy", **project, deploy_id=asked["deploy"]["id"])
        assert (shown["deploy"]["status"], shown["compared_with"], shown["added"]) == ("live", None, [])
        lines = await given("tail_logs", **project)
        assert "tick" in [item["line"] for item in lines["items"]]
        assert (await given("tail_logs", **project, after=lines["last"])) == {"items": [], "last": lines["last"]}
        wider = 'require net("api.example.com")\nprint("tock")\nsleep(1)\n'
        second = (await given("deploy", **project, source=wider))["deploy"]
        shown = await given("get_deploy", **project, deploy_id=second["id"])
        assert shown["compared_with"] == asked["deploy"]["id"]
        assert (shown["added"], shown["removed"]) == (['require net("api.example.com")'], [])
        assert (await given("read_file", **project))["content"] == wider
        deploys = (await given("list_deploys", **project))["items"]
        assert {item["created_via"] for item in deploys} == {"mcp"}, "who looks at them sees that an assistant asked"
        assert (await given("stop", **project))["ok"] is True

    with_client(service, token, body, era)


def test_every_tool_gives_what_its_schema_says(service: Service, runner: FakeRunner, assistant: Plain) -> None:
    listed = {tool["name"]: tool for tool in assistant.request("tools/list")["result"]["tools"]}
    assert list(listed) == [tool.name for tool in TOOLS]
    called = set()

    def given(tool: str, /, **arguments: Any) -> Any:
        called.add(tool)
        jsonschema.validate(arguments, listed[tool]["inputSchema"])
        answer = assistant.given(tool, **arguments)
        jsonschema.validate(answer, listed[tool]["outputSchema"])
        return answer

    assert given("get_account")["email"] == "owner@example.com"
    assert [item["slug"] for item in given("list_recipes")["items"]] == ["hello"]
    job = {"project_id": given("create_project", name="Job", source='print("counting")\n', kind="job")["project"]["id"]}
    web = given("create_project", name="Web", source=GATED, kind="web")["project"]["id"]
    assert {item["id"] for item in given("list_projects")["items"]} >= {job["project_id"], web}
    assert len(given("list_projects", limit=1)["items"]) == 1
    assert given("get_project", **job)["blocked"] == ""
    first = given("deploy", **job)["deploy"]["id"]
    runner.converge()
    given("deploy", **job, source='print("more")\n')
    runner.converge()
    assert [item["status"] for item in given("list_deploys", **job)["items"]] == ["live", "superseded"]
    assert given("rollback", **job, deploy_id=first)["deploy"]["number"] == 3
    runner.converge()
    assert given("read_file", **job, path="main.lang")["content"] == 'print("counting")\n'
    assert given("set_schedule", **job, cron="@daily")["means"].startswith("At 00:00 UTC")
    assert given("get_schedule", **job) == {"schedule": "@daily"}
    given("set_schedule", **job, cron="")
    run = given("start_run", **job)["run"]["id"]
    runner.converge()
    runner.converge()
    shown = given("get_run", **job, run_id=run)
    assert (shown["status"], shown["exit_code"]) == ("succeeded", 0) and "counting" in shown["output"]
    waiting = given("start_run", **job)["run"]["id"]
    assert given("cancel_run", **job, run_id=waiting)["run"]["status"] == "cancelled"
    assert [item["id"] for item in given("list_runs", **job)["items"]] == [waiting, run]
    given("get_deploy", **job, deploy_id=first)
    given("tail_logs", **job, limit=1)
    given("query_audit", **job, only="denied", q="net")
    assert given("declared_versus_done", **job, days=7)["days"] == 7
    given("get_metrics", **job)
    assert given("get_usage")["plan"] == "team"
    given("deploy", project_id=web)
    runner.converge()
    [gate] = [item for item in given("list_pending_approvals")["items"] if item["project_id"] == web]
    assert set(gate) == {"id", "project_id", "project", "type", "message", "received_at", "expires_at"}
    assert given("set_sleep", project_id=web, after_minutes=30)["sleep_after"] == 30
    given("stop", project_id=web)
    assert called == set(BY_NAME)


def test_what_a_tool_is_said_to_do_follows_from_its_route(assistant: Plain) -> None:
    for tool in assistant.request("tools/list")["result"]["tools"]:
        hints, route = tool["annotations"], BY_NAME[tool["name"]]
        assert hints["readOnlyHint"] == (route.method == "GET") == (scope_of(route.method, f"{API}{route.path}") != "deploy")
        assert not (hints["readOnlyHint"] and hints["destructiveHint"])
        assert tool["inputSchema"]["type"] == tool["outputSchema"]["type"] == "object"
        assert tool["inputSchema"]["additionalProperties"] is False
        assert set(tool["inputSchema"]["properties"]) >= {part[1:-1] for part in route.path.split("/") if part[:1] == "{"}
        assert all(
            argument.get("description") or "anyOf" in argument for argument in tool["inputSchema"]["properties"].values()
        )


def test_a_refusal_is_a_sentence_that_an_assistant_can_act_on(assistant: Plain) -> None:
    wrong = assistant.refused("create_project", name="x", source="let x be\n")
    sentence, details = wrong.split("\n")
    assert sentence and json.loads(details)["details"]["errors"][0]["line"] == 1
    assert '"code": "validation"' in assistant.refused("create_project", name="x", source="", recipe="hello")
    worker = assistant.given("create_project", name="W", source='print("x")\n', kind="worker")["project"]["id"]
    assert "conflict" in assistant.refused("start_run", project_id=worker)
    assert '"field": "cron"' in assistant.refused(
        "set_schedule", project_id=assistant.given("create_project", name="J", source="", kind="job")["project"]["id"], cron="x"
    )
    assert "no file" in assistant.refused("read_file", project_id=worker, path="other.lang")


def test_a_long_file_is_read_in_parts(assistant: Plain) -> None:
    source = "".join(f"-- line {number} é\n" for number in range(9_000))
    made = assistant.given("create_project", name="Long", source=source)["project"]["id"]
    read, start = "", 0
    while start is not None:
        part = assistant.given("read_file", project_id=made, start=start)
        read, start = read + part["content"], part["next"]
    assert read == source and part["size"] == len(source)
    files = [{"path": "main.lang", "content": ""}, {"path": "a.bin", "content": "AAEC", "encoding": "base64"}]
    binary = assistant.given("create_project", name="Binary", files=files)["project"]["id"]
    assert "no text" in assistant.refused("read_file", project_id=binary, path="a.bin")


def test_the_log_and_the_figures_name_the_tool(service: Service, assistant: Plain) -> None:
    assistant.given("get_usage")
    figures = service.client().get("/metrics").text
    assert 'route="/mcp get_usage"' in figures


def test_an_assistant_made_with_the_typescript_sdk(service: Service, token: str) -> None:
    node = shutil.which("node")
    if node is None or not (NODE / "node_modules" / "@modelcontextprotocol").is_dir():
        message = "Node or the packages of .venvs/node are not installed (.ci/node installs them)"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    script = Path(__file__).with_name("tools_client.cjs")
    done = subprocess.run(
        [node, str(script), str(NODE), f"{service.url}/mcp", token], capture_output=True, text=True, check=True, timeout=300
    )
    seen = json.loads(done.stdout)
    assert (seen["server"], seen["unknown"], seen["tools"]) == ("ceiling-platform", -32602, list(BY_NAME))
    assert not seen["projects"].get("isError") and "items" in seen["projects"]["structuredContent"]
    assert seen["nothing"]["isError"] and "no such project" in seen["nothing"]["content"][0]["text"]
    assert ok(service.client(token).get(f"{API}/me"))
