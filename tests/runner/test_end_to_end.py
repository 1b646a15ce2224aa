"""A whole platform through the ways in that its users have: the API, the dashboard, the commands, the addresses of programs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from deploying import API, detail, ok, until
from git_server import GitServer, commit, tree_of
from load_of_wrk import Wrk
from playwright.sync_api import expect
from whole_platform import EMAIL, PASSWORD, SECONDS, Platform, Visitors, whole_platform

from language.mcp.protocol import CAPABILITIES_KEY, VERSION_KEY
from tests.examples.browsing import chromium, window
from tests.folders import paths_below
from tests.models.provider_peer import KEY, Peer, Turn, serving

HELLO = """require serve(8080)
print("begun")
serve on 8080
    route "GET /"
        give ok("{}")
"""
#: Answers with its version, and takes texts.
LOADED = """require serve(8080)
serve on 8080
    route "GET /"
        give ok("{0}")
    route "POST /kept"
        give ok("{0}")
"""
#: The same with a file, so that an old and a new version must not run side by side.
ALONE = """require serve(8080)
require file("kept.txt")
append_file("kept.txt", "")
serve on 8080
    route "GET /"
        give ok("{0}")
    route "GET /all"
        give ok(read_file("kept.txt"))
    route "POST /kept"
        append_file("kept.txt", request.body + " ")
        give ok("{0}")
"""
GATE = """require serve(8080)
serve on 8080
    route "POST /ship"
        print("asked by a person")
        give ok(approve "Ship it?" within 1h)
"""
#: A tool that asks a person before it does what it is for.
TOOL = """require serve(8080)
task ship(args)
    when approve `Ship {args.what}?` within 1h
        give `shipped {args.what}`
    raise "nobody agreed"
let params be {"what": {"type": "text"}}
let server be {"name": "shop", "version": "1", "tools": {"ship": {"description": "Ships", "params": params, "run": ship}}}
serve on 8080
    route "POST /mcp"
        give mcp_reply(request.json, server)
"""
SEEN = """require serve(8080)
serve on 8080
    route "GET /"
        give set_cookie(ok({"ip": request.ip, "headers": request.headers, "cookies": request.cookies}), "a", "1")
"""
OUTWARD = """require serve(8080)
require net("127.0.0.1:{port}")
require exec("{python}")
serve on 8080
    route "GET /inside"
        give ok(http_get("http://127.0.0.1:{port}/").body)
    route "GET /outside"
        give ok(http_get("http://127.0.0.1:{other}/").body)
    route "GET /native"
        give run("{python}", ["-IB", "/app/native.py", "{port}", "{other}"]).stdout
"""
#: Asks a model what it is asked; says so itself where it may not.
ASKING = """{declared}require serve(8080)
serve on 8080
    route "GET /"
        try
            let reply be llm_chat(request.query["ask"], {{"retries": 0}})
            give ok(reply["text"])
        recover why
            give ok("refused: " + why)
"""
#: A model that calls a tool, in a program that runs to its end.
WORKING = """{declared}task grow(given)
    give given["n"] + 1
let params be {{"n": {{"type": "integer"}}}}
print(tool_loop("How many, with one more?", {{"grow": {{"description": "Adds one", "params": params, "run": grow}}}})["text"])
"""
#: A command of a program: what it reaches through the proxy that it is told of, and what without it.
NATIVE = """import http.client, json, os, socket, sys
from urllib.parse import urlsplit

proxy = urlsplit(os.environ["HTTPS_PROXY"])
told = []
for port in sys.argv[1:]:
    client = http.client.HTTPConnection(proxy.hostname, proxy.port, timeout=60)
    client.set_tunnel("127.0.0.1", int(port))
    try:
        client.request("GET", "/")
        told.append(client.getresponse().read().decode())
    except OSError as error:
        told.append(str(error))
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 60).close()
    told.append("reached")
except OSError:
    told.append("no way")

# What only the program itself may say: that it checked a capability, and that it asks a person.
record = {"ts": 1, "capability": "forged", "scope": "forged", "granted": True, "origin": "", "why": ""}
gate = {"id": "forged", "kind": "approve", "message": "Forged?", "options": None, "expires_at": 2000000000, "token": "0" * 64}
hello = {"type": "hello", "protocol": 1, "version": "1", "mode": "serve", "resume": ""}
lines = [hello, {"type": "audit", "seq": 1, "record": record}, {"type": "gate", **gate}]
said = "".join(json.dumps(line) + "\\n" for line in lines).encode()
for output in (2, *range(3, 64)):
    try:
        os.write(output, said)
    except OSError:
        pass
