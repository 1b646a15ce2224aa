"""Database servers of this machine, started for the tests in a temporary folder on a free port of 127.0.0.1.

A server that is not installed skips its tests by name; where ``CI`` is ``true`` it fails them. On Debian:
``apt-get install -y postgresql mariadb-server redis-server``.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

START_SECONDS = 60
#: Names a folder that all processes of one run of the tests share.
SHARED = "LANG_TESTS_SHARED"


def missing(what: str, package: str) -> None:
    """Skips with the reason, or fails in continuous integration."""
    import pytest  # the benchmarks start servers too, and have none

    message = f"{what} is not installed (Debian: apt-get install -y {package})"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def account(name: str) -> dict[str, Any]:
    """How to start a process as that account; nothing special where this is not the superuser, whom servers refuse."""
    if os.geteuid() != 0:
        return {}
    return {"user": name, "group": name, "extra_groups": []}


@contextmanager
def folder_for(name: str) -> Iterator[Path]:
    """A short-lived folder that belongs to the account which runs the server.

    Not one of pytest's: those lie below a folder that it closes to others.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"lang-{name}-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, name, name)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def quiet(words: list[str], **options: Any) -> None:
    done = subprocess.run(words, capture_output=True, text=True, timeout=START_SECONDS, check=False, **options)
    assert done.returncode == 0, f"{words[0]}: {done.stdout}{done.stderr}"


