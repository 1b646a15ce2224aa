"""Gates inside tools, asked by the client: who decides, what a requestState is good for, and that nothing runs twice."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import stdlib.mcp_gates
from language.mcp.protocol import CAPABILITIES_KEY, VERSION_KEY
from language.serve.application import STOPPING
from tests.serve.served import Served
from tests.waiting_gates import wait_for

NEWEST = "2026-07-28"
BOTH = {"elicitation": {"url": {}, "form": {}}}
FORM = {"elicitation": {"form": {}}}
REFUSED = (400, -32602, "invalid or expired requestState")

PROGRAM = """
require serve(8080)
task who(token)
    when token == ""
        give nothing
    give {"name": token}
task deleted()
    let known be state_get("deleted")
    when known == nothing
        give 0
    give known
task delete(args, user)
    let ok be approve `Delete {args.name} for {user.name}?` within 60s
    when ok
        state_set("deleted", deleted() + 1)
        give {"deleted": args.name}
    raise "kept"
task twice(args)
    let first be confirm "First?" within 60s
    let second be ask "Which?" with ["red", "blue"] within 60s
    give `{first} {second}`
task choose(args)
    let answer be ask "Name?" within 60s
    give `[{answer}]`
task plain(args)
    give [1, {"a": nothing}]
task stops(args)
    exit(3)
let server be {"name": "demo", "version": "1", "tools": {
    "delete": {"description": "Deletes", "run": delete, "params": {"name": {"type": "text"}}},
    "twice": {"description": "Asks twice", "run": twice},
    "choose": {"description": "Asks which", "run": choose},
    "plain": {"description": "Asks nothing", "run": plain},
    "stops": {"description": "Stops the handler", "run": stops}}}
serve on 8080
    auth with who
    route "POST /mcp" requires auth
        give with_header(mcp_reply(request.json, server, request.user), "X-Kept", "yes")
    route "POST /other" requires auth
        give mcp_reply(request.json, server, request.user)
    route "GET /deleted"
        give {"deleted": deleted()}
