"""A platform as an operator starts it, with ``lang platform up``, and the ways in that its users have."""

from __future__ import annotations

import http.client
import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from deploying import API, detail, ok, status, until
from runner_process import ROOT, short_folder

from language.lifeline import Lifeline
from tests import servers

PASSWORD = "correct horse battery"
EMAIL = "admin@localhost"
SECONDS = 120


class Listener(ThreadingHTTPServer):
    """A server on this machine: answers ``outside`` and keeps what is posted to it."""

    def __init__(self) -> None:
        self.posted: list[bytes] = []
        super().__init__(("127.0.0.1", 0), _Answers)
        self.port = int(self.server_address[1])
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Answers(BaseHTTPRequestHandler):
    server: Listener

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self.server.posted.append(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer()

    def _answer(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "7")
        self.end_headers()
        self.wfile.write(b"outside")

    def log_message(self, *_: object) -> None:
        pass


class Platform:
    """A platform that runs.

    Attributes:
        client: of the API, with a token of the administrator.
        browser: signed in to the dashboard.
        listener: what programs and webhooks may reach.
    """

    def __init__(self, folder: Path, url: str, listener: Listener, base_url: str | None = None) -> None:
        self.folder, self.url, self.listener = folder, url, listener
        host = {"Host": urlsplit(base_url or url).netloc}
        self.client = httpx.Client(base_url=url, timeout=SECONDS, headers=host)
        origin = {"Origin": base_url or url, "Accept": "text/html"}
        self.browser = httpx.Client(base_url=url, timeout=SECONDS, headers={**host, **origin})

    def begin(self) -> None:
        """Waits until it answers, and signs in."""
        until(self._answers, SECONDS)
        signed_in = ok(self.client.post(f"{API}/auth/login", json={"email": EMAIL, "password": PASSWORD}))
        self.token = str(signed_in["token"])
        self.client.headers["Authorization"] = f"Bearer {self.token}"
        assert self.browser.post("/sign-in", data={"email": EMAIL, "password": PASSWORD}).status_code in (200, 303)

    def _answers(self) -> bool:
        try:
            return self.client.get("/healthz").status_code == 200
        except httpx.TransportError:
            return False

    def close(self) -> None:
        self.client.close()
        self.browser.close()

    def lang(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """A command of the client."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        variables = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT)}
        variables |= {"PLATFORM_URL": self.url, "PLATFORM_TOKEN": self.token}
        command = [sys.executable, "-m", "language", *words]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, env=variables, cwd=home, timeout=SECONDS)

    def made(self, name: str, *, warm: bool = True, kind: str = "web", **content: Any) -> str:
        """Makes a project, which never sleeps if it is ``warm``."""
        body = {"name": name, **({} if "recipe" in content else {"kind": kind}), **content}
        project = str(ok(self.client.post(f"{API}/projects", json=body))["project"]["id"])
        if warm and kind == "web":
            ok(self.client.put(f"{API}/projects/{project}/sleep", json={"after_minutes": 0}))
        return project

    def deploy(self, project: str, **what: Any) -> Any:
        """Asks for a deploy, and gives it as it is when it has come to its end."""
        asked = ok(self.client.post(f"{API}/projects/{project}/deploys", json=what))["deploy"]["id"]

        def shown() -> Any:
            found = ok(self.client.get(f"{API}/projects/{project}/deploys/{asked}"))["deploy"]
            return found if found["status"] in ("live", "failed") else None

        return until(shown, SECONDS)

    def up(self, name: str, **content: Any) -> tuple[str, str]:
        """Makes a project and deploys it; its id and its URL."""
        project = self.made(name, **content)
        deployed = self.deploy(project)
        assert deployed["status"] == "live", deployed
        return project, str(detail(self.client, project)["project"]["url"])

    def becomes(self, project: str, wanted: str) -> None:
        """Waits for a status."""
        until(lambda: status(self.client, project) == wanted, SECONDS)

    def lines(self, project: str) -> list[str]:
        """Its log."""
        return [each["line"] for each in ok(self.client.get(f"{API}/projects/{project}/logs/tail"))["items"]]


@contextmanager
def whole_platform(**settings: str) -> Iterator[Platform]:
    """A platform whose programs have ports of an address that no other platform on this machine uses.

    Args:
        settings: more variables of its environment.
    """
    if shutil.which("bwrap") is None:
        servers.missing("bubblewrap", "bubblewrap")
    with short_folder() as folder, Listener() as listener:
        port = servers.free_port()
        host = f"127.{random.randint(1, 254)}.{random.randint(0, 255)}.{random.randint(1, 254)}"
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PLATFORM_")}
        variables |= {"HOME": str(folder), "PYTHONPATH": str(ROOT), "PLATFORM_APPS_HOST": host}
        variables |= {"PLATFORM_NOTICE_HOSTS": f"127.0.0.1:{listener.port}", **settings}
        command = [sys.executable, "-m", "language", "platform", "up", "--data", str(folder / "d"), "--port", str(port)]
        command += ["--engine", "process", "--admin-password-stdin"]
        lifeline = Lifeline()  # it ends with these tests, also where they are killed
        with open(folder / "said", "wb") as said:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=said,
                env=variables | lifeline.environment(),
                pass_fds=(lifeline.descriptor,),
            )
        platform = Platform(folder, f"http://127.0.0.1:{port}", listener, settings.get("PLATFORM_BASE_URL"))
        try:
            assert process.stdin is not None
            process.stdin.write(f"{PASSWORD}\n".encode())
            process.stdin.close()
            platform.begin()
            yield platform
        finally:
            platform.close()
            process.terminate()
            try:
                process.wait(SECONDS)
            finally:
                process.kill()  # its parts end with it
                process.wait()
                lifeline.close_write_end()
                os.close(lifeline.descriptor)
                listener.shutdown()


class Visitors:
    """Clients that keep their connections and ask on and on, each a ``GET`` and a ``POST`` in turn.

    Attributes:
        answers: what was answered, in order.
        posted: texts that were taken.
        failures: what went wrong.
    """

    def __init__(self, url: str, count: int) -> None:
        self._place = urlsplit(url)
        self._going = True
        self.answers: list[str] = []
        self.posted: list[str] = []
        self.failures: list[str] = []
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(count)]

    def __enter__(self) -> Visitors:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._going = False
        for thread in self._threads:
            thread.join()

    def see(self, version: str, count: int) -> None:
        """Waits until this version has answered so often."""
        until(lambda: self.failures or self.answers.count(version) >= count, SECONDS)

    def _ask(self, number: int) -> None:
        assert self._place.hostname is not None
        client = http.client.HTTPConnection(self._place.hostname, self._place.port, timeout=SECONDS)
        step = 0
        pause = threading.Event()
        while self._going and not self.failures:
            step += 1
            text = f"{number}-{step}"
            try:
                client.request("GET", "/")
                self._take(client.getresponse())
                client.request("POST", "/kept", text)
                self._take(client.getresponse())
                self.posted.append(text)
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(f"{text}: {error!r}")
            pause.wait(0.01)  # the programs share the processors with them
        client.close()

    def _take(self, answer: http.client.HTTPResponse) -> None:
        body = answer.read().decode()
        if answer.status == 200:
            self.answers.append(body.strip('"'))
        else:
            self.failures.append(f"{answer.status} {body[:300]}")