for family, place in ((socket.AF_UNIX, "/run/lang/host.sock"), (socket.AF_INET, (proxy.hostname, proxy.port))):
    try:
        with socket.socket(family) as link:
            link.settimeout(60)
            link.connect(place)
            link.sendall(said)
            told.append(link.recv(1000).decode())
    except OSError:
        told.append("no link")
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def git() -> Iterator[GitServer]:
    with GitServer() as server:
        yield server


@pytest.fixture(scope="module")
def platform(git: GitServer) -> Iterator[Platform]:
    settings = {"PLATFORM_RUNNER_IDLE_SECONDS": "1", "PLATFORM_RUNNER_PAUSED_SECONDS": "0.05"}
    with whole_platform(PLATFORM_REPO_HOSTS=git.address, **settings) as made:
        yield made


@pytest.fixture(scope="module")
def scheduled(platform: Platform) -> str:
    """A job that is due every minute, from the start of these tests on: the last of them looks for its run."""
    job = platform.made("Every minute", kind="job", source='print("by the clock")\n')
    assert platform.deploy(job)["status"] == "live"
    ok(platform.client.put(f"{API}/projects/{job}/schedule", json={"cron": "* * * * *"}))
    return job


def get(url: str, path: str = "/", **options: Any) -> httpx.Response:
    return httpx.get(f"{url.rstrip('/')}{path}", timeout=SECONDS, **options)


def finished(platform: Platform, project: str, run: str) -> Any:
    """A run that has come to its end."""
    shown = ok(platform.client.get(f"{API}/projects/{project}/runs/{run}"))["run"]
    return shown if shown["finished_at"] else None


def test_programs_of_a_text_of_files_and_of_a_recipe_answer_at_their_addresses(platform: Platform, scheduled: str) -> None:
    project, url = platform.up("From a text", source=HELLO.format("from a text"))
    assert get(url).json() == "from a text"
    until(lambda: "begun" in platform.lines(project), SECONDS)
    assert "begun" in platform.lang("logs", "--project", project).stdout.splitlines()
    until(lambda: "serve" in platform.lang("audit", "--project", project).stdout, SECONDS)

    assert platform.lang("new", "hello").returncode == 0
    deployed = platform.lang("deploy", "hello")
    assert deployed.returncode == 0, deployed.stderr
    assert "It runs at http" in deployed.stdout
    address = next(word for word in deployed.stdout.split() if word.startswith("http")).rstrip(".")
    assert get(address).json() == {"message": "Hello, world!"}

    until(lambda: ok(platform.client.get(f"{API}/recipes"))["items"], SECONDS)
    page = platform.made("Of a recipe", recipe="status-page")
    ok(platform.client.put(f"{API}/projects/{page}/secrets/OPERATOR_KEY", json={"value": "a long random text"}))
    assert platform.deploy(page)["status"] == "live"
    answer = get(str(detail(platform.client, page)["project"]["url"]))
    assert answer.status_code == 200 and "Status" in answer.text


def test_a_program_of_a_repository_follows_it(platform: Platform, git: GitServer) -> None:
    repo = git.repository("acme/shop", {"main.lang": HELLO.format("from a repository").encode()})
    project, url = platform.up("Of a repository", repo=git.url("acme/shop"))
    assert get(url).json() == "from a repository"
    first = detail(platform.client, project)["deploys"][0]["id"]

    def pushed(text: str) -> None:
        commit(repo, tree_of(repo.object_store, {"main.lang": HELLO.format(text).encode()}))

    pushed("pulled")
    assert platform.deploy(project, pull=True)["status"] == "live"
    assert get(url).json() == "pulled"
    pushed("told by its hook")
    ok(httpx.post(ok(platform.client.post(f"{API}/projects/{project}/hook"))["url"], timeout=SECONDS))
    until(lambda: get(url).json() == "told by its hook", SECONDS)
    ok(platform.client.post(f"{API}/projects/{project}/deploys/{first}/rollback"))
    until(lambda: get(url).json() == "from a repository", SECONDS)


