"""nginx and Caddy in front of a whole platform, with the configuration that ``lang platform ingress-config`` prints."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme
from deploying import API, detail, until
from runner_process import ROOT, RunnerProcess
from whole_platform import EMAIL, PASSWORD, SECONDS, Platform, whole_platform
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, Request, TextMessage

from language.native.tls_socket import TlsSocket
from tests import servers

PANEL, DOMAIN = "panel.test", "apps.example"
PROXIES = ("nginx", "caddy")
#: Where the client of these tests comes from, and whom it says that it is.
CLIENT, FORGED = "127.9.9.9", "203.0.113.7"
PROGRAM = """require serve(8080)
serve on 8080
    max_body "8mb"
    route "GET /"
        give ok({"ip": request.ip, "headers": request.headers})
    route "POST /length"
        give ok(length(read_body()))
    route "GET /ticks/:key"
        stream
            send {"n": 0}
            while state_get(params.key) == nothing
                sleep(0.02)
            send {"n": 1}
    route "POST /ticks/:key"
        state_set(params.key, true)
        give ok("going")
    route "GET /echo"
        socket
            while true
                let got be ws_recv(socket, 60)
                when got == nothing or got.type == "close"
                    give nothing
                ws_send(socket, got.data)
"""


def free(host: str) -> str:
    with socket.create_server((host, 0)) as listening:
        return f"{host}:{listening.getsockname()[1]}"


class Stage:
    """A platform that has names, the program ``host`` on it, and a second runner that has nothing."""

    def __init__(self, platform: Platform, ingress: str, empty: str, authority: trustme.CA) -> None:
        self.platform, self.ingress, self.empty, self.authority = platform, ingress, empty, authority
        self.project, self.url = platform.up("Behind", source=PROGRAM)
        self.host = httpx.URL(self.url).host
        self.folder = platform.folder
        authority.cert_pem.write_to_path(str(self.folder / "ca.pem"))
        self.files: list[str] = []
        for option, name in (("--certificate", PANEL), ("--apps-certificate", f"*.{DOMAIN}")):
            issued = authority.issue_cert(name)
            pair = [str(self.folder / f"{name}.{kind}").replace("*", "all") for kind in ("crt", "key")]
            issued.cert_chain_pems[0].write_to_path(pair[0])
            issued.private_key_pem.write_to_path(pair[1])
            self.files += [option, *pair]


def superuser() -> None:
    """Only the superuser may listen at 80 and 443. nginx tries that when it checks its configuration too."""
    if os.geteuid() != 0:
        servers.missing("A proxy at the ports 80 and 443, started by the superuser,", "nginx caddy")


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    superuser()
    settings = {
        "PLATFORM_BASE_URL": f"https://{PANEL}",
        "PLATFORM_APPS_DOMAIN": DOMAIN,
        "PLATFORM_TRUSTED_PROXIES": "127.0.0.1",
        "PLATFORM_INGRESS": free("127.0.0.1"),
    }
    with whole_platform(**settings) as platform:
        stage = Stage(platform, settings["PLATFORM_INGRESS"], free("127.0.0.1"), trustme.CA())
        token = platform.lang("platform", "runner-token", "empty", "--data", str(platform.folder / "d")).stdout.strip()
        (platform.folder / "e").mkdir(mode=0o700)
        surroundings = {**settings, "PLATFORM_INGRESS": stage.empty}
        runner = RunnerProcess(platform.url, token, "empty", platform.folder / "e", surroundings)
        try:
            until(lambda: "are reached through" in runner.said, SECONDS)
            yield stage
        finally:
            runner.stop()


class Front:
    """A proxy that runs, and a client of it."""

    def __init__(self, stage: Stage, name: str) -> None:
        self.stage, self.name = stage, name
        self.address = f"127.{random.randint(1, 254)}.{random.randint(0, 255)}.{random.randint(1, 254)}"
        self.tls = ssl.create_default_context()
        # Of two connections of this client one is reset here: the other one must not be told.
        self.tls.sslsocket_class = TlsSocket
        stage.authority.configure_trust(self.tls)
        transport = httpx.HTTPTransport(verify=self.tls, local_address=CLIENT)
        self.client = httpx.Client(transport=transport, timeout=SECONDS, headers={"X-Forwarded-For": FORGED})

    def ask(self, host: str, path: str, method: str = "GET", **options: Any) -> httpx.Response:
        headers = {"Host": host, **options.pop("headers", {})}
        names = {"sni_hostname": host}
        return self.client.request(method, f"https://{self.address}{path}", headers=headers, extensions=names, **options)

    def configuration(self) -> str:
        words = ["--service", self.stage.platform.url.removeprefix("http://"), "--listen", self.address, *self.stage.files]
        # Only nginx takes several runners. The one that has nothing is asked first.
        words += ["--ingress", self.stage.empty] if self.name == "nginx" else []
        words += ["--ingress", self.stage.ingress]
        printed = ingress_config(self.name, *words)
        assert printed.returncode == 0, printed.stderr
        return printed.stdout


def ingress_config(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "language", "platform", "ingress-config", *words]
    given = {"PLATFORM_BASE_URL": f"https://{PANEL}", "PLATFORM_APPS_DOMAIN": DOMAIN, **variables}
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONPATH": str(ROOT), **given}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=SECONDS)


def binary(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        servers.missing(name, name)
    assert found is not None
    return found


def checked(words: list[str], environment: dict[str, str]) -> None:
    """Has the proxy check its configuration."""
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    # How HTTP/2 is written changed with nginx 1.25: the older way is the one that both take, and newer ones say so.
    assert [line for line in done.stderr.splitlines() if "[warn]" in line and "http2" not in line] == []


def commands(name: str, folder: Path, configuration: str) -> tuple[list[str], list[str]]:
    """The commands that check the configuration and that run the proxy."""
    program = binary(name)
    if name == "caddy":
        (folder / "Caddyfile").write_text(configuration)
        words = ["--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
        return [program, "validate", *words], [program, "run", *words]
    (folder / "platform.conf").write_text(configuration)
    places = "".join(f"{part}_temp_path {folder / part};\n" for part in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    whole = f"user root;\ndaemon off;\npid {folder / 'pid'};\nerror_log stderr;\nevents {{}}\n"
    whole += f"http {{\naccess_log off;\n{places}include {folder / 'platform.conf'};\n}}\n"
    (folder / "nginx.conf").write_text(whole)
    words = [program, "-c", str(folder / "nginx.conf"), "-e", "stderr"]
    return [*words, "-t"], words


@pytest.fixture(scope="module", params=PROXIES)
def front(stage: Stage, request: pytest.FixtureRequest) -> Iterator[Front]:
    front = Front(stage, request.param)
    folder = stage.folder / front.name
    folder.mkdir()
    check, run = commands(front.name, folder, front.configuration())
    home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    environment = {"PATH": os.environ["PATH"], **home, "CADDY_ADMIN": f"unix/{folder}/admin"}
    checked(check, environment)
    with open(folder / "said", "wb") as said, subprocess.Popen(run, env=environment, stdout=said, stderr=said) as process:
        try:

            def listens() -> bool:
                assert process.poll() is None, (folder / "said").read_text()
                with socket.socket() as trial:
                    return trial.connect_ex((front.address, 443)) == 0

            until(listens, SECONDS)
            yield front
        finally:
            front.client.close()
            process.terminate()


def test_a_program_answers_and_sees_who_asked(front: Front) -> None:
    seen = front.ask(front.stage.host, "/").json()
    assert seen["ip"] == CLIENT
    assert seen["headers"]["x-forwarded-proto"] == "https" and seen["headers"]["x-forwarded-host"] == front.stage.host
    assert FORGED not in json.dumps(seen)
    assert front.ask(f"nobody.{DOMAIN}", "/").status_code == 421
    plain = httpx.get(f"http://{front.address}/a?b=c", headers={"Host": front.stage.host}, follow_redirects=False)
    assert plain.status_code == 308 and plain.headers["Location"] == f"https://{front.stage.host}/a?b=c"


def test_bodies_events_and_web_sockets_come_through(front: Front) -> None:
    host = front.stage.host
    assert front.ask(host, "/length", "POST", content=b"x" * 3_000_000).json() == 3_000_000
    headers = {"Host": host, "Accept": "text/event-stream"}
    place, names = f"https://{front.address}/ticks/{front.name}", {"sni_hostname": host}
    with front.client.stream("GET", place, headers=headers, extensions=names) as events:
        lines = events.iter_lines()
        assert next(lines) == 'data: {"n": 0}', "the first event is here before the second one is sent"
        assert front.ask(host, f"/ticks/{front.name}", "POST").status_code == 200
        assert 'data: {"n": 1}' in list(lines)
    protocol = WSConnection(ConnectionType.CLIENT)
    with (
        socket.create_connection((front.address, 443), timeout=SECONDS) as connection,
        front.tls.wrap_socket(connection, server_hostname=host) as client,
    ):
        client.sendall(protocol.send(Request(host=host, target="/echo")))
        heard: list[object] = []
        while not any(isinstance(event, AcceptConnection) for event in heard):
            protocol.receive_data(client.recv(65536))
            heard += protocol.events()
        client.sendall(protocol.send(TextMessage("through")))
        while not any(isinstance(event, TextMessage) and event.data == "through" for event in heard):
            protocol.receive_data(client.recv(65536))
            heard += protocol.events()


def test_the_dashboard_is_reached_and_what_is_for_this_machine_is_not(front: Front) -> None:
    page = front.ask(PANEL, "/sign-in", headers={"Accept": "text/html"})
    assert page.status_code == 200 and page.headers["Strict-Transport-Security"]
    signed_in = front.ask(
        PANEL, "/sign-in", "POST", data={"email": EMAIL, "password": PASSWORD}, headers={"Origin": f"https://{PANEL}"}
    )
    assert signed_in.status_code in (200, 303) and "__Host-platform-session" in signed_in.headers["Set-Cookie"]
    for path in ("/metrics", f"/ingress/ask?domain={front.stage.host}"):
        assert front.ask(PANEL, path).status_code == 404
        assert front.stage.platform.client.get(path, headers={"Host": "127.0.0.1"}).status_code == 200
    for path in ("/metrics/", "/metrics%2F", "//metrics", f"/ingress/ask/?domain={front.stage.host}"):
        assert front.ask(PANEL, path).status_code == 404, "nor is it under another spelling"
    # An answer before the whole body has come ends the connection, at once or a moment later: no other request goes over it.
    too_large = {"content": b"x" * 33_600_000, "headers": {"Connection": "close"}}
    big = front.ask(PANEL, f"{API}/projects", "POST", **too_large)
    assert (big.status_code, big.json()["code"]) == (413, "payload_too_large"), "the service says so, and not the proxy"
    asked = front.ask(PANEL, f"{API}/auth/device", "POST", json={"name": "a machine"}).json()
    shown = front.ask(PANEL, f"/device?code={asked['user_code']}", headers={"Accept": "text/html"})
    assert f'value="{asked["user_code"]}"' in shown.text, "it is filled in where the address is known, and that of the device"


def test_a_certificate_is_for_hosts_of_web_projects_alone(stage: Stage) -> None:
    client = stage.platform.client
    job = stage.platform.made("A job", kind="job", source="print(1)\n")
    hosts = [stage.host.upper(), f"nobody.{DOMAIN}", DOMAIN, PANEL, f"a.{stage.host}", "", "*", f"*.{DOMAIN}"]
    hosts.append(f"{detail(client, job)['project']['slug']}.{DOMAIN}")
    found = [client.get("/ingress/ask", params={"domain": host}).status_code for host in hosts]
    assert found == [200] + [404] * (len(hosts) - 1)


def test_what_a_proxy_needs_is_asked_for() -> None:
    missing = ingress_config("nginx", PLATFORM_APPS_DOMAIN="", PLATFORM_BASE_URL="http://127.0.0.1:8787")
    assert missing.returncode == 1 and missing.stdout == ""
    assert "set PLATFORM_BASE_URL=https://HOST" in missing.stderr and "PLATFORM_APPS_DOMAIN=DOMAIN" in missing.stderr
    several = ["--ingress", "10.0.0.1:8788", "--ingress", "10.0.0.2:8788"]
    assert "use nginx" in ingress_config("caddy", *several).stderr.lower()
    for words, named in (
        (["--service", "x"], "--service"),
        (["--ingress", "a;b:1"], "--ingress"),
        (["--listen", "all"], "--listen"),
        (["--certificate", "a;b", "c"], "--certificate"),
    ):
        refused = ingress_config("nginx", *words)
        assert refused.returncode == 1 and named in refused.stderr


@pytest.mark.parametrize("name", PROXIES)
def test_the_plain_configuration_is_one_that_the_proxy_takes(name: str, tmp_path: Path) -> None:
    """As an operator gets it: no address to listen on, the proxy's own places of certificates."""
    superuser()
    printed = ingress_config(name)
    assert printed.returncode == 0
    configuration = printed.stdout
    for setting in ("PLATFORM_TRUSTED_PROXIES=127.0.0.1", "PLATFORM_INGRESS=127.0.0.1:8788", f"PLATFORM_APPS_DOMAIN={DOMAIN}"):
        assert f"#   {setting}\n" in configuration
    if name == "nginx":  # it reads the files when it checks
        authority = trustme.CA()
        for host in (PANEL, DOMAIN):
            folder = tmp_path / host
            folder.mkdir()
            issued = authority.issue_cert(host)
            issued.cert_chain_pems[0].write_to_path(str(folder / "fullchain.pem"))
            issued.private_key_pem.write_to_path(str(folder / "privkey.pem"))
        assert configuration.count("/etc/letsencrypt/live/") == 4
        configuration = configuration.replace("/etc/letsencrypt/live", str(tmp_path))
    check, _ = commands(name, tmp_path, configuration)
    checked(check, {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)})
