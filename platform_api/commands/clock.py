"""Time limits of an answer: for its next byte, and for the whole.

The time limit of a socket starts again with every byte. The second limit does not, so a service that sends one byte now and
then cannot block a command for ever.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
import urllib.request
from typing import Any


class Clock:
    """The time limits of one answer.

    Args:
        silence: the most seconds without a byte.
        whole: the most seconds until the end.
    """

    def __init__(self, silence: float, whole: float) -> None:
        self.silence, self._whole = silence, whole
        self.restart()

    def restart(self) -> None:
        """Starts the limit for the whole again."""
        self._end = time.monotonic() + self._whole

    def left(self) -> float:
        """Seconds that the next read may take.

        Errors: ``TimeoutError`` when the time is over.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"the answer was not complete after {self._whole:g} seconds")
        return min(left, self.silence)


class _Bytes(io.RawIOBase):
    """Reads from a socket within the limits of a clock."""

    def __init__(self, connected: socket.socket, clock: Clock) -> None:
        self._socket, self._clock = connected, clock
        self._file = connected.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._socket.settimeout(self._clock.left())
        try:
            return self._file.readinto(buffer)
        except TimeoutError:
            self._clock.left()  # raises where the limit for the whole is over
            raise TimeoutError(f"nothing came for {self._clock.silence:g} seconds") from None

    def close(self) -> None:
        self._file.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """Reads within the limits of the clock of its connection."""

    def __init__(self, sock: socket.socket, *args: Any, clock: Clock, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp.close()
        self.fp = io.BufferedReader(_Bytes(sock, clock))


def _timed(connection: http.client.HTTPConnection, clock: Clock) -> http.client.HTTPConnection:
    def response(sock: socket.socket, *args: Any, **options: Any) -> http.client.HTTPResponse:
        return _Response(sock, *args, clock=clock, **options)

    connection.response_class = response  # type: ignore[assignment]
    return connection


class PlainHandler(urllib.request.HTTPHandler):
    """Opens ``http`` addresses.

    Args:
        clock: the limits of the answer.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        def connection(host: str, **options: Any) -> http.client.HTTPConnection:
            return _timed(http.client.HTTPConnection(host, **options), self._clock)

        return self.do_open(connection, request)


class SecureHandler(urllib.request.HTTPSHandler):
    """Opens ``https`` addresses.

    Args:
        clock: the limits of the answer.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        def connection(host: str, **options: Any) -> http.client.HTTPConnection:
            return _timed(http.client.HTTPSConnection(host, **options), self._clock)

        return self.do_open(connection, request)
