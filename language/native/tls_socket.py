"""TLS sockets whose errors stay with their own connection.

OpenSSL keeps a queue of errors for each thread, and has to find it empty before an operation: else the next operation of the
thread, on whatever connection, fails with an error that is not its own. CPython from 3.14 on, and its later versions of 3.13,
leave an error of the operating system in the queue (a connection that the peer reset) where OpenSSL from 3.6 on puts it there.
"""

from __future__ import annotations

import ssl
from functools import cache
from typing import Any


class TlsSocket(ssl.SSLSocket):
    """Use it as ``sslsocket_class`` of a context."""

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
    """Empties this thread's queue of OpenSSL after ``error``, unless it is one that leaves nothing there."""
    if isinstance(error, (ssl.SSLWantReadError, ssl.SSLWantWriteError, TimeoutError)):
        return
    # The one operation of Python that empties the queue whatever is in it.
    try:
        _without_ciphers().set_ciphers("none-of-them")
    except ssl.SSLError:
        return


@cache
def _without_ciphers() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
