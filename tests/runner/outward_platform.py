"""A platform in a network of its own, with programs and webhooks that are led to where they must not get.

    unshare --net --mount python outward_platform.py FOLDER

Writes what was seen, from inside and from outside, as one line of JSON.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent / "platform_api"), str(HERE.parent.parent)]

import httpx  # noqa: E402
from deploying import API, detail, ok, until  # noqa: E402
from own_network import METADATA, PRIVATE, PUBLIC, Names, Receiver, make_network  # noqa: E402
from whole_platform import SECONDS, Platform, whole_platform  # noqa: E402

SECRET = "a secret of the user"
GATED = """require serve(8080)
serve on 8080
    route "POST /ship"
        give ok(approve "Ship it?" within 1h)
"""
JOB = 'print(approve "Go on?" within 1h)\n'
#: Where the webhooks of jobs point to. The port of ``listed`` is that of an address which the operator has listed.
WEBHOOKS = {
    "redirect": "http://hook.example/moved",
    "private by name": "http://inside.example/",
    "metadata by name": "http://metadata.example/",
    "two addresses": "http://both.example/",
    "private literally": f"http://{PRIVATE}/",
    "listed address by name": "http://here.example:{port}/",
    "rebinding": "http://rebind.example/first",
    "without an answer": "http://silent.example/",
}
#: Asks the same name twice: the second answer is another one.
REACHES = """require net("*.example")
require exec("{python}")
task reached(url)
    try
        let got be http_get(url)
        when got.ok
            print(got.body)
        otherwise
            print(got.error)
    recover why
        print(why)
reached("http://turning.example/")
reached("http://turning.example/")
reached("http://inside.example/")
reached("http://metadata.example/")
reached("http://both.example/")
reached("http://10.7.0.5/")
print(run("{python}", ["-IB", "/app/native.py"]).stdout)
"""
#: The same by a command, through the proxy that it is told of.
NATIVE = """import http.client, os
from urllib.parse import urlsplit
proxy = urlsplit(os.environ["HTTPS_PROXY"])
for host in ("turned.example", "turned.example", "inside.example", "metadata.example", "10.7.0.5", "169.254.169.254"):
    client = http.client.HTTPConnection(proxy.hostname, proxy.port, timeout=60)
    client.set_tunnel(host, 80)
    try:
        client.request("GET", "/")
        print(client.getresponse().read().decode())
    except OSError as error:
        print(error)
"""


def answering() -> Any:
    """The answers of the name server: some names lead elsewhere the second time."""
    turns: Counter[str] = Counter()
    fixed = {
        "hook.example": [PUBLIC], "inside.example": [PRIVATE], "metadata.example": [METADATA],
        "both.example": [PUBLIC, PRIVATE], "here.example": ["127.0.0.1"],
    }  # fmt: skip

    def answers(name: str) -> list[str] | None:
        if name == "silent.example":
            return None
        if name in ("rebind.example", "turning.example", "turned.example"):
            turns[name] += 1
            return [PUBLIC if turns[name] == 1 else PRIVATE]
        return fixed.get(name, [])

    return answers


def signed_webhook(platform: Platform, receiver: Receiver) -> dict[str, Any]:
    """A web program asks; its webhook arrives at a public address; the link in it answers."""
    project = platform.made("Signed", source=GATED)
    ok(platform.client.put(f"{API}/projects/{project}/env/PLATFORM_HUMAN_WEBHOOK", json={"value": "http://hook.example/gates"}))
    ok(platform.client.put(f"{API}/projects/{project}/secrets/PLATFORM_HUMAN_WEBHOOK_SECRET", json={"value": SECRET}))
    deployed = platform.deploy(project)
    assert deployed["status"] == "live", deployed
    url = str(detail(platform.client, project)["project"]["url"]).rstrip("/")
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(httpx.post, f"{url}/ship", timeout=SECONDS)
        [sent] = until(lambda: [each for each in receiver.posted if each[1] == "/gates"], SECONDS)
        [gate] = until(lambda: ok(platform.client.get(f"{API}/approvals"))["items"], SECONDS)
        followed = httpx.get(json.loads(sent[3])["respond_link_yes"], timeout=SECONDS).status_code
        answer = asking.result().json()
    return {"sent": sent, "gate": gate, "url": url, "followed": followed, "answer": answer}


def gates_of(platform: Platform, runs: list[tuple[str, str]]) -> list[Any]:
    """The gates of these runs, one each. A run that ends without one fails. Each gate gives those that follow more time."""
    gates: list[Any] = []
    turns = cycle(runs)

    def more() -> Any:
        project, run = next(turns)
        shown = ok(platform.client.get(f"{API}/projects/{project}/runs/{run}"))["run"]
        assert shown["status"] in ("queued", "running"), shown
        found = ok(platform.client.get(f"{API}/approvals"))["items"]
        return len(found) > len(gates) and found

    while len(gates) < len(runs):
        gates = until(more, SECONDS)
    return gates


def led_astray(platform: Platform) -> dict[str, Any]:
    """Jobs whose webhooks lead where they must not get; what each was told about it, and how its run went on."""
    runs: dict[str, tuple[str, str]] = {}
    for name, url in WEBHOOKS.items():
        project = platform.made(name, kind="job", source=JOB)
        value = {"value": url.format(port=platform.listener.port)}
        ok(platform.client.put(f"{API}/projects/{project}/env/PLATFORM_HUMAN_WEBHOOK", json=value))
        ok(platform.client.post(f"{API}/projects/{project}/deploys"))
        runs[name] = project, ""
    for name, (project, _) in runs.items():
        platform.becomes(project, "ready")
        runs[name] = project, ok(platform.client.post(f"{API}/projects/{project}/run"))["run"]["id"]
    gates = gates_of(platform, list(runs.values()))

    def told(project: str) -> str:
        return next((line for line in platform.lines(project) if "webhook" in line), "")

    seen = {name: until(lambda: told(project), SECONDS) for name, (project, _) in runs.items() if name != "rebinding"}  # noqa: B023
    for gate in gates:
        ok(platform.client.post(f"{API}/approvals/{gate['id']}", json={"decision": True}))
    ended = {}
    for name, (project, run) in runs.items():
        path = f"{API}/projects/{project}/runs/{run}"
        ended[name] = until(lambda: (shown := ok(platform.client.get(path))["run"])["finished_at"] and shown, SECONDS)["output"]  # noqa: B023
    return {"told": seen, "ended": ended}


def reached(platform: Platform) -> list[str]:
    """What a program and its command get hold of, line by line."""
    source = REACHES.format(python=sys.executable)
    files = [{"path": "main.lang", "content": source}, {"path": "native.py", "content": NATIVE}]
    project = platform.made("Reaches", kind="job", files=files, entry="main.lang")
    deployed = platform.deploy(project)
    assert deployed["status"] == "live", deployed
    run = ok(platform.client.post(f"{API}/projects/{project}/run"))["run"]["id"]
    path = f"{API}/projects/{project}/runs/{run}"
    shown = until(lambda: (found := ok(platform.client.get(path))["run"])["finished_at"] and found, SECONDS)
    return str(shown["output"]).splitlines()


def main(folder: Path) -> None:
    """Does it all."""
    make_network(folder)
    receiver, names = Receiver(), Names(answering())
    with whole_platform() as platform:
        found = {"signed": signed_webhook(platform, receiver), "astray": led_astray(platform), "reached": reached(platform)}
        found["listened"] = [body.decode() for body in platform.listener.posted]
    found |= {"connected": receiver.connected, "posted": receiver.posted, "asked": names.asked}
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
