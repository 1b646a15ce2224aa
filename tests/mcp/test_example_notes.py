"""The example ``examples/mcp_notes`` under ``lang serve``: two users and an admin, each through REST and through the tools."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest
from tool_server import context
from tool_services import REPOSITORY, free_port, served

from language.errors import RuntimeFault
from stdlib.mcp_client import mcp_call, mcp_connect, mcp_tools

PROGRAM = REPOSITORY / "examples" / "mcp_notes" / "notes.lang"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder, port = tmp_path_factory.mktemp("notes"), free_port()
    users = "ann:t-ann,bob:t-bob,root:t-root:admin"
    with served(PROGRAM, port, folder, NOTES_USERS=users, NOTES_MODE="readwrite"):
        yield f"http://127.0.0.1:{port}"
    assert (folder / "notes.db").exists()


def rest(place, user, method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    if user:
        headers["Authorization"] = f"Bearer t-{user}"
    request = urllib.request.Request(place + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


class Agent:
    """A user's agent: calls tools, gives the structured result or the text of the error."""

    def __init__(self, place, user):
        self.ctx = context()
        self.conn = mcp_connect(self.ctx, place + "/mcp", {"headers": {"Authorization": f"Bearer t-{user}"}})

    def __call__(self, tool, **arguments):
        try:
            return mcp_call(self.ctx, self.conn, tool, arguments)
        except RuntimeFault as fault:
            return fault.message


@pytest.fixture
def agents(place):
    made = {user: Agent(place, user) for user in ("ann", "bob", "root")}
    yield made
    for agent in made.values():
        agent.ctx.lifetime.end()


def items(place, user, path):
    status, page = rest(place, user, "GET", path)
    assert status == 200 and page["count"] == page["total"] == len(page["items"])
    return page["items"]


def test_two_users_through_both_doors(place, agents):
    for user in ("ann", "bob"):
        status, made = rest(place, user, "POST", "/notes", {"title": f"{user} by REST", "owner": "root"})
        assert (status, made["owner"]) == (201, user)
        made = agents[user]("notes_create", title=f"{user} by tool", owner="root", id=1)
        assert made["owner"] == user
    for user in ("ann", "bob"):
        seen = items(place, user, "/notes")
        assert seen == agents[user]("notes_list")
        assert [row["title"] for row in seen] == [f"{user} by REST", f"{user} by tool"]
        assert {row["owner"] for row in seen} == {user}
        assert items(place, user, "/notes?search=tool") == agents[user]("notes_list", search="tool") == seen[1:]
    everything = items(place, "root", "/notes")
    assert everything == agents["root"]("notes_list")
    assert {row["owner"] for row in everything} == {"ann", "bob"}

    theirs = items(place, "bob", "/notes")[0]
    gone = (404, {"error": "not found", "status": 404})
    for number in (theirs["id"], 9999):
        assert rest(place, "ann", "GET", f"/notes/{number}") == gone
        assert rest(place, "ann", "PUT", f"/notes/{number}", {"title": "mine"}) == gone
        assert rest(place, "ann", "DELETE", f"/notes/{number}") == gone
        for tool, more in (("notes_read", {}), ("notes_change", {"title": "mine"}), ("notes_remove", {})):
            said = agents["ann"](tool, id=number, **more)
            assert said == f"mcp_call: tool '{tool}' failed: not found"
    assert items(place, "bob", "/notes")[0] == theirs

    assert rest(place, "bob", "PUT", f"/notes/{theirs['id']}", {"title": "new", "owner": "ann"})[1]["title"] == "new"
    assert agents["bob"]("notes_read", id=theirs["id"]) == {**theirs, "title": "new"}
    assert agents["bob"]("notes_remove", id=theirs["id"]) == {"removed": theirs["id"]}
    assert rest(place, "bob", "GET", f"/notes/{theirs['id']}") == gone


@pytest.mark.parametrize("name", ["users", "sqlite_master", "notes%3B--"])
def test_what_is_not_exposed(place, agents, name):
    assert rest(place, "root", "GET", f"/{name}")[0] == 404
    assert agents["root"](f"{name}_list") == "mcp_call: -32602 unknown tool"


def test_nobody(place):
    for user in ("", "nobody"):
        for method, path, body in (("GET", "/notes", None), ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"})):
            assert rest(place, user, method, path, body) == (401, {"error": "unauthorized", "status": 401})


def test_the_tools(place, agents):
    ann = agents["ann"]
    actions = ("list", "read", "create", "change", "remove")
    tools = mcp_tools(ann.ctx, ann.conn)
    assert [tool["name"] for tool in tools] == [f"{name}_{action}" for name in ("notes", "tasks") for action in actions]
    assert ann("tasks_create", title=5) == "mcp_call: -32602 argument 'title' must be text, got number"
    assert ann("tasks_read") == "mcp_call: -32602 missing argument 'id'"