def started(words: list[str], log: Path, ready: Callable[[], bool], **options: Any) -> Iterator[None]:
    """Runs a server until the tests are over, also where their process is ended without a chance to end it."""
    words = [*(["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []), *words]
    with log.open("wb") as output:
        server = subprocess.Popen(words, stdout=output, stderr=output, stdin=subprocess.DEVNULL, **options)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not ready():
            assert server.poll() is None and time.monotonic() < deadline, log.read_text(errors="replace")
            time.sleep(0.1)
        yield
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def certificate(folder: Path, owner: str) -> tuple[Path, Path]:
    """A certificate for ``localhost`` and its key, readable by the server alone."""
    import trustme

    issued = trustme.CA().issue_cert("localhost", "127.0.0.1")
    cert, key = folder / "server.crt", folder / "server.key"
    issued.cert_chain_pems[0].write_to_path(cert)
    issued.private_key_pem.write_to_path(key)
    key.chmod(0o600)
    if os.geteuid() == 0:
        for path in (cert, key):
            shutil.chown(path, owner, owner)
    return cert, key


def postgres() -> Iterator[str]:
    """``127.0.0.1:<port>`` of a PostgreSQL with TLS: user ``lang`` with the password ``p@ss word``, database ``app``."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parent.parent.name))
    command = str(found[-1]) if found else shutil.which("initdb")
    if command is None:
        missing("PostgreSQL", "postgresql")
        return
    binaries = Path(command).parent
    with folder_for("postgres") as folder:
        data, port = folder / "data", free_port()
        as_user = account("postgres")
        password = folder / "password"
        password.write_text("p@ss word", encoding="utf-8")
        password.chmod(0o644)
        words = [
            command,
            "-D",
            str(data),
            "-U",
            "lang",
            "--auth=scram-sha-256",
            f"--pwfile={password}",
            "-E",
            "UTF8",
            "--no-sync",
        ]
        quiet(words, cwd=folder, **as_user)
        certificate(data, "postgres")
        settings = [
            "-c",
            "ssl=on",
            "-c",
            "fsync=off",
            "-c",
            f"unix_socket_directories={folder}",
            "-c",
            "listen_addresses=127.0.0.1",
        ]

        def ready() -> bool:
            return (
                subprocess.run([binaries / "pg_isready", "-h", "127.0.0.1", "-p", str(port)], capture_output=True).returncode
                == 0
            )

        server = [str(binaries / "postgres"), "-D", str(data), "-p", str(port), *settings]
        for _ in started(server, folder / "postgres.log", ready, cwd=folder, **as_user):
            environment = {**os.environ, "PGPASSWORD": "p@ss word"}
            quiet([str(binaries / "createdb"), "-h", "127.0.0.1", "-p", str(port), "-U", "lang", "app"], env=environment)
            yield f"127.0.0.1:{port}"


def mysql() -> Iterator[str]:
    """``127.0.0.1:<port>`` of a MariaDB with TLS: user ``lang`` with the password ``p@ss word``, database ``app``."""
    server, install = shutil.which("mariadbd", path="/usr/sbin:/usr/bin"), shutil.which("mariadb-install-db")
    if server is None or install is None:
        missing("MariaDB", "mariadb-server")
        return
    with folder_for("mysql") as folder:
        data, port, socket_path = folder / "data", free_port(), folder / "s"
        as_user = account("mysql")
        quiet(
            [install, "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal"], cwd=folder, **as_user
        )
        cert, key = certificate(folder, "mysql")
        words = [
            server,
            "--no-defaults",
            f"--datadir={data}",
            f"--socket={socket_path}",
            f"--port={port}",
            "--bind-address=127.0.0.1",
        ]
        words += [f"--ssl-cert={cert}", f"--ssl-key={key}", f"--pid-file={folder / 'pid'}", f"--secure-file-priv={folder}"]
        # Newer clients check the certificate over the socket too; this one is of nobody.
        client = ["mariadb", "--no-defaults", f"--socket={socket_path}", "-u", "root", "--skip-ssl"]

        def ready() -> bool:
            return subprocess.run([*client, "-e", "SELECT 1"], capture_output=True).returncode == 0

        for _ in started(words, folder / "mysql.log", ready, cwd=folder, **as_user):
            who = "lang@localhost"  # a pattern would stand behind the nameless account of that host
            setup = f"CREATE DATABASE app; CREATE USER {who} IDENTIFIED BY 'p@ss word'; GRANT ALL ON *.* TO {who}"
            quiet([*client, "-e", setup])
            yield f"127.0.0.1:{port}"


def redis() -> Iterator[str]:
    """``127.0.0.1:<port>`` of a Redis with the password ``p@ss word``."""
    server = shutil.which("redis-server")
    if server is None:
        missing("Redis", "redis-server")
        return
    with folder_for("redis") as folder:
        port = free_port()

        def ready() -> bool:
            try:
                with socket.create_connection(("127.0.0.1", port), 1):
                    return True
            except OSError:
                return False

        words = [
            server,
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--requirepass",
            "p@ss word",
            "--dir",
            str(folder),
        ]
        for _ in started(words, folder / "log", ready, cwd=folder, **account("redis")):
            yield f"127.0.0.1:{port}"


@contextmanager
def memory_folder(prefix: str) -> Iterator[Path]:
    """A folder in memory: the ten thousand files of an image are made in it, and gone, in a moment. Needs the superuser."""
    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        quiet(["mount", "-t", "tmpfs", "-o", "mode=0755", "lang-tests", name])
        try:
            yield Path(name)
        finally:
            quiet(["umount", "--lazy", name])


class NotHere(Exception):
    """What would be started is not installed.

    Args:
        what: for a sentence.
        package: where Debian has it.
    """

    def __init__(self, what: str, package: str) -> None:
        super().__init__(f"{what} is not installed (Debian: apt-get install -y {package})")
        self.what, self.package = what, package


@contextmanager
def docker_daemon() -> Iterator[str]:
    """``DOCKER_HOST`` of a Docker daemon that has an image with this Python (``runner/image/base``). It knows no network.

    Errors: ``NotHere``.
    """
    server = shutil.which("dockerd", path="/usr/sbin:/usr/bin:/usr/local/bin")
    if server is None or shutil.which("docker") is None:
        raise NotHere("Docker", "docker.io")
    if os.geteuid() != 0:
        raise NotHere("Docker, started by the superuser,", "docker.io")
    with memory_folder("lang-docker-") as folder:
        host = f"unix://{folder}/docker.sock"
        environ = {**os.environ, "DOCKER_HOST": host}
        parts = {"--data-root": "data", "--exec-root": "exec", "--pidfile": "pid"}
        words = [server, *(f"{option}={folder / part}" for option, part in parts.items()), f"--host={host}"]
        words += ["--bridge=none", "--iptables=false", "--ip-forward=false", "--ip-masq=false"]

        def ready() -> bool:
            return subprocess.run(["docker", "info"], env=environ, capture_output=True).returncode == 0

        for _ in started(words, folder / "log", ready):
            version = f"{sys.version_info.major}.{sys.version_info.minor}"
            base = Path(__file__).resolve().parent.parent / "runner" / "image" / "base"
            made = subprocess.run([base, version], env=environ, capture_output=True, text=True, timeout=900, check=False)
            if made.returncode:
                raise NotHere(f"an image with Python {version} ({made.stderr.strip()})", "debootstrap")
            share_image(host)
            yield host


def share_image(host: str) -> None:
    """Gives a new daemon the image of the runtime which the first daemon of this run of the tests has built: compiling it takes
    the processors for ten seconds, reading it one."""
    if SHARED not in os.environ:
        return
    import fcntl  # a system with Docker has it

    from runner.engines.image import ensure_image, image_name  # the other servers need nothing of the runner

    folder = Path(os.environ[SHARED])
    archive, environ = folder / "runtime.tar", {**os.environ, "DOCKER_HOST": host}
    with (folder / "runtime.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if archive.exists():
            quiet(["docker", "load", "--quiet", "--input", str(archive)], env=environ)
        else:
            ensure_image(host)
            made = folder / "runtime.new"
            quiet(["docker", "save", "--output", str(made), image_name()], env=environ)
            made.rename(archive)


def docker() -> Iterator[str]:
    """``DOCKER_HOST`` of a Docker daemon, for tests."""
    try:
        with docker_daemon() as host:
            yield host
    except NotHere as absent:
        missing(absent.what, absent.package)
