"""Where ``lang serve`` listens: this machine alone unless somebody says so, by which names it answers there, Unix sockets."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from language.native.server.listening import bind
from tests.serve.served import Served, header

PROGRAM = """
require serve({port})
serve on {port}
{clauses}
    route "GET /"
        give request.ip
print("top level done")
"""


class Command:
    """A running ``lang serve`` of the program above."""

    def __init__(self, folder: Path, environment: dict[str, str], *words: str, clauses: str = "", **variables: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.port = int(taken.getsockname()[1])
        source = PROGRAM.format(port=self.port, clauses="".join(f"    {clause}\n" for clause in clauses.splitlines()))
        (folder / "app.lang").write_text(source, encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "language", "serve", "app.lang", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**environment, **variables},
        )
        self.lines: list[str] = []
        assert self.process.stdout is not None
        while "top level done" not in self.lines:
            line = self.process.stdout.readline()
            if not line:
                break
            self.lines.append(line.rstrip("\n"))

    def answers(self, address: str) -> bool:
        try:
            with socket.create_connection((address, self.port), 10):
                return True
        except OSError:
            return False

    def ends(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


Start = Callable[..., Command]


@pytest.fixture
def start(tmp_path: Path, environment: dict[str, str]) -> Iterator[Start]:
    started: list[Command] = []

    def begin(*words: str, **options: str) -> Command:
        started.append(Command(tmp_path, environment, *words, **options))
        return started[-1]

    yield begin
    for command in started:
        if command.process.poll() is None:
            command.process.kill()
        command.process.communicate()


def test_it_listens_for_this_machine_alone(start: Start) -> None:
    command = start()
    assert command.lines == [
        f"Serving HTTP on port {command.port} (1 route(s))",
        f"http://127.0.0.1:{command.port}/",
        "top level done",
    ]
    assert command.answers("127.0.0.1") and not command.answers("127.0.0.2")


@pytest.mark.parametrize(
    ("words", "clauses", "variable", "reached"),
    [
        (["--bind", "0.0.0.0"], "", "", "127.0.0.1"),
        ([], "", "0.0.0.0", "127.0.0.1"),
        ([], 'bind "0.0.0.0"', "", "127.0.0.1"),
        ([], 'bind "127.0.0.3"', "127.0.0.2", "127.0.0.2"),
        (["--bind", "127.0.0.4"], 'bind "127.0.0.3"', "127.0.0.2", "127.0.0.4"),
    ],
)
def test_somebody_says_where(start: Start, words: list[str], clauses: str, variable: str, reached: str) -> None:
    command = start(*words, clauses=clauses, **({"PLATFORM_BIND": variable} if variable else {}))
    assert command.lines[1] == f"http://{reached}:{command.port}/"
    everywhere = "0.0.0.0" in (*words, variable, clauses[6:-1])
    assert command.answers(reached) and command.answers("127.0.0.77") is everywhere


def test_the_env_file_of_a_program_says_nothing_of_where(start: Start, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PLATFORM_BIND=0.0.0.0\n", encoding="utf-8")
    assert not start().answers("127.0.0.2")


class TestNames:
    """A page of another site can have its own name lead to 127.0.0.1: then it is of one origin with the service."""

    SOURCE = """
require serve(8080)
serve on 8080
    {clause}
    static "."
    route "GET /"
        give "secret"
    route "POST /act"
        give "done"
    route "GET /socket"
        socket
            ws_send(socket, "secret")
    host "api.example.com"
        route "GET /"
            give "api"
    host "*.example.net"
        route "GET /"
            give "net"
