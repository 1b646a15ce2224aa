"""A fork server: a process that has loaded all modules and forks a child for each request, which costs milliseconds.

Requests come over a socket (``platform_api.forking.client``), each with the descriptor of a connection. A child
reads one request from that connection and writes one answer. After the answer this process writes the status of the child, four
bytes as from ``os.waitpid``. Children share neither memory nor connections.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import struct
import traceback
from collections.abc import Callable
from typing import NoReturn

#: The form of the status after an answer.
STATUS = struct.Struct("<i")
_MOST_DESCRIPTORS = 65_536
_PIECE = 1 << 20


def serve(control: socket.socket, work: Callable[[bytes], bytes], *, idle: float, patience: int) -> None:
    """Forks for each request until the control socket is closed.

    Args:
        control: the socket from which connections come.
        work: called in a child with a request; its result is the answer. For an exception the answer is a traceback, and the
            child ends with 1.
        idle: seconds without a request after which this process ends; the next request then starts a new one.
        patience: seconds after which a child is ended.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # typed at the terminal of the service, which ends this one itself
    woken, wakes = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes)
    children: dict[int, socket.socket] = {}
    gc.collect()
    gc.freeze()  # children share these pages of memory until they are written to
    while True:
        readable, _, _ = select.select([control.fileno(), woken], [], [], None if children else idle)
        if not readable:
            return
        if woken in readable:
            os.read(woken, _PIECE)
        _reap(children)
        if control.fileno() in readable:
            message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
            if not message:
                return
            connection = socket.socket(fileno=descriptors[0])
            child = os.fork()
            if child == 0:
                _answer(connection, work, patience)
            children[child] = connection


def read_all(connection: socket.socket) -> bytes:
    """What comes until the other side has written everything, or is gone."""
    pieces = []
    try:
        while piece := connection.recv(_PIECE):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


def _reap(children: dict[int, socket.socket]) -> None:
    while children:
        child, status = os.waitpid(-1, os.WNOHANG)
        if child == 0:
            return
        with children.pop(child) as connection:
            try:
                connection.sendall(STATUS.pack(status))
            except OSError:  # the client has closed the connection
                continue


def _answer(connection: socket.socket, work: Callable[[bytes], bytes], patience: int) -> NoReturn:
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.alarm(patience)
        own = connection.fileno()
        os.closerange(3, own)
        os.closerange(own + 1, _MOST_DESCRIPTORS)
        answer = work(read_all(connection))
        connection.sendall(answer)
        status = 0
    except BaseException:
        connection.sendall(traceback.format_exc().encode("utf-8", "replace"))
    finally:
        os._exit(status)