def test_the_client_of_a_tool_that_asks_is_told_the_page_where_a_person_decides(platform: Platform) -> None:
    """Not the address of the program, which only its own machine may know, and not a link that decides by itself."""
    project, url = platform.up("Tool", source=TOOL)

    def call(what: str, **more: Any) -> Any:
        params = {"name": "ship", "arguments": {"what": what}, **more}
        params["_meta"] = {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {"elicitation": {"url": {}}}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        fields = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "ship"}
        return httpx.post(f"{url.rstrip('/')}/mcp", json=body, headers=fields, timeout=SECONDS).json()["result"]

    page = f"{platform.url}/projects/{project}/approvals"

    def shown_with(gate: str) -> str:
        text = platform.browser.get(page).text
        return text if f'id="gate-{gate}"' in text else ""

    for what, decision, end in (("a lamp", "yes", "shipped a lamp"), ("a bomb", "no", "nobody agreed")):
        asked = call(what)
        [(gate, question)] = asked["inputRequests"].items()
        assert (question["params"]["mode"], question["params"]["url"]) == ("url", f"{page}#gate-{gate}")
        assert httpx.get(page, headers={"Accept": "text/html"}, timeout=SECONDS).headers["Location"].startswith("/sign-in")
        shown = until(partial(shown_with, gate), SECONDS)
        assert f"Ship {what}?" in shown
        [action] = re.findall(r'action="(/approvals/[^"]+)"', shown)
        form = {"csrf": re.findall(r'name="csrf" value="([^"]+)"', shown)[0], "decision": decision, "back": "/approvals"}
        assert platform.browser.post(action, data=form).status_code == 303
        done = call(what, requestState=asked["requestState"], inputResponses={gate: {"action": "accept"}})
        assert done["content"][0]["text"] == end


def test_a_gate_is_decided_by_the_api_the_dashboard_and_the_link_of_the_program(platform: Platform) -> None:
    project = platform.made("Gate", source=GATE)
    webhook = {"value": f"http://127.0.0.1:{platform.listener.port}/"}
    ok(platform.client.put(f"{API}/projects/{project}/env/PLATFORM_HUMAN_WEBHOOK", json=webhook))
    assert platform.deploy(project)["status"] == "live"
    url = str(detail(platform.client, project)["project"]["url"]).rstrip("/")

    def pending() -> Any:
        return ok(platform.client.get(f"{API}/approvals"))["items"]

    def by_api(gate: str) -> None:
        ok(platform.client.post(f"{API}/approvals/{gate}", json={"decision": True}))

    def in_chromium(gate: str) -> None:
        with chromium() as browser, window(browser) as (_, page, complaints):
            page.goto(platform.url)
            page.get_by_label("E-mail address").fill(EMAIL)
            page.get_by_label("Password").fill(PASSWORD)
            page.get_by_role("button", name="Sign in").click()
            page.goto(f"{platform.url}/approvals")
            expect(page.get_by_role("article").get_by_text("Ship it?")).to_be_visible(timeout=60_000)
            page.get_by_role("button", name="Deny").click()
            expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible(timeout=60_000)
            for tab, text in (("Log", "asked by a person"), ("Audit", "serve")):
                page.goto(f"{platform.url}/projects/{project}")
                page.get_by_role("navigation").get_by_role("link", name=tab, exact=True).click()
                expect(page.get_by_text(text).first).to_be_visible(timeout=60_000)
            assert not complaints

    def by_link(gate: str) -> None:
        told = until(lambda: len(platform.listener.posted) == 3 and json.loads(platform.listener.posted[-1]), SECONDS)
        assert told["respond_page"].startswith(f"{url}/approvals/")
        page = httpx.get(told["respond_page"], timeout=SECONDS)
        assert page.status_code == 200 and "Ship it?" in page.text
        assert httpx.get(told["respond_link_yes"], timeout=SECONDS).status_code == 200

    with ThreadPoolExecutor(1) as pool:
        for decide, outcome in ((by_api, True), (in_chromium, False), (by_link, True)):
            asking = pool.submit(httpx.post, f"{url}/ship", timeout=SECONDS)
            [gate] = until(pending, SECONDS)
            decide(gate["id"])
            assert asking.result().json() is outcome, decide
            until(lambda: not pending(), SECONDS)
    gates = ok(platform.client.get(f"{API}/projects/{project}/approvals"))["items"]
    assert [gate["status"] for gate in gates] == ["approved", "denied", "approved"]
    tokens = [json.loads(text)["token"] for text in platform.listener.posted]
    assert not any(token in line for line in platform.lines(project) for token in tokens)


