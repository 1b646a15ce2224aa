"""``lang platform up`` and the accounts of the command line, as processes."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from language.lifeline import Lifeline
from platform_api.administration.playground import find_playground

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 120


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def environment(data: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(data.parent), "PYTHONPATH": str(ROOT)}


def platform(data: Path, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "language", "platform", *words, "--data", str(data)]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, env=environment(data), timeout=SECONDS)


@contextmanager
def up(data: Path, port: int, pass_fds: tuple[int, ...] = (), **more: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "language", "platform", "up", "--data", str(data), "--port", str(port)]
    surroundings = environment(data) | more
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=surroundings, pass_fds=pass_fds) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(SECONDS)


def service_of(data: Path) -> int:
    """The process id of the service, which is the one that has this folder on its command line beside ``serve``."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            words = (process / "cmdline").read_bytes().split(b"\0")
            if b"serve" in words and os.fsencode(data) in words:
                found.append(int(process.name))
    assert len(found) == 1, found
    return found[0]


def answers(port: int) -> bool:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            return httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=SECONDS).status_code == 200
        except httpx.TransportError:
            time.sleep(0.05)
    return False


def is_gone(pid: int) -> bool:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


def test_one_command_gives_a_dashboard_and_a_link_that_signs_in(tmp_path: Path) -> None:
    data, port, key = tmp_path / "data", free_port(), "the-master-key-that-an-operator-has-given"
    with up(data, port, PLATFORM_MASTER_KEY=key) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"The dashboard: http://127.0.0.1:{port}/\n"
        link = re.search(r"http\S+/sign-in/link/\S+", process.stdout.readline())
        assert link is not None
        assert answers(port)
        told = {part: key.encode() in Path(f"/proc/{part_of(data, part)}/environ").read_bytes() for part in ("serve", "runner")}
        assert told == {"serve": True, "runner": False}
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0
        assert link[0].rpartition("/")[2] not in process.stdout.read() + (process.stderr.read() if process.stderr else "")
    assert platform(data, "user", "list").stdout.split()[:2] == ["admin@localhost", "team"]
    for path in (data, *data.iterdir()):
        assert path.stat().st_mode & 0o077 == 0, f"{path} can be read by others"


def test_a_killed_supervisor_leaves_nothing_that_blocks_the_next(tmp_path: Path) -> None:
    data, port = tmp_path / "data", free_port()
    for _ in range(2):
        with up(data, port) as process:
            assert answers(port)
            service = service_of(data)
            process.kill()
            process.wait(SECONDS)
            assert is_gone(service), "the service ends with its supervisor"
    with up(data, port) as process:
        assert answers(port)


def test_a_platform_ends_with_a_process_that_has_started_it_with_a_lifeline(tmp_path: Path) -> None:
    data, port, lifeline = tmp_path / "data", free_port(), Lifeline()
    with up(data, port, pass_fds=(lifeline.descriptor,), **lifeline.environment()) as process:
        assert answers(port)
        service, runner = service_of(data), part_of(data, "runner")
        lifeline.close_write_end()
        assert process.wait(SECONDS) == 0
        assert is_gone(service) and is_gone(runner)
    os.close(lifeline.descriptor)


def test_a_killed_service_is_started_again_and_no_connection_is_refused(tmp_path: Path) -> None:
    data, port = tmp_path / "data", free_port()
    with up(data, port):
        assert answers(port)
        for _ in range(2):
            os.kill(service_of(data), signal.SIGKILL)
            # The supervisor holds the listening socket: the connection waits for the service.
            assert httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=SECONDS).status_code == 200


def part_of(data: Path, word: str) -> int:
    """The process id of the service (``serve``) or the runner of a platform, once it is there."""
    deadline = time.monotonic() + SECONDS
    pattern = f"platform {word} .*--data {data}[ /]"
    while time.monotonic() < deadline:
        found = subprocess.run(["pgrep", "-f", pattern], capture_output=True, text=True).stdout.split()
        if len(found) == 1:
            return int(found[0])
        time.sleep(0.05)
    raise AssertionError(f"no {word}")


