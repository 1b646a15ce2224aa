"""A network stream that can be left: it waits in short naps and knows when the exchange as a whole has to be over."""

from __future__ import annotations

import ssl
import time
from typing import Any

import httpcore

from language.waits import LONGEST_NAP


class PacedStream(httpcore.NetworkStream):
    """An open stream of a socket. ``end`` (monotonic seconds) bounds every read and write beside their own timeouts.

    No exception reaches a thread that waits in the system, so none that ends a program or a request would: hence the naps.
    """

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream
        self._socket: Any = stream.get_extra_info("socket")
        self.end: float | None = None

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        end = self._sooner(timeout)
        while True:
            try:
                return self._stream.read(max_bytes, self._nap(end, httpcore.ReadTimeout))
            except httpcore.ReadTimeout:
                if time.monotonic() >= end:
                    raise

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # Not the stream's own: that begins to count anew after each part that was taken.
        rest = memoryview(buffer)
        end = self._sooner(timeout)
        while rest:
            self._socket.settimeout(self._nap(end, httpcore.WriteTimeout))
            try:
                rest = rest[self._socket.send(rest) :]
            except TimeoutError:
                continue
            except OSError as error:
                raise httpcore.WriteError(str(error)) from error
            if timeout is not None:
                end = self._sooner(timeout)

    def _sooner(self, timeout: float | None) -> float:
        end = float("inf") if timeout is None else time.monotonic() + timeout
        return end if self.end is None else min(end, self.end)

    def _nap(self, end: float, late: type[Exception]) -> float:
        left = end - time.monotonic()
        if left <= 0:
            raise late
        return min(left, LONGEST_NAP)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return PacedStream(self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