def test_a_job_runs_when_it_is_asked_to(platform: Platform) -> None:
    home = platform.folder / "home"
    (home / "job").mkdir(parents=True, exist_ok=True)
    (home / "job" / "main.lang").write_text('print("counting")\n')
    deployed = platform.lang("deploy", "job", "--kind", "job")
    assert deployed.returncode == 0, deployed.stderr
    [project] = [each["id"] for each in ok(platform.client.get(f"{API}/projects"))["items"] if each["name"] == "job"]
    asked = ok(platform.client.post(f"{API}/projects/{project}/run"))["run"]["id"]
    run = until(lambda: finished(platform, project, asked), SECONDS)
    assert (run["status"], run["exit_code"], run["output"]) == ("succeeded", 0, "counting\n")


def test_what_nobody_asks_for_sleeps_and_many_requests_at_once_wake_it(platform: Platform) -> None:
    project, url = platform.up("Sleeper", warm=False, source=HELLO.format("awake"))
    assert get(url).json() == "awake"

    def woken() -> bool:
        """Whether it was started again: the first time it may have been found paused."""
        platform.becomes(project, "sleeping")
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda _: get(url), range(48)))
        assert [answer.text for answer in answers if answer.status_code != 200] == []
        assert {answer.json() for answer in answers} == {"awake"}
        return platform.lines(project).count("begun") >= 2

    until(woken, SECONDS)
    platform.becomes(project, "sleeping")
    assert platform.deploy(project, source='raise "boom"\n' + HELLO.format("never"))["status"] == "failed"
    assert get(url).json() == "awake", "what slept is woken where the version that was to follow has failed"


@pytest.mark.parametrize("source", [LOADED, ALONE], ids=["hand-over", "stop-then-start"])
def test_no_request_is_lost_while_another_version_takes_over_or_fails_to(platform: Platform, source: str) -> None:
    project, url = platform.up("Loaded", source=source.format("one"))
    with Visitors(url, 4) as visitors:
        visitors.see("one", 20)
        assert platform.deploy(project, source=source.format("two"))["status"] == "live"
        visitors.see("two", 20)
        broken = platform.deploy(project, source=source.format("three").replace("serve on", 'raise "boom"\nserve on', 1))
        assert broken["status"] == "failed" and "boom" in broken["error"]
        visitors.see("two", visitors.answers.count("two") + 20)
    assert visitors.failures == []
    assert set(visitors.answers) == {"one", "two"}
    if source is ALONE:
        assert sorted(get(url, "/all").json().split()) == sorted(visitors.posted), "each was taken, and once"


@pytest.mark.parametrize("source", [LOADED, ALONE], ids=["hand-over", "stop-then-start"])
def test_wrk_counts_no_failure_while_a_version_takes_over_and_another_fails_to(platform: Platform, source: str) -> None:
    project, url = platform.up("Measured", source=source.format("one"))
    with Wrk(url, platform.folder, keep=True) as kept, Wrk(url, platform.folder, keep=False) as new:
        kept.see("200 one", 20)
        new.see("200 one", 20)
        assert platform.deploy(project, source=source.format("two"))["status"] == "live"
        broken = platform.deploy(project, source=source.format("three").replace("serve on", 'raise "boom"\nserve on', 1))
        assert broken["status"] == "failed"
        kept.see("200 two", 20)
        new.see("200 two", 20)
    for load in (kept, new):
        assert load.errors == [0, 0, 0, 0, 0] and set(load.seen) == {"200 one", "200 two"}, (load.errors, load.seen)


def test_a_program_sees_who_asks_and_no_more_than_its_own_cookies(platform: Platform) -> None:
    project, url = platform.up("Seen", source=SEEN)
    slug = detail(platform.client, project)["project"]["slug"]
    assert get(url, headers={"Host": "evil.example"}).status_code == 421
    assert platform.browser.cookies
    name = f"p-{slug}_a"
    cookies = "; ".join([f"{name}=2", "a=3", *(f"{each.name}={each.value}" for each in platform.browser.cookies.jar)])
    forged = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Host": "evil.example", "Forwarded": "for=203.0.113.7"}
    answer = get(url, headers={**forged, "Cookie": cookies})
    seen = answer.json()
    assert seen["ip"] == "127.0.0.1" and seen["cookies"] == {"a": "2"}
    assert "203.0.113.7" not in answer.text and "evil.example" not in answer.text
    assert answer.headers["set-cookie"].startswith(f"{name}=1")


