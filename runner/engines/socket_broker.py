"""Runs in a container on the network of one project, makes sockets there, and hands them to the runner: started as a script.

The runner's process is on no such network. It asks over a Unix socket, one JSON object a line, and gets the descriptor of a
socket that listens in the network, or is connected to a program there (``SCM_RIGHTS``). Nothing that comes in over those
sockets is read here.

    runner:  {"id": 1, "listen": 0}                     broker:  {"id": 0, "network": 4026532281}   (first, by itself)
             {"id": 2, "connect": ["10.0.1.5", 8080]}            {"id": 1} and a descriptor; {"id": 2, "error": "..."}
"""

from __future__ import annotations

import array
import json
import os
import socket
import sys
import threading
import time

CONNECT_SECONDS = 10.0
AGAIN_SECONDS = 0.2
BACKLOG = 64


def answer(link: socket.socket, lock: threading.Lock, told: dict[str, object], made: socket.socket | None = None) -> None:
    rights = [] if made is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [made.fileno()]))]
    with lock:
        link.sendmsg([json.dumps(told).encode() + b"\n"], rights)


def made_socket(asked: dict[str, object]) -> socket.socket:
    """The socket that a request asks for: a listening or a connected one. Raises ``OSError``."""
    port = asked.get("listen")
    if isinstance(port, int):
        return socket.create_server(("0.0.0.0", port), backlog=BACKLOG)
    place = asked["connect"]
    assert isinstance(place, list)
    made = socket.create_connection((str(place[0]), int(place[1])), CONNECT_SECONDS)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def obey(link: socket.socket, lock: threading.Lock, asked: dict[str, object]) -> None:
    try:
        made = made_socket(asked)
    except OSError as error:
        answer(link, lock, {"id": asked["id"], "error": error.strerror or str(error) or "no answer in time"})
        return
    with made:
        answer(link, lock, {"id": asked["id"]}, made)


def serve(link: socket.socket) -> None:
    """Answers the requests of one connection of the runner until it ends, each in a thread. Raises ``OSError``."""
    lock = threading.Lock()
    answer(link, lock, {"id": 0, "network": os.stat("/proc/self/ns/net").st_ino})
    with link.makefile("r", encoding="utf-8") as lines:
        for line in lines:
            threading.Thread(target=obey, args=(link, lock, json.loads(line)), daemon=True).start()


def main(path: str) -> None:
    while True:
        try:
            with socket.socket(socket.AF_UNIX) as link:
                link.connect(path)
                serve(link)
        except OSError:
            pass  # there is no runner now
        time.sleep(AGAIN_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1])