"""


class Client:
    """A client of one served program."""

    def __init__(self, served: Served) -> None:
        self.served = served

    def send(
        self, name: str, arguments: Any = None, *, capabilities: Any = BOTH, token: str = "ann", path: str = "/mcp", **more: Any
    ) -> tuple[int, dict[str, Any]]:
        params = {"name": name, "arguments": arguments or {}, **more}
        params["_meta"] = {VERSION_KEY: NEWEST, CAPABILITIES_KEY: capabilities}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        fields = {"mcp_protocol_version": NEWEST, "mcp_method": "tools/call", "mcp_name": name}
        reply = self.served("POST", path, body, authorization=f"Bearer {token}", content_type="application/json", **fields)
        return reply.status, json.loads(reply.body)

    def asked(self, name: str, arguments: Any = None, **more: Any) -> tuple[str, dict[str, Any], str]:
        """The key and the request of a question, and its requestState."""
        status, body = self.send(name, arguments, **more)
        result = body["result"]
        assert (status, result["resultType"]) == (200, "input_required")
        ((key, request),) = result["inputRequests"].items()
        assert request["method"] == "elicitation/create"
        return key, request["params"], result["requestState"]

    def refused(self, name: str, arguments: Any = None, **more: Any) -> tuple[int, int, str]:
        status, body = self.send(name, arguments, **more)
        return status, body["error"]["code"], body["error"]["message"]

    def decide(self, url: str, choice: str) -> None:
        assert url.startswith("https://demo.example/approvals/")
        assert self.served("GET", f"{url.removeprefix('https://demo.example')}?d={choice}").status == 200

    @property
    def deleted(self) -> int:
        return int(json.loads(self.served("GET", "/deleted").body)["deleted"])


def accepted(key: str, content: Any = None) -> dict[str, Any]:
    return {key: {"action": "accept"} if content is None else {"action": "accept", "content": content}}


def text_of(answer: tuple[int, dict[str, Any]]) -> str:
    status, body = answer
    assert (status, body["result"]["resultType"]) == (200, "complete")
    text: str = body["result"]["content"][0]["text"]
    return text


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setattr(stdlib.mcp_gates, "PATIENCE", 0.05)
    served = Served(PROGRAM, settings={"PLATFORM_HUMAN_PUBLIC_URL": "https://demo.example"})
    yield Client(served)
    served.gates.close()


def channels(client: Client) -> list[tuple[Any, Any]]:
    audit = client.served.context.capabilities.audit
    assert audit is not None
    return [(record["granted"], record["origin"]) for record in audit.records if record["capability"] == "human"]


def test_a_person_decides_on_the_page_and_the_call_goes_on(client: Client) -> None:
    key, asked, state = client.asked("delete", {"name": "pens"})
    assert (asked["mode"], asked["message"]) == ("url", "Delete pens for ann?")
    assert client.deleted == 0
    status, body = client.send("delete", {"name": "pens"}, requestState=state, inputResponses=accepted(key))
    assert (status, set(body["result"])) == (200, {"resultType", "requestState"})  # nobody has decided yet
    client.decide(asked["url"], "yes")
    found = client.send("delete", {"name": "pens"}, requestState=body["result"]["requestState"])
    assert text_of(found) == '{"deleted": "pens"}' and found[1]["result"]["structuredContent"] == {"deleted": "pens"}
    assert client.deleted == 1
    assert channels(client) == [(True, "elicitation")]


def test_a_person_who_denies(client: Client) -> None:
    key, asked, state = client.asked("delete", {"name": "pens"})
    client.decide(asked["url"], "no")
    status, body = client.send("delete", {"name": "pens"}, requestState=state, inputResponses=accepted(key))
    assert (status, body["result"]["isError"], body["result"]["content"][0]["text"]) == (200, True, "kept")
    assert client.deleted == 0


def test_no_client_decides_an_approval(client: Client) -> None:
    key, _, state = client.asked("delete", {"name": "pens"})
    for action in ("accept", "decline", "cancel"):
        for content in ({"answer": "yes"}, {"answer": True}, {"decision": True}, {"answer": "y", "approved": "yes"}):
            sent = {key: {"action": action, "content": content}}
            status, body = client.send("delete", {"name": "pens"}, requestState=state, inputResponses=sent)
            assert (status, body["result"]["resultType"]) == (200, "input_required")
            state = body["result"]["requestState"]
    assert [gate["type"] for gate in client.served.gates.pending()] == ["approve"]
    assert client.deleted == 0 and channels(client) == []


def test_an_approval_is_never_asked_by_a_form(client: Client) -> None:
    """It waits as it does without elicitation; a person decides it another way."""
    answers: list[Any] = []
    thread = threading.Thread(
        target=lambda: answers.append(client.send("delete", {"name": "pens"}, capabilities=FORM)), daemon=True
    )
    thread.start()
    wait_for(lambda: client.served.gates.pending())
    assert not answers
    line = next(line for line in client.served.host.errors if "approval pending" in line)
    client.decide("https://demo.example" + line.rpartition("https://demo.example")[2], "yes")
    thread.join(60)
    assert text_of(answers[0]) == '{"deleted": "pens"}'


def test_a_question_is_answered_by_a_form(client: Client) -> None:
    key, asked, state = client.asked("choose", capabilities=FORM)
    assert asked == {
        "mode": "form",
        "message": "Name?",
        "requestedSchema": {
            "type": "object",
            "properties": {"answer": {"type": "string", "title": "Answer"}},
            "required": ["answer"],
        },
    }
    found = client.send("choose", capabilities=FORM, requestState=state, inputResponses=accepted(key, {"answer": " ann "}))
    if found[1]["result"]["resultType"] == "input_required":  # the tool has not yet ended
        found = ended(client, "choose", found[1]["result"]["requestState"], capabilities=FORM)
    assert text_of(found) == "[ann]"
    assert channels(client) == [(True, "elicitation")]


def ended(client: Client, name: str, state: str, **more: Any) -> tuple[int, dict[str, Any]]:
    """Sends a call again until it is complete."""
    found: list[tuple[int, dict[str, Any]]] = []

    def complete() -> bool:
        if found and not states[-1]:
            return True
        found[:] = [client.send(name, requestState=states[-1], **more)]
        states.append(found[0][1]["result"].get("requestState", ""))
        return bool(found[0][1]["result"]["resultType"] == "complete")

    states = [state]
    wait_for(complete, 60)
    return found[0]


def test_two_gates_one_after_the_other(client: Client) -> None:
    key, asked, state = client.asked("twice")
    assert asked["mode"] == "url"
    client.decide(asked["url"], "yes")
    wait_for(lambda: [gate["type"] for gate in client.served.gates.pending()] == ["ask"])
    second, asked, state = client.asked("twice", requestState=state, inputResponses=accepted(key))
    assert second != key and asked["requestedSchema"]["properties"]["answer"]["enum"] == ["red", "blue"]
    again, _, state = client.asked("twice", requestState=state, inputResponses=accepted(second, {"answer": "green"}))
    assert again == second
    found = client.send("twice", requestState=state, inputResponses=accepted(second, {"answer": "blue"}))
    if found[1]["result"]["resultType"] == "input_required":
        found = ended(client, "twice", found[1]["result"]["requestState"])
    assert text_of(found) == "true blue"


def test_who_declines_a_question_gives_its_fallback(client: Client) -> None:
    key, _, state = client.asked("choose", capabilities=FORM)
    declined = {key: {"action": "decline"}}
    found = client.send("choose", capabilities=FORM, requestState=state, inputResponses=declined)
    if found[1]["result"]["resultType"] == "input_required":
        found = ended(client, "choose", found[1]["result"]["requestState"], capabilities=FORM)
    assert text_of(found) == "[]"


def test_a_request_state_is_used_once(client: Client) -> None:
    key, asked, state = client.asked("delete", {"name": "pens"})
    client.decide(asked["url"], "yes")
    sent = {"requestState": state, "inputResponses": accepted(key)}
    answers: list[tuple[int, dict[str, Any]]] = []
    barrier = threading.Barrier(8)

    def send() -> None:
        barrier.wait(60)
        answers.append(client.send("delete", {"name": "pens"}, **sent))

    threads = [threading.Thread(target=send, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    errors = [body["error"]["message"] for _, body in answers if "error" in body]
    assert len(answers) == 8 and errors == ["invalid or expired requestState"] * 7
    wait_for(lambda: client.deleted == 1)
    assert client.refused("delete", {"name": "pens"}, **sent) == REFUSED
    assert client.deleted == 1


def test_a_request_state_is_good_for_what_it_was_made_for_alone(client: Client) -> None:
    key, asked, state = client.asked("delete", {"name": "pens"})
    client.decide(asked["url"], "yes")
    sent: dict[str, Any] = {"requestState": state, "inputResponses": accepted(key)}
    assert client.refused("delete", {"name": "rows"}, **sent) == REFUSED
    assert client.refused("twice", **sent) == REFUSED
    assert client.refused("delete", {"name": "pens"}, token="bob", **sent) == REFUSED
    assert client.refused("delete", {"name": "pens"}, path="/other", **sent) == REFUSED
    identifier, leg, expires, mac = state.split(".")
    for forged in (
        f"{identifier}.{int(leg) + 1}.{expires}.{mac}",
        f"{identifier}.{leg}.{int(expires) + 9}.{mac}",
        f"{'0' * 32}.{leg}.{expires}.{mac}",
        f"{identifier}.{leg}.{expires}.{'0' * 64}",
        f"{identifier}.{leg}.{expires}.",
        state + "0",
        state.upper(),
        "",
        "....",
        "é\ud800".encode("utf-8", "replace").decode(),
        "x" * 100_000,
    ):
        assert client.refused("delete", {"name": "pens"}, **{**sent, "requestState": forged}) == REFUSED
    for no_text in (5, True, ["x"], {}):
        answer = client.refused("delete", {"name": "pens"}, **{**sent, "requestState": no_text})
        assert answer == (400, -32602, "requestState must be text")
    found = client.send("delete", {"name": "pens"}, **sent)
    if found[1]["result"]["resultType"] == "complete":
        assert text_of(found) == '{"deleted": "pens"}'
    wait_for(lambda: client.deleted == 1)


def test_a_client_without_elicitation_does_not_go_on(client: Client) -> None:
    _, _, state = client.asked("delete", {"name": "pens"})
    status, body = client.send("delete", {"name": "pens"}, capabilities={}, requestState=state)
    assert (status, body["error"]["code"]) == (400, -32021)
    assert body["error"]["data"] == {"requiredCapabilities": {"elicitation": {}}}


def test_a_request_state_that_has_expired(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdlib.mcp_gates, "GRACE", -100)
    key, _, state = client.asked("delete", {"name": "pens"})
    assert client.refused("delete", {"name": "pens"}, requestState=state, inputResponses=accepted(key)) == REFUSED


def test_another_process_refuses_it(client: Client) -> None:
    key, asked, state = client.asked("delete", {"name": "pens"})
    other = Client(Served(PROGRAM, settings={"PLATFORM_HUMAN_PUBLIC_URL": "https://demo.example"}))
    client.decide(asked["url"], "yes")
    sent: dict[str, Any] = {"requestState": state, "inputResponses": accepted(key)}
    assert other.refused("delete", {"name": "pens"}, **sent) == REFUSED
    assert other.deleted == 0 and not other.served.gates.pending()
    client.served.gates._begin()  # what a fork does: the process of the worker has another key
    assert client.refused("delete", {"name": "pens"}, **sent) == REFUSED


def test_the_reply_is_what_the_handler_makes_of_it(client: Client) -> None:
    params = {"name": "choose", "_meta": {VERSION_KEY: NEWEST, CAPABILITIES_KEY: BOTH}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    fields = {"mcp_protocol_version": NEWEST, "mcp_method": "tools/call", "mcp_name": "choose", "authorization": "ann"}
    reply = client.served("POST", "/mcp", body, content_type="application/json", **fields)
    assert ("X-Kept", "yes") in reply.headers and b"input_required" in reply.body


def test_a_tool_without_a_gate_answers_at_once(client: Client) -> None:
    status, body = client.send("plain")
    assert (status, body["result"]) == (
        200,
        {
            "resultType": "complete",
            "content": [{"type": "text", "text": '[1, {"a": null}]'}],
            "structuredContent": [1, {"a": None}],
        },
    )
    assert client.send("stops") == client.send("stops", capabilities={})


def test_the_end_of_the_service_denies_what_waits(client: Client) -> None:
    key, _, state = client.asked("delete", {"name": "pens"})
    client.served.application.close_gates()
    found = client.send("delete", {"name": "pens"}, requestState=state, inputResponses=accepted(key))
    if found[1]["result"]["resultType"] == "input_required":
        found = ended(client, "delete", found[1]["result"]["requestState"], arguments={"name": "pens"})
    assert found[1]["result"]["content"][0]["text"] == "kept" and client.deleted == 0


def test_a_request_that_is_cancelled_ends_its_tool(client: Client) -> None:
    answers: list[Any] = []

    def send() -> None:
        try:
            client.send("delete", {"name": "pens"}, capabilities=FORM)
        except (KeyError, ValueError) as error:
            answers.append(error)
        else:
            answers.append(None)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    wait_for(lambda: client.served.gates.pending())
    client.served.application._watch.cancel_all(STOPPING)
    thread.join(60)
    assert not thread.is_alive()
    wait_for(lambda: not client.served.gates.pending())
    assert client.deleted == 0


def test_there_is_a_most_of_calls_that_wait(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdlib.mcp_gates, "MOST_SUSPENDED", 1)
    client.asked("delete", {"name": "pens"})
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(client.send("choose", capabilities=FORM)), daemon=True)
    thread.start()
    wait_for(lambda: len(client.served.gates.pending()) == 2)
    assert not answers  # held, as without elicitation
    client.served.gates.close()
    thread.join(60)
    assert text_of(answers[0]) == "[]"


def whys(client: Client) -> list[str]:
    audit = client.served.context.capabilities.audit
    assert audit is not None
    return [record["why"] for record in audit.records if record["capability"] == "human"]


def console_token(client: Client) -> str:
    line = next(line for line in client.served.host.errors if "approval pending" in line)
    token: str = json.loads(line[line.index("{") :].partition("}")[0].replace("true|false", "true") + "}")["token"]
    return token


def test_a_client_that_follows_its_link_itself_is_told_apart_from_a_person(client: Client) -> None:
    """A client may fetch the address that it was to show. Nobody can tell that from a person, so the audit names the way."""
    for decided in ("link", "page", "api"):
        key, asked, state = client.asked("delete", {"name": "pens"})
        path = asked["url"].removeprefix("https://demo.example")
        token = path.rpartition("/")[2]
        if decided == "link":
            page = client.served("GET", f"{path}?d=yes")
        elif decided == "page":
            page = client.served("POST", path.rpartition("/")[0], f"token={token}&decision=true")
        else:
            page = client.served("POST", path.rpartition("/")[0], json.dumps({"token": token, "decision": True}))
        assert page.status == 200 and b"A HUMAN" not in page.body
        assert text_of(ended(client, "delete", state, arguments={"name": "pens"}, inputResponses=accepted(key)))
    assert channels(client) == [(True, "elicitation")] * 3
    assert all("whose link was given to the client of the tool" in why for why in whys(client))


def test_a_person_at_the_console_decides_with_a_token_that_no_client_has(client: Client) -> None:
    key, asked, state = client.asked("delete", {"name": "pens"})
    token = console_token(client)
    assert token not in asked["url"]
    page = client.served("GET", f"/approvals/{key}/{token}?d=yes")
    assert page.status == 200 and b"A HUMAN following a link approved this" in page.body
    assert text_of(ended(client, "delete", state, arguments={"name": "pens"}, inputResponses=accepted(key)))
    assert channels(client) == [(True, "link")]
    assert "given to the client" not in whys(client)[0]


def test_of_both_tokens_one_decides_once(client: Client) -> None:
    key, asked, state = client.asked("delete", {"name": "pens"})
    link = asked["url"].rpartition("/")[2]
    assert client.served("GET", f"/approvals/{key}/{console_token(client)}?d=no").status == 200
    for token in (link, console_token(client)):
        assert client.served("POST", f"/approvals/{key}", json.dumps({"token": token, "decision": True})).status == 404
    _, body = client.send("delete", {"name": "pens"}, requestState=state, inputResponses=accepted(key))
    assert body["result"]["content"][0]["text"] == "kept" and client.deleted == 0


@pytest.mark.parametrize(
    ("tool", "arguments", "given"), [("delete", {"name": "pens"}, '{"deleted": "pens"}'), ("choose", {}, "[ann]")]
)
@pytest.mark.parametrize("setting", ["off", "OFF", "nonsense"])
def test_an_operator_keeps_links_from_clients(setting: str, tool: str, arguments: Any, given: str) -> None:
    settings = {"PLATFORM_HUMAN_PUBLIC_URL": "https://demo.example", "PLATFORM_HUMAN_ELICITATION": setting}
    served = Served(PROGRAM, settings=settings)
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(Client(served).send(tool, arguments)), daemon=True)
    thread.start()
    wait_for(served.gates.pending)
    assert not answers
    (line,) = [line for line in served.host.errors if "approval pending" in line]
    path, _, token = line.rpartition("https://demo.example")[2].rpartition("/")
    assert served("POST", path, f"token={token}&decision=true&value=ann").status == 200
    thread.join(60)
    assert text_of(answers[0]) == given
    served.gates.close()