def becomes_connected(data: Path) -> bool:
    """Whether the runner of a platform comes to ask the service what is wanted."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if platform(data, "runners", "list").stdout.startswith("runner  here"):
            return True
    return False


def test_a_runner_comes_along_and_neither_part_takes_the_other_down() -> None:
    with tempfile.TemporaryDirectory(prefix="lp") as name:  # sockets lie in there: a short path
        data, port = Path(name) / "d", free_port()
        with up(data, port) as process:
            assert answers(port) and becomes_connected(data)
            service, runner = service_of(data), part_of(data, "runner")
            assert (data / "runner" / "token").stat().st_mode & 0o077 == 0
            os.kill(runner, signal.SIGKILL)
            assert is_gone(runner)
            again = part_of(data, "runner")
            assert again != runner and service_of(data) == service
            os.kill(service, signal.SIGKILL)
            assert answers(port) and part_of(data, "runner") == again
            process.kill()
            process.wait(SECONDS)
            assert is_gone(again) and process.stderr is not None
            said = process.stderr.read()
            assert said.count("lang platform: the runner ended with -9") == 1 and "enforced: " in said


def test_two_platforms_on_one_folder_are_refused(tmp_path: Path) -> None:
    data, port = tmp_path / "data", free_port()
    with up(data, port):
        assert answers(port)
        second = platform(data, "up", "--port", str(free_port()))
        assert second.returncode == 1 and str(data) in second.stderr and "--data" in second.stderr


def test_accounts_of_the_command_line(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert platform(data, "user", "add", "a@example.com", "--password-stdin", stdin="correct horse\n").returncode == 0
    linked = platform(data, "user", "add", "b@example.com", "--plan", "pro", "--admin")
    assert "/sign-in/link/" in linked.stdout
    assert platform(data, "user", "add", "A@example.com").returncode == 1
    short = platform(data, "user", "passwd", "a@example.com", stdin="short\n")
    assert short.returncode == 1 and "10 to 1024 characters" in short.stderr
    assert platform(data, "user", "passwd", "a@example.com", stdin="another long one\n").returncode == 0
    assert platform(data, "user", "disable", "a@example.com").returncode == 0
    lines = [line.split() for line in platform(data, "user", "list").stdout.splitlines()]
    assert [(line[0], line[1], line[3:]) for line in lines] == [
        ("a@example.com", "free", ["disabled"]),
        ("b@example.com", "pro", ["admin"]),
    ]
    unknown = platform(data, "sign-in-link", "nobody@example.com")
    assert (unknown.returncode, unknown.stdout) == (1, "") and "nobody@example.com" in unknown.stderr
    plan = platform(data, "user", "add", "c@example.com", "--plan", "gold")
    assert plan.returncode == 1 and "free, pro, team" in plan.stderr


def test_runners_of_the_command_line(tmp_path: Path) -> None:
    data = tmp_path / "data"
    made = platform(data, "runner-token", "one")
    assert made.returncode == 0 and re.fullmatch(r"lr_[\w-]{43}\n", made.stdout)
    assert platform(data, "runners", "list").stdout == "one  away  never seen\n"
    assert platform(data, "runner-token", "No Such").returncode == 1
    assert platform(data, "runners", "forget", "one").stdout == "one is removed. It had 0 projects.\n"
    assert platform(data, "runners", "forget", "two").returncode == 1


@pytest.mark.parametrize("words", [(), ("bogus",), ("user",), ("up", "--port", "x"), ("up", "extra"), ("serve", "--bogus")])
def test_wrong_calls(tmp_path: Path, words: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "language", "platform", *words]
    result = subprocess.run(command, capture_output=True, text=True, env=environment(tmp_path), timeout=SECONDS)
    assert (result.returncode, result.stdout) == (2, "") and "usage: lang platform" in result.stderr


def test_the_playground_is_found_where_an_installation_or_a_checkout_has_it(tmp_path: Path) -> None:
    installed, checkout, data = tmp_path / "share", tmp_path / "checkout", tmp_path / "data"
    data.mkdir(mode=0o700)
    for part in ("__init__.py", "playground", "js"):
        source = ROOT / "wasm_abi" / part
        target = checkout / "wasm_abi" / part
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copyfile(source, target)
    assert find_playground(data, installed, checkout) is None, "there is no web build"
    (checkout / "dist").mkdir()
    (checkout / "dist" / "lang-web.wasm").write_bytes(b"\0asm")
    folder = find_playground(data, installed, checkout)
    assert folder == data / "playground"
    assert {"index.html", "lang-web.wasm", "js"} <= {path.name for path in folder.iterdir()}
    assert folder.stat().st_mode & 0o077 == 0
    installed.mkdir()
    (installed / "lang-web.wasm").write_bytes(b"\0asm")
    assert find_playground(data, installed, checkout) == installed
