"""A network stream whose blocking operations can be cancelled, with one deadline for the whole exchange."""

from __future__ import annotations

import ssl
import time
from typing import Any

import httpcore

from language.waits import POLLING_INTERVAL


class InterruptibleStream(httpcore.NetworkStream):
    """An open stream of a socket. ``end`` (monotonic seconds) is a deadline for all reads and writes, in addition to their
    timeouts.

    Python delivers no exception to a thread that is blocked in a system call, so a read or write would delay the cancellation
    of a program or request. Each system call therefore blocks for one polling interval at most.
    """

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream
        self._socket: Any = stream.get_extra_info("socket")
        self.end: float | None = None

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        end = self._sooner(timeout)
        while True:
            try:
                return self._stream.read(max_bytes, self._next_timeout(end, httpcore.ReadTimeout))
            except httpcore.ReadTimeout:
                if time.monotonic() >= end:
                    raise

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # Not the stream's own `write`: that restarts its timeout after each part that was sent.
        rest = memoryview(buffer)
        end = self._sooner(timeout)
        while rest:
            self._socket.settimeout(self._next_timeout(end, httpcore.WriteTimeout))
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

    def _next_timeout(self, end: float, late: type[Exception]) -> float:
        left = end - time.monotonic()
        if left <= 0:
            raise late
        return min(left, POLLING_INTERVAL)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return InterruptibleStream(self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
