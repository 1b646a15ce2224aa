"""TLS sockets whose errors stay with their own connection.

OpenSSL keeps a queue of errors for each thread. The queue must be empty before an operation; otherwise the next operation of
the thread, on any connection, fails with an error that is not its own. CPython from 3.14 on, and its later versions of 3.13,
leave an error of the operating system in the queue (a connection that the peer reset) where OpenSSL from 3.6 on puts it there.
"""

from __future__ import annotations

import ssl
from functools import cache
from typing import Any


class TlsSocket(ssl.SSLSocket):
    """A TLS socket that empties the error queue after an error. To be set as ``sslsocket_class`` of a context."""

    def read(self, *arguments: Any) -> Any:
        try:
            return super().read(*arguments)
        except OSError as error:
            forget(error)
            raise

    def send(self, *arguments: Any) -> int:
        try:
            return super().send(*arguments)
        except OSError as error:
            forget(error)
            raise

    def do_handshake(self, block: bool = False) -> None:
        try:
            super().do_handshake(block)
        except OSError as error:
            forget(error)
            raise


def forget(error: OSError) -> None:
    """Empties OpenSSL's error queue of this thread after ``error``, unless that kind of error leaves nothing there."""
    if isinstance(error, (ssl.SSLWantReadError, ssl.SSLWantWriteError, TimeoutError)):
        return
    # The only operation of Python's ``ssl`` that empties the queue whatever it contains.
    try:
        _without_ciphers().set_ciphers("none-of-them")
    except ssl.SSLError:
        return


@cache
def _without_ciphers() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
