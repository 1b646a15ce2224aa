"""A person who follows a page of the manual: types its commands into a shell, clicks where it says so, compares what is shown.

    python followed_page.py PAGE FOLDER

It runs in a network of its own, in which the ports of the page are free. FOLDER becomes the home.
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from tests.manual import blocks, commands

SECONDS = 120
PASSWORD = "correct horse battery"
URL = "http://127.0.0.1:8787"
#: What shows something that may not be there yet: a person looks again.
LOOKS = re.compile(r"lang (approvals$|logs|audit)")


def matches(expected: str, shown: str) -> bool:
    """Whether what is shown is what stands on the page: ``...`` stands for anything, a line of it for any lines."""
    lines = [".*" if line == "..." else re.escape(line).replace(re.escape("..."), "[^\n]*") for line in expected.splitlines()]
    return re.fullmatch("\n".join(lines).replace("\n.*\n", "\n(?:.*\n)?"), shown.rstrip("\n"), re.DOTALL) is not None


class Shell:
    """One shell for all commands, as in a terminal."""

    def __init__(self, home: Path) -> None:
        kept = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(home), "LANG": "C.UTF-8"}
        kept |= {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            ["bash"], stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, cwd=home, env=kept, start_new_session=True
        )
        self._ends = 0

    def send(self, command: str) -> str:
        """Types a command. What stands behind the last line of its output is given."""
        self._ends += 1
        mark = f"--end {self._ends}--"
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\necho '{mark}'\n".encode())
        self._process.stdin.flush()
        return mark

    def read(self, until: Callable[[str], bool]) -> str:
        """What it shows, up to where that is enough."""
        assert self._process.stdout is not None
        shown, end = b"", time.monotonic() + SECONDS
        while not until(shown.decode(errors="replace")):
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, end - time.monotonic()))
            more = os.read(self._process.stdout.fileno(), 65536) if ready else b""
            assert more, f"it showed no more than {shown.decode(errors='replace')!r}"
            shown += more
        return shown.decode()

    def run(self, command: str) -> str:
        """What a command shows."""
        mark = self.send(command)
        return self.read(lambda shown: mark in shown).replace(f"{mark}\n", "")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


class Person:
    """Somebody with two terminals and a browser."""

    def __init__(self, page: Path, home: Path) -> None:
        self.page, self.home = page, home
        self.first, self.second = Shell(home), Shell(home)
        self.browser = httpx.Client(base_url=URL, timeout=SECONDS, follow_redirects=True, headers={"Origin": URL})

    def follow(self) -> None:
        """Goes through the whole page."""
        count = 0
        for block in blocks(self.page):
            if block.language == "lang":
                (self.home / "desk" / "main.lang").write_text(block.text)
            elif "platform" in block.words:
                for command, expected in commands(block):
                    self._do(command, expected, block.place)
                    count += 1
        print(f"{count} commands")

    def _do(self, command: str, expected: str, place: str) -> None:
        if command == "lang platform up":
            self.first.send(command)
            last = expected.splitlines()[-1].partition("...")[0]
            shown = self.first.read(lambda shown: last in shown and shown.endswith("\n"))
            lines = [line for line in shown.splitlines() if not re.match(r"20\d\d-", line)]  # the log of the service goes on
            assert matches(expected, "\n".join(lines[: len(expected.splitlines())])), (place, shown)
            self._sign_in(shown)
            return
        if command.startswith("lang login"):
            self._approve(command, expected, place)
            return
        end = time.monotonic() + SECONDS
        shown = self.second.run(command)
        while not matches(expected, shown) and LOOKS.match(command) and time.monotonic() < end:
            time.sleep(0.2)
            shown = self.second.run(command)
        assert matches(expected, shown), f"{place}: {command} shows\n{shown}\nand not\n{expected}"

    def _sign_in(self, shown: str) -> None:
        """Opens the link and chooses a password."""
        link = re.search(r"http\S+/sign-in/link/\S+", shown)
        assert link is not None
        answer = self.browser.post(link[0], data={"password": PASSWORD, "again": PASSWORD, "email": "admin@localhost"})
        assert answer.status_code == 200 and answer.url.path == "/", (answer.url, answer.text)

    def _approve(self, command: str, expected: str, place: str) -> None:
        """Allows what ``lang login`` asks for, on the page that it names, and ticks what the page of the manual says."""
        mark = self.second.send(command)
        shown = self.second.read(lambda shown: "and approve the code " in shown and shown.endswith(".\n"))
        opened = re.search(r"http\S+/device\?code=(\S+)", shown)
        assert opened is not None
        page = self.browser.get(opened[0])
        csrf = re.search(r'name="csrf" value="([^"]+)"', page.text)
        assert csrf is not None, page.text
        ticked = {"scopes": ["read", "deploy", "secrets", "approve"], "code": opened[1], "csrf": csrf[1], "decision": "allow"}
        assert self.browser.post("/device", data=ticked).status_code == 200
        shown += self.second.read(lambda shown: mark in shown).replace(f"{mark}\n", "")
        assert matches(expected, shown), f"{place}: {command} shows\n{shown}"


def own_network() -> None:
    """Brings up the one interface of a new network."""
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14s", b"lo", 0x1 | 0x40, b""))  # SIOCSIFFLAGS: IFF_UP, IFF_RUNNING


def main(page: str, home: str) -> None:
    own_network()
    person = Person(Path(page), Path(home))
    try:
        person.follow()
    finally:
        person.first.close()  # the platform reads the end of its terminal as its own
        person.second.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