"""

    def _served(self, clause: str = "max_streams 10", *, local: bool = True) -> Served:
        public = {"PLATFORM_HUMAN_PUBLIC_URL": "https://Gates.example.org/base"}
        return Served(self.SOURCE.replace("{clause}", clause), local=local, settings=public)

    @pytest.mark.parametrize(
        "name", ["evil.example", "evil.example:8080", "localhost.evil.example", "api.example.com.evil", "x"]
    )
    @pytest.mark.parametrize(
        ("method", "target"),
        [("GET", "/"), ("POST", "/act"), ("GET", "/approvals"), ("GET", "/llms.txt"), ("GET", "/file.txt"), ("OPTIONS", "/")],
    )
    def test_a_foreign_name_is_answered_nothing(self, method: str, target: str, name: str) -> None:
        origin = "http://" + name
        reply = self._served()(method, target, host=name, origin=origin, sec_fetch_site="same-origin")
        assert reply.status == 421 and b"this machine alone" in reply.body
        assert not header(reply, "Access-Control-Allow-Origin")

    def test_a_foreign_name_gets_no_socket(self) -> None:
        reply = self._served()("GET", "/socket", host="evil.example", origin="http://evil.example", upgrade="websocket")
        assert reply.status == 421

    @pytest.mark.parametrize(
        "name",
        ["localhost", "LOCALHOST:8080", "localhost.", "app.localhost:8080", "127.0.0.1:8080", "[::1]:8080", "192.168.1.5:8080",
         "api.example.com", "API.example.com:443", "a.example.net", "example.net", "www.example.com", "gates.example.org"],
    )  # fmt: skip
    def test_names_of_this_machine_and_those_it_declares_are_answered(self, name: str) -> None:
        assert self._served('domain "www.example.com"')("GET", "/", host=name).status == 200

    def test_a_request_without_host_is_of_no_browser(self) -> None:
        assert self._served()("GET", "/").status == 200

    def test_who_lets_other_machines_reach_it_takes_every_name(self) -> None:
        assert self._served('bind "0.0.0.0"')("GET", "/", host="evil.example").status == 200
        assert self._served(local=False)("GET", "/", host="evil.example").status == 200

    @pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.9", "localhost", "::1"])
    def test_an_address_of_this_machine_alone_is_no_reason_to_take_a_foreign_name(self, address: str) -> None:
        assert self._served(f'bind "{address}"')("GET", "/", host="evil.example").status == 421

    @pytest.mark.parametrize(
        ("words", "clauses", "settings"),
        [
            (["--bind", "127.0.0.1"], "", {}),
            (["--bind", "localhost"], "", {}),
            (["--bind", "127.1"], "", {}),
            ([], 'bind "127.0.0.1"', {}),
            ([], "", {"PLATFORM_BIND": "127.0.0.1"}),
            (["--bind", "127.0.0.1"], 'bind "0.0.0.0"', {"PLATFORM_BIND": "0.0.0.0"}),
            (["--bind", "127.0.0.1"], "", {"PLATFORM_SERVE_HOSTS": "good.example, *.fine.example"}),
        ],
    )
    def test_the_command_refuses_them_whoever_gives_the_address(
        self, start: Start, words: list[str], clauses: str, settings: dict[str, str]
    ) -> None:
        command = start(*words, clauses=clauses, **settings)
        url = f"http://127.0.0.1:{command.port}/"
        for name in ("evil.example", "rebound.example:8080"):
            assert httpx.get(url, headers={"Host": name}).status_code == 421
        assert httpx.get(url).status_code == 200

    def test_names_of_the_operator_are_answered(self, start: Start) -> None:
        command = start("--bind", "127.0.0.1", PLATFORM_SERVE_HOSTS="good.example, *.fine.example")
        url = f"http://127.0.0.1:{command.port}/"
        for name, status in (("good.example", 200), ("a.fine.example", 200), ("evil.example", 421)):
            assert httpx.get(url, headers={"Host": name}).status_code == status
        command.ends()
        command = start("--bind", "127.0.0.1", PLATFORM_SERVE_HOSTS="*")
        assert httpx.get(f"http://127.0.0.1:{command.port}/", headers={"Host": "evil.example"}).status_code == 200

    def test_names_in_the_env_file_of_a_program_do_not_count(self, start: Start, tmp_path: Path) -> None:
        (tmp_path / ".env").write_text("PLATFORM_SERVE_HOSTS=*\n", encoding="utf-8")
        command = start("--bind", "127.0.0.1")
        assert httpx.get(f"http://127.0.0.1:{command.port}/", headers={"Host": "evil.example"}).status_code == 421

    def test_the_command(self, start: Start) -> None:
        command = start()
        url = f"http://127.0.0.1:{command.port}/"
        refused = httpx.get(url, headers={"Host": "evil.example"})
        assert refused.status_code == 421 and "--bind" in refused.json()["error"]
        assert httpx.get(url).status_code == 200


class TestUnixSocket:
    def _get(self, path: Path, **headers: str) -> httpx.Response:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(path))) as client:
            return client.get("http://app.example/", headers=fields)

    @pytest.mark.parametrize("workers", ["1", "2"])
    def test_it_listens_there_and_leaves_nothing(self, start: Start, tmp_path: Path, workers: str) -> None:
        path = tmp_path / "app.sock"
        command = start("--bind", f"unix:{path}", "--workers", workers)
        assert command.lines == [f"Serving HTTP on unix:{path} (1 route(s))", "top level done"]
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert not command.answers("127.0.0.1")
        until = time.monotonic() + 60
        while True:
            try:
                got = self._get(path, X_Forwarded_For="203.0.113.7")
                break
            except httpx.TransportError:  # the workers are still to come
                assert time.monotonic() < until
        assert (got.status_code, got.json()) == (200, "unix:")
        assert command.ends() == 0
        assert not path.exists()

    def test_a_proxy_before_it_speaks_for_its_clients_where_it_is_trusted(self, start: Start, tmp_path: Path) -> None:
        path = tmp_path / "app.sock"
        start("--bind", f"unix:{path}", "--trust-proxy", "unix:")
        assert self._get(path, X_Forwarded_For="203.0.113.7").json() == "203.0.113.7"

    def test_the_socket_of_a_process_that_was_killed_is_replaced(self, start: Start, tmp_path: Path) -> None:
        path = tmp_path / "app.sock"
        first = start("--bind", f"unix:{path}")
        first.process.kill()
        first.process.wait(60)
        assert path.exists()
        start("--bind", f"unix:{path}")
        assert self._get(path).status_code == 200

    def test_that_of_a_process_that_lives_is_not(self, start: Start, tmp_path: Path) -> None:
        path = tmp_path / "app.sock"
        start("--bind", f"unix:{path}")
        second = start("--bind", f"unix:{path}")
        assert second.process.wait(60) == 1
        assert second.process.stderr is not None
        assert f"could not start server on unix:{path}: Address already in use" in second.process.stderr.read()
        assert self._get(path).status_code == 200

    def test_no_other_file_is_removed(self, tmp_path: Path) -> None:
        path = tmp_path / "data"
        path.write_text("kept", encoding="utf-8")
        link = tmp_path / "link"
        link.symlink_to(path)
        for name in (path, link):
            with pytest.raises(OSError, match="no socket"):
                bind(f"unix:{name}", 0)
        assert path.read_text(encoding="utf-8") == "kept"
        with pytest.raises(OSError, match="No such file"):
            bind(f"unix:{tmp_path}/none/app.sock", 0)

    def test_a_socket_that_another_took_the_place_of_stays(self, tmp_path: Path) -> None:
        path = tmp_path / "app.sock"
        first = bind(f"unix:{path}", 0)
        first.close()
        second = bind(f"unix:{path}", 0)
        first.remove()
        assert path.exists()
        second.close()
        second.remove()
        assert not path.exists() and os.listdir(tmp_path) == []

    def test_a_name_that_is_too_long_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(OSError, match="too long"):
            bind(f"unix:{tmp_path}/{'x' * 200}", 0)
