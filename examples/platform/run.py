"""``make run``: starts a platform, deploys two programs to it, and shows what stands there.

Everything goes through the doors that everybody has: the commands of ``lang`` and the HTTP API of the service. At a terminal
the platform stays until Ctrl-C; elsewhere this ends when it has shown everything, with exit code 0 where all of it came true.

    python examples/platform/run.py [--data FOLDER] [--engine auto|docker|process] [--port N] [--apps-port N]

``DATA`` in the environment names the folder too. Without one the platform lies in a temporary folder, which is removed at the
end.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from textwrap import TextWrapper
from typing import Any, NoReturn

import httpx

from language.lifeline import Lifeline

HERE = Path(__file__).resolve().parent
#: The folders that are deployed: a web program and a job.
WEB, JOB = HERE / "refunds", HERE.parent / "recipes" / "daily-report"
EMAIL = "demo@localhost"
SCHEDULE = "0 6 * * *"
#: Characters of a line.
WIDTH = 100
#: How long a step may take before it counts as failed, in seconds. An image for Docker is built within it, at the first start.
LONGEST = 300.0


class Failure(Exception):
    """A step that did not come true. The text says which and why."""


class Stopped(Exception):
    """SIGINT, SIGTERM or SIGHUP."""


class Platform:
    """A platform that runs as a process of its own, and a client that is signed in to it.

    Args:
        data: its folder.
        engine: what programs run in.
        ports: those of the service and of the first web project; where somebody has one, the next that is free.
    """

    def __init__(self, data: Path, engine: str, ports: tuple[int, int]) -> None:
        self.data = data
        self.log = data / "log"
        self._engine = engine
        self._wanted = ports
        self._port, self._first = map(free_port, ports)
        self.url = f"http://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None
        self._commands: list[subprocess.Popen[str]] = []
        self._lifeline = Lifeline()
        self._token = ""
        self.client = httpx.Client(base_url=self.url, timeout=60)

    @property
    def moved(self) -> list[str]:
        """What to say about ports that somebody else has."""
        pairs = zip(self._wanted, (self._port, self._first), strict=True)
        return [f"Port {wanted} is taken: {port} in its place." for wanted, port in pairs if wanted != port]

    def start(self) -> None:
        """Starts it and signs in. A folder that holds a platform from an earlier run gets a new password for its account."""
        password = secrets.token_urlsafe(24)
        if (self.data / "up.lock").exists():
            self.lang("platform", "user", "passwd", EMAIL, "--data", str(self.data), stdin=password)
        words = ["platform", "up", "--data", str(self.data), "--port", str(self._port), "--engine", self._engine]
        words += ["--admin-email", EMAIL, "--admin-password-stdin"]
        with self.log.open("ab") as log:
            # In a session of its own: Ctrl-C reaches this program alone, which then ends it in order. Where this program is
            # killed, the platform notices by the lifeline.
            self._process = subprocess.Popen(
                command(*words),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=self._surroundings() | self._lifeline.environment(),
                start_new_session=True,
                pass_fds=(self._lifeline.descriptor,),
            )
        assert self._process.stdin is not None
        self._process.stdin.write(password.encode() + b"\n")
        self._process.stdin.close()
        self.until("the service answers", self._answers)
        answer = self.client.post("/api/v1/auth/login", json={"email": EMAIL, "password": password})
        self._token = str(checked(answer)["token"])
        self.client.headers["Authorization"] = f"Bearer {self._token}"

    @property
    def signed_in(self) -> bool:
        """Whether the API can be asked."""
        return self._token != ""

    def stop(self) -> None:
        """Ends it, and with it its parts and the programs."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self.client.close()

    def get(self, path: str) -> dict[str, Any]:
        """The answer to a ``GET`` of the API."""
        return checked(self.client.get(f"/api/v1{path}"))

    def post(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The answer to a ``POST`` of the API."""
        return checked(self.client.post(f"/api/v1{path}", json=body or {}))

    def lang(self, *words: str, stdin: str = "") -> str:
        """What a command of ``lang`` prints."""
        pipe = subprocess.PIPE
        started = subprocess.Popen(
            command(*words), stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=self._surroundings(), start_new_session=True
        )
        self._commands.append(started)
        out, err = started.communicate(stdin, timeout=LONGEST)
        if started.returncode:
            raise Failure(f"lang {' '.join(words[:2])}: {(err or out).strip()}")
        return out.strip()

    def break_off(self) -> None:
        """Ends the commands that are under way."""
        for started in self._commands:
            if started.poll() is None:
                started.terminate()

    def until(self, what: str, found: Callable[[], Any]) -> Any:
        """What ``found`` gives once that is true."""
        end = time.monotonic() + LONGEST
        while not (value := found()):
            if self._process is not None and self._process.poll() is not None:
                raise Failure(f"the platform has ended: {self.last_words()}")
            if time.monotonic() > end:
                raise Failure(f"within {LONGEST:.0f} seconds it did not come true that {what}: {self.last_words()}")
            time.sleep(0.1)
        return value

    def last_words(self) -> str:
        """The end of its log."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines() if self.log.exists() else []
        return " / ".join(lines[-3:])

    def engine(self) -> str:
        """What the runner says about its engine."""
        mark = "lang platform runner: engine "

        def said() -> str:
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
            return next((line.removeprefix(mark) for line in reversed(lines) if line.startswith(mark)), "")

        return str(self.until("the runner says which engine it has", said))

    def _answers(self) -> bool:
        try:
            return self.client.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def _surroundings(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PLATFORM_")}
        signed_in = {"PLATFORM_URL": self.url, "PLATFORM_TOKEN": self._token} if self._token else {}
        return {**kept, "PLATFORM_APPS_PORT": str(self._first), "LANG_HOME": str(self.data / "home"), **signed_in}


def command(*words: str) -> list[str]:
    """The command line of ``lang`` with the Python that runs this."""
    return [sys.executable, "-m", "language", *words]


def free_port(first: int) -> int:
    """This port, or the next one that nobody listens on."""
    for port in range(first, min(first + 200, 65536)):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise OSError(f"no port from {first} on is free")


def checked(answer: httpx.Response) -> dict[str, Any]:
    """The body of an answer that is no refusal."""
    if answer.is_success:
        return dict(answer.json())
    raise Failure(f"{answer.request.method} {answer.request.url.path}: {answer.status_code} {answer.text.strip()[:300]}")


def say(title: str, *lines: str) -> None:
    """A step: one line, and what it showed. What is longer than a terminal is wide goes on below, at its blanks."""
    wrapped = TextWrapper(
        WIDTH, initial_indent="  ", subsequent_indent="      ", break_long_words=False, break_on_hyphens=False
    )
    print(f"\n{title}", *(part for line in lines for part in wrapped.wrap(line)), sep="\n", flush=True)


def deployed(platform: Platform, program: Path) -> dict[str, Any]:
    """The project of a folder, live; made where the platform has none of its name. What is deployed is a copy, because
    ``lang deploy`` notes the project beside the program."""
    folder = platform.data / "programs" / program.name
    shutil.copytree(program, folder, dirs_exist_ok=True)
    name = tomllib.loads((folder / "lang.toml").read_text(encoding="utf-8"))["name"]

    def named() -> list[dict[str, Any]]:
        return [project for project in platform.get("/projects")["items"] if project["name"] == name]

    known = named()
    platform.lang("deploy", str(folder), *(["--project", str(known[0]["id"])] if known else []))
    return named()[0]


def show_first_request(url: str) -> None:
    """A page, which agents get as Markdown."""
    page, text = (httpx.get(url, headers={"Accept": kind}, timeout=60) for kind in ("text/html", "text/markdown"))
    if page.status_code != 200 or "<h1" not in page.text:
        raise Failure(f"GET {url}: {page.status_code} {page.text[:200]}")
    kind = page.headers["content-type"].partition(";")[0]
    heading = text.text.splitlines()[0]
    say(f"The first request: GET {url}", f"{page.status_code}, {kind}; the same page for an agent begins with {heading!r}")


def show_gate(platform: Platform, url: str) -> None:
    """A request that waits for a person, and the answer over the API."""
    with threads() as pool:
        asked = pool.submit(httpx.post, f"{url}refunds", json={"customer": "Ana", "amount": 40}, timeout=LONGEST)
        gate = platform.until("the gate waits", lambda: platform.get("/approvals")["items"])[0]
        platform.post(f"/approvals/{gate['id']}", {"decision": True})
        answer = asked.result()
    if answer.status_code != 201:
        raise Failure(f"the gate was approved, and the program answered {answer.status_code} {answer.text[:200]}")
    say(
        f"A gate: POST {url}refunds waits for a person",
        f'"{gate["message"]}"  approved with POST /api/v1/approvals/{gate["id"]}',
        f"The request goes on: {answer.status_code} {answer.text.strip()}",
    )


def show_refusal(platform: Platform, project: str, url: str) -> None:
    """What is outside the ceiling, refused by the interpreter and by the runner, each with its own record."""
    answer = checked(httpx.post(f"{url}leak", timeout=LONGEST))

    def refused() -> dict[str, str]:
        history = platform.client.get(f"/api/v1/projects/{project}/history").text.splitlines()
        events = [event for event in map(json.loads, history) if event.get("event") == "audit" and not event["granted"]]
        lines = {str(event["witness"]): f"{event['capability']} {event['scope']}" for event in events}
        return lines if {"program", "runner"} <= lines.keys() else {}

    lines = platform.until("both witnesses have recorded the refusal", refused)
    say(
        f"A refusal: POST {url}leak wants to send data away, which the ceiling does not hold",
        f"The program itself: {answer['program']}",
        f"A command it starts: {answer['command']}",
        f"Audit, witness program: refused {lines['program']}",
        f"Audit, witness runner:  refused {lines['runner']}",
    )


def show_run(platform: Platform, project: str) -> None:
    """A job: its schedule, and one run of now."""
    schedule = checked(platform.client.put(f"/api/v1/projects/{project}/schedule", json={"cron": SCHEDULE}))
    run = platform.post(f"/projects/{project}/run")["run"]["id"]

    def ended() -> dict[str, Any]:
        found = platform.get(f"/projects/{project}/runs/{run}")
        return found if found["finished_at"] else {}

    done = platform.until("the run has ended", ended)
    if done["exit_code"] != 0:
        raise Failure(f"the run ended with {done['status']}: {done['output']}")
    say(f"A job: {schedule['means']}; one run now ended with 0", *done["output"].strip().splitlines())


def cleared(platform: Platform, projects: list[str], *, erase: bool) -> None:
    """Takes the projects down, so that no program outlives this; all of them, with their data, where the folder goes too."""
    platform.break_off()
    if not platform.signed_in:
        return
    projects = [item["id"] for item in platform.get("/projects")["items"]] if erase else projects
    for project in projects:
        if erase:
            platform.client.delete(f"/api/v1/projects/{project}")
        else:
            platform.client.post(f"/api/v1/projects/{project}/stop", json={})

    def down() -> bool:
        left = {item["id"]: item["status"] for item in platform.get("/projects")["items"]}
        return not any(project in left if erase else left.get(project) == "stopping" for project in projects)

    platform.until("the projects are down", down)


@contextmanager
def threads() -> Iterator[ThreadPoolExecutor]:
    """Threads that nobody waits for: when this is told to stop, what they wait for ends with the platform."""
    pool = ThreadPoolExecutor(2)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def folder_for(named: str | None) -> Iterator[Path]:
    """The folder of the platform. One that was not named is removed at the end."""
    if named:
        folder = Path(named).expanduser().resolve()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        yield folder
        return
    folder = Path(tempfile.mkdtemp(prefix="lang-run-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            print(f"{folder} could not be removed: delete it yourself.", file=sys.stderr)


def shown(platform: Platform, projects: list[str]) -> None:
    """Everything there is to see, step by step. The ids of the projects are added to the list."""
    print("Starting the platform ...", *platform.moved, sep="\n", flush=True)
    platform.start()
    name, _, enforced = platform.engine().partition("; ")
    say(f"It runs at {platform.url}/, programs in {name.replace('process ', '')}", enforced)
    with threads() as pool:
        both = [pool.submit(deployed, platform, WEB), pool.submit(deployed, platform, JOB)]
        web, job = (each.result() for each in both)
    projects += [web["id"], job["id"]]
    url = str(web["url"])
    say("Two projects are deployed", f"{web['name']} (web), at {url}", f"{job['name']} (job)")
    show_first_request(url)
    show_gate(platform, url)
    show_refusal(platform, web["id"], url)
    show_run(platform, job["id"])
    link = platform.lang("platform", "sign-in-link", EMAIL, "--data", str(platform.data), "--base-url", platform.url)
    say(
        "To look around",
        f"The project:   {url}",
        f"The dashboard: {platform.url}/",
        f"Signs in once, within 15 minutes: {link}",
    )


def interrupted(*_: object) -> NoReturn:
    """The handler of signals. A second one does not break off the clearing."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    raise Stopped


def main() -> int:
    """Runs it all and gives the exit code."""
    parser = argparse.ArgumentParser(description="Starts a platform, deploys two programs and shows what stands there.")
    parser.add_argument("--data", default=os.environ.get("DATA"), help="folder that is kept (default: a temporary one)")
    parser.add_argument("--engine", default="auto", choices=["auto", "docker", "process"], help="what programs run in")
    parser.add_argument("--port", type=int, default=8787, help="port of the service, or the next that is free")
    parser.add_argument("--apps-port", type=int, default=8800, help="port of the first web project, or the next that is free")
    arguments = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    code, projects = 0, list[str]()
    with folder_for(arguments.data) as data:
        platform = Platform(data, arguments.engine, (arguments.port, arguments.apps_port))
        try:
            shown(platform, projects)
            if sys.stdin.isatty() and sys.stdout.isatty():
                print("\nCtrl-C ends it.", flush=True)
                while True:
                    signal.pause()
        except Stopped:
            print("\nStopping ...", flush=True)
        except (Failure, httpx.HTTPError, subprocess.TimeoutExpired) as failure:
            print(f"\nmake run: {failure}", file=sys.stderr, flush=True)
            code = 1
        finally:
            with suppress(Stopped, Failure, httpx.HTTPError):
                cleared(platform, projects, erase=not arguments.data)
            with suppress(Stopped):
                platform.stop()
        if arguments.data:
            print(f"The platform's data stays in {data}.")
    return code


if __name__ == "__main__":
    sys.exit(main())