def test_a_program_and_its_commands_reach_their_ceiling_alone_and_both_witnesses_say_so(platform: Platform) -> None:
    port = platform.listener.port
    other = platform.client.base_url.port  # the service itself listens there
    source = OUTWARD.format(port=port, other=other, python=sys.executable)
    files = [{"path": "main.lang", "content": source}, {"path": "native.py", "content": NATIVE}]
    project, url = platform.up("Outward", files=files, entry="main.lang")
    assert get(url, "/inside").json() == "outside"
    assert get(url, "/outside").status_code == 500
    allowed, refused, direct, link, proxy = json.loads(get(url, "/native").json())
    assert (allowed, direct, link) == ("outside", "no way", "no link") and "403" in refused and " 200 " not in proxy

    def told() -> Any:
        events = [json.loads(line) for line in platform.client.get(f"{API}/projects/{project}/history").text.splitlines()]
        found = {
            (event["witness"], event["granted"], str(event["scope"]).rpartition(":")[2])
            for event in events
            if event.get("event") == "audit" and event["capability"] == "net"
        }
        wanted = {("runner", True, str(port)), ("runner", False, str(other))}
        return found if wanted <= found else None

    found = until(told, SECONDS)
    assert {("program", True), ("program", False)} <= {entry[:2] for entry in found}
    declared = ok(platform.client.get(f"{API}/projects/{project}/audit/declared"))
    assert declared["refused"], "what was refused stands beside what was declared"
    assert "forged" not in platform.client.get(f"{API}/projects/{project}/history").text
    assert ok(platform.client.get(f"{API}/projects/{project}/approvals"))["items"] == []


def set_up_for(platform: Platform, project: str, peer: Peer) -> None:
    """Gives a project the settings of a provider, the key as its secret."""
    for name, value in peer.settings.items():
        kind = "secrets" if value == KEY else "env"
        ok(platform.client.put(f"{API}/projects/{project}/{kind}/{name}", json={"value": value}))


def holding(folder: Path, texts: tuple[str, ...]) -> list[tuple[str, str]]:
    """The names of all files in a folder that hold one of these texts, with the text. Files that go meanwhile hold nothing."""
    found = []
    for path in paths_below(folder):
        with suppress(FileNotFoundError):
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found += [(path.name, text) for text in texts if text.encode() in content]
    return found


def audit_of(platform: Platform, project: str, deploy: str) -> list[dict[str, Any]]:
    """What both witnesses say of the language model, as it is in the project's history."""
    events = [json.loads(line) for line in platform.client.get(f"{API}/projects/{project}/history").text.splitlines()]
    return [event for event in events if event.get("capability") == "llm" and event.get("deploy") == deploy]


def test_a_program_asks_its_model_through_the_runner_under_its_ceiling_and_both_witnesses_say_so(platform: Platform) -> None:
    asked, answer = "Where does the grey heron nest?", "In the north reeds."
    peer = serving("anthropic", [Turn((answer[:6], answer[6:]), input=31, output=7)])
    with peer.server:
        project = platform.made("Asking", source=ASKING.format(declared="require llm\n"))
        set_up_for(platform, project, peer)
        first = platform.deploy(project)
        assert first["status"] == "live" and "llm" in first["ceiling"]["text"]
        url = str(detail(platform.client, project)["project"]["url"]).rstrip("/")

        def ask() -> Any:
            return httpx.get(url, params={"ask": asked}, timeout=SECONDS).json()

        assert ask() == answer
        assert [body["messages"] for body in peer.bodies] == [[{"role": "user", "content": asked}]]
        assert [head["x-api-key"] for head in peer.heads] == [KEY], "the project's secret reaches the provider"

        def told() -> Any:
            found = audit_of(platform, project, first["id"])
            return found if len(found) >= 3 else None

        said = {(event["witness"], event["granted"], event["scope"], event["why"]) for event in until(told, SECONDS)}
        assert ("program", True, None, "answered by anthropic m-1: 31 + 7 tokens") in said
        assert ("runner", True, f"127.0.0.1:{peer.server.port}", "connected") in said

        second = platform.deploy(project, source=ASKING.format(declared=""))
        assert second["status"] == "live" and "llm" not in second["ceiling"]["text"]
        assert ask().startswith("refused: Capability not granted: llm")
        assert len(peer.bodies) == 1, "nothing was sent"
        refusals = until(lambda: audit_of(platform, project, second["id"]), SECONDS)
        assert [(event["witness"], event["granted"]) for event in refusals] == [("program", False)]
    assert holding(platform.folder, (KEY, asked, answer)) == [], "neither the key nor what was said is kept anywhere"
    shown = platform.client.get(f"{API}/projects/{project}/history").text + "\n".join(platform.lines(project))
    assert not any(text in shown for text in (KEY, asked, answer))


