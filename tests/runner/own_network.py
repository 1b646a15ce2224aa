"""A network of this process alone: addresses of the Internet and of a private network, a server on each, and a name server.

To be used below ``unshare --net --mount``, by the superuser: nothing of it leaves this process and its children.
"""

from __future__ import annotations

import fcntl
import socket
import struct
import subprocess
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

#: An address that everybody on the Internet reaches, one of a private network, and that of a cloud's metadata service.
PUBLIC, PRIVATE, METADATA = "93.184.216.34", "10.7.0.5", "169.254.169.254"
_SET_ADDRESS, _SET_FLAGS = 0x8916, 0x8914
_UP = 1


def make_network(folder: Path) -> None:
    """Gives the loopback interface the addresses, and makes this process ask the name server of ``Names``."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP))
        for number, address in enumerate((PUBLIC, PRIVATE, METADATA)):
            place = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))
            fcntl.ioctl(control, _SET_ADDRESS, struct.pack("16s16s", b"lo:%d" % number, place))
    resolvers = folder / "resolv.conf"
    resolvers.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n", encoding="ascii")
    subprocess.run(["mount", "--bind", str(resolvers), "/etc/resolv.conf"], check=True)


class Receiver(ThreadingHTTPServer):
    """Port 80 of every address.

    Attributes:
        connected: to which address each connection was made.
        posted: address, path, headers and body of each ``POST``.
    """

    def __init__(self) -> None:
        self.connected: list[str] = []
        self.posted: list[tuple[str, str, dict[str, str], str]] = []
        super().__init__(("0.0.0.0", 80), _Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def setup(self) -> None:
        super().setup()
        self.server.connected.append(str(self.request.getsockname()[0]))

    def do_GET(self) -> None:
        self._answer(200)

    def do_POST(self) -> None:
        address = str(self.request.getsockname()[0])
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.posted.append((address, self.path, dict(self.headers), body))
        self._answer(307 if self.path == "/moved" else 200)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        if status == 307:
            self.send_header("Location", f"http://{PRIVATE}/stolen")
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"here")

    def log_message(self, *_: object) -> None:
        pass


class Names:
    """A name server on port 53 of 127.0.0.1.

    Args:
        answers: gives the IPv4 addresses of a name, ``None`` to leave the question without an answer.

    Attributes:
        asked: the names that were asked for, in order.
    """

    def __init__(self, answers: Callable[[str], list[str] | None]) -> None:
        self._answers = answers
        self.asked: list[str] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 53))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            question, asker = self._socket.recvfrom(512)
            labels, at = [], 12
            while size := question[at]:
                labels.append(question[at + 1 : at + 1 + size].decode("ascii").lower())
                at += 1 + size
            name, kind = ".".join(labels), int.from_bytes(question[at + 1 : at + 3], "big")
            addresses: list[str] | None = []
            if kind == 1:  # A; there are no others
                self.asked.append(name)
                addresses = self._answers(name)
            if addresses is None:
                continue
            head = question[:2] + struct.pack(">HHHHH", 0x8180 if addresses or kind != 1 else 0x8183, 1, len(addresses), 0, 0)
            records = (struct.pack(">HHHIH", 0xC00C, 1, 1, 0, 4) + socket.inet_aton(each) for each in addresses)
            self._socket.sendto(head + question[12 : at + 5] + b"".join(records), asker)
