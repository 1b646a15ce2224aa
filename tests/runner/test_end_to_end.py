"""A whole platform through the ways in that its users have: the API, the dashboard, the commands, the addresses of programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from deploying import API, detail, ok, until
from whole_platform import SECONDS, Platform, Visitors, whole_platform

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
        give ok(approve "Ship it?" within 1h)
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
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    with whole_platform(PLATFORM_RUNNER_IDLE_SECONDS="1", PLATFORM_RUNNER_PAUSED_SECONDS="0.05") as made:
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


def test_programs_of_a_text_of_files_and_of_a_recipe_answer_at_their_addresses(platform: Platform, scheduled: str) -> None:
    project, url = platform.up("From a text", source=HELLO.format("from a text"))
    assert get(url).json() == "from a text"
    until(lambda: "begun" in platform.lines(project), SECONDS)

    assert platform.lang("new", "hello").returncode == 0
    deployed = platform.lang("deploy", "hello")
    assert deployed.returncode == 0, deployed.stderr
    assert "It answers at http" in deployed.stdout
    address = next(word for word in deployed.stdout.split() if word.startswith("http")).rstrip(".")
    assert get(address).json() == {"message": "Hello, world!"}

    until(lambda: ok(platform.client.get(f"{API}/recipes"))["items"], SECONDS)
    page = platform.made("Of a recipe", recipe="status-page")
    ok(platform.client.put(f"{API}/projects/{page}/secrets/OPERATOR_KEY", json={"value": "a long random text"}))
    assert platform.deploy(page)["status"] == "live"
    answer = get(str(detail(platform.client, page)["project"]["url"]))
    assert answer.status_code == 200 and "Status" in answer.text


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

    def by_form(gate: str) -> None:
        fields = {"decision": "no", "csrf": platform.csrf("/approvals"), "back": "/approvals"}
        assert platform.browser.post(f"/approvals/{gate}", data=fields).status_code in (200, 303)

    def by_link(gate: str) -> None:
        told = until(lambda: len(platform.listener.posted) == 3 and json.loads(platform.listener.posted[-1]), SECONDS)
        assert told["respond_page"].startswith(f"{url}/approvals/")
        page = httpx.get(told["respond_page"], timeout=SECONDS)
        assert page.status_code == 200 and "Ship it?" in page.text
        assert httpx.get(told["respond_link_yes"], timeout=SECONDS).status_code == 200

    with ThreadPoolExecutor(1) as pool:
        for decide, outcome in ((by_api, True), (by_form, False), (by_link, True)):
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

    def finished() -> Any:
        shown = ok(platform.client.get(f"{API}/projects/{project}/runs/{asked}"))["run"]
        return shown if shown["finished_at"] else None

    run = until(finished, SECONDS)
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


def test_a_program_sees_who_asks_and_no_more_than_its_own_cookies(platform: Platform) -> None:
    project, url = platform.up("Seen", source=SEEN)
    slug = detail(platform.client, project)["project"]["slug"]
    assert get(url, headers={"Host": "evil.example"}).status_code == 421
    assert platform.browser.cookies
    name = f"p-{slug}-a"
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
    allowed, refused, direct = json.loads(get(url, "/native").json())
    assert (allowed, direct) == ("outside", "no way") and "403" in refused

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


def test_of_a_deleted_project_nothing_is_left(platform: Platform) -> None:
    project, url = platform.up("Short-lived", source=ALONE.format("here"))
    assert httpx.post(f"{url.rstrip('/')}/kept", content="x", timeout=SECONDS).status_code == 200
    runner = platform.folder / "d" / "runner"
    assert any(project in path.name for path in runner.rglob("*")) and list(runner.rglob("kept.txt"))
    ok(platform.client.delete(f"{API}/projects/{project}"))
    until(lambda: platform.client.get(f"{API}/projects/{project}").status_code == 404, SECONDS)

    def refuses() -> bool:
        try:
            get(url)
        except httpx.ConnectError:
            return True
        return False

    until(refuses, SECONDS)
    assert [path for path in runner.rglob("*") if project in path.name] == []


def test_a_job_runs_when_it_is_due(platform: Platform, scheduled: str) -> None:
    def runs() -> Any:
        items = ok(platform.client.get(f"{API}/projects/{scheduled}/runs"))["items"]
        return [run for run in items if run["trigger"] == "schedule" and run["finished_at"]]

    run = until(runs, 2 * SECONDS)[-1]
    assert (run["status"], run["output"]) == ("succeeded", "by the clock\n")