def test_a_job_works_with_a_model_and_its_tools_through_the_runner(platform: Platform) -> None:
    peer = serving("chat", [Turn(calls=(("grow", {"n": 6}),)), Turn(("Seven.",))])
    with peer.server:
        job = platform.made("Working", kind="job", source=WORKING.format(declared="require llm\n"))
        set_up_for(platform, job, peer)
        assert platform.deploy(job)["status"] == "live"
        asked = ok(platform.client.post(f"{API}/projects/{job}/run"))["run"]["id"]
        run = until(lambda: finished(platform, job, asked), SECONDS)
        assert (run["status"], run["output"]) == ("succeeded", "Seven.\n"), run
        assert peer.bodies[1]["messages"][-1]["content"] == "7"
        assert {head["authorization"] for head in peer.heads} == {f"Bearer {KEY}"}


def test_of_a_deleted_project_nothing_is_left(platform: Platform) -> None:
    project, url = platform.up("Short-lived", source=ALONE.format("here"))
    assert httpx.post(f"{url.rstrip('/')}/kept", content="x", timeout=SECONDS).status_code == 200
    runner = platform.folder / "d" / "runner"
    names = [path.name for path in paths_below(runner)]
    assert any(project in name for name in names) and "kept.txt" in names
    ok(platform.client.delete(f"{API}/projects/{project}"))
    until(lambda: platform.client.get(f"{API}/projects/{project}").status_code == 404, SECONDS)

    def refuses() -> bool:
        try:
            get(url)
        except httpx.ConnectError:
            return True
        return False

    until(refuses, SECONDS)
    assert [path for path in paths_below(runner) if project in path.name] == []


def test_packages_and_compiled_files_go_with_the_last_version_that_needs_them(platform: Platform) -> None:
    project, url = platform.up("Replaced", source=HELLO.format("one"))
    kept = [platform.folder / "d" / "runner" / name for name in ("packages", "caches")]

    def hashes() -> list[str]:
        """Of the packages of its deploys, the newest first."""
        return [each["package_hash"].removeprefix("sha256:") for each in detail(platform.client, project)["deploys"]]

    def there(package: str) -> bool:
        return any((folder / package).exists() for folder in kept)

    assert all((folder / hashes()[0]).is_dir() for folder in kept)
    assert platform.deploy(project, source=HELLO.format("two"))["status"] == "live"
    until(lambda: not there(hashes()[1]), SECONDS)
    assert get(url).json() == "two" and all((folder / hashes()[0]).is_dir() for folder in kept)

    [first] = [each["id"] for each in detail(platform.client, project)["deploys"] if each["number"] == 1]
    back = ok(platform.client.post(f"{API}/projects/{project}/deploys/{first}/rollback"))["deploy"]["id"]
    found = f"{API}/projects/{project}/deploys/{back}"
    until(lambda: ok(platform.client.get(found))["deploy"]["status"] == "live", SECONDS)
    assert get(url).json() == "one", "what is gone back to is fetched again"

    last = hashes()[0]
    ok(platform.client.delete(f"{API}/projects/{project}"))
    until(lambda: not there(last), SECONDS)
    until(lambda: not [path for folder in kept for path in folder.iterdir() if path.name.startswith("old-")], SECONDS)


def test_a_job_runs_when_it_is_due(platform: Platform, scheduled: str) -> None:
    def runs() -> Any:
        items = ok(platform.client.get(f"{API}/projects/{scheduled}/runs"))["items"]
        return [run for run in items if run["trigger"] == "schedule" and run["finished_at"]]

    run = until(runs, 2 * SECONDS)[-1]
    assert (run["status"], run["output"]) == ("succeeded", "by the clock\n")
