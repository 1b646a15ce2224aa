"""A client of the HTTP API: requests with a token, answers as JSON, streams of events."""

from __future__ import annotations

import http.client
import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from platform_api.commands.clock import Clock, PlainHandler, SecureHandler
from platform_api.commands.credentials import Credentials
from platform_api.commands.failure import Failure
from platform_api.commands.shapes import check

#: After this long without a byte the connection counts as lost.
TIMEOUT_SECONDS = 60
#: The longest time of a whole answer, even if its bytes keep coming.
ANSWER_SECONDS = 600
#: The same for a log stream, which sends a heartbeat every 15 seconds: three missing ones are a lost connection.
STREAM_SECONDS = 50
#: The most bytes of an answer; the largest package as JSON is smaller.
LARGEST_ANSWER = 64 * 1024 * 1024
#: The most bytes of an event of a stream, and of the answer to a refused request.
LARGEST_EVENT = 1024 * 1024


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, because that would send the token to another address."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Client:
    """A service and the token for it.

    Args:
        url: the address of the service, without ``/api/v1``.
        token: ``None`` for routes that need none.
    """

    def __init__(self, url: str, token: str | None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise Failure(f"{url!r} is not the address of a service: it looks like https://platform.example.com")
        if parts.username:
            raise Failure("the address of a service must not contain a user name: `lang login` signs in")
        self.url = url.rstrip("/")
        self._token = token

    def call(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        *,
        gives: dict[str, Any] | None = None,
        **query: object,
    ) -> dict[str, Any]:
        """The JSON answer of a request.

        Args:
            path: below ``/api/v1``.
            gives: the fields that the caller reads, as ``shapes.check`` takes them.
            query: parameters; ``None`` leaves one out.

        Errors: ``Failure`` with the message of the service, why it was not reached, or what is wrong in its answer.
        """
        with self._open(method, path, body, query, Clock(TIMEOUT_SECONDS, ANSWER_SECONDS)) as answer:
            content = answer.read(LARGEST_ANSWER + 1)
        if len(content) > LARGEST_ANSWER:
            raise Failure(
                f"{self.url} answered with more than {LARGEST_ANSWER >> 20} MiB, so it is probably no platform: check"
                " the address"
            )
        found = _json(content, self.url)
        check(found, gives or {}, self.url)
        return found

    def events(self, path: str, *, after: str | None = None, **query: object) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """The events of a stream as ``(id, name, data)``, until the connection ends.

        Args:
            after: the id of the last event that is known.
        """
        clock = Clock(STREAM_SECONDS, STREAM_SECONDS)
        with self._open("GET", path, None, query, clock, after) as answer:
            identity, name, size = "", "message", 0
            data: list[str] = []
            while True:
                clock.restart()  # the time that the caller took for the last event does not count
                raw = answer.readline(LARGEST_EVENT)
                if not raw:
                    return
                size += len(raw)
                if size >= LARGEST_EVENT:
                    raise Failure(
                        f"{self.url} sent an event of more than {LARGEST_EVENT >> 20} MiB, so it is probably no platform"
                    )
                line = raw.decode("utf-8", "replace").rstrip("\r\n")
                if not line:
                    if data:
                        yield identity, name, _json("\n".join(data).encode(), self.url)
                    name, data, size = "message", [], 0
                    continue
                field, _, value = line.partition(":")
                value = value.removeprefix(" ")
                if field == "id":
                    identity = value
                elif field == "event":
                    name = value
                elif field == "data":
                    data.append(value)

    @contextmanager
    def _open(
        self, method: str, path: str, body: Any, query: dict[str, object], clock: Clock, after: str | None = None
    ) -> Iterator[http.client.HTTPResponse]:
        given = {name: str(value) for name, value in query.items() if value is not None}
        request = urllib.request.Request(
            f"{self.url}/api/v1{path}" + (f"?{urlencode(given)}" if given else ""),
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Accept": "application/json", "Content-Type": "application/json"},
        )
        if self._token is not None:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        if after is not None:
            request.add_header("Last-Event-ID", after)
        opener = urllib.request.build_opener(_NoRedirects, PlainHandler(clock), SecureHandler(clock))
        try:
            with opener.open(request, timeout=clock.silence) as answer:
                yield answer
        except urllib.error.HTTPError as error:
            with error:
                raise _refused(error, self.url) from None
        except urllib.error.URLError as error:
            raise Failure(f"{self.url} could not be reached: {error.reason}") from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise Failure(f"the connection to {self.url} was lost: {error or type(error).__name__}") from None


def segment(text: str) -> str:
    """A text as one segment of a path, percent-encoded."""
    return quote(text, safe="", errors="replace")


def client(url: str | None = None, *, signed_in: bool = True) -> Client:
    """A client for the service that a command talks to.

    Args:
        url: the value of ``--url``; without it ``PLATFORM_URL``, else the address of the last sign-in.
        signed_in: whether a token is needed: ``PLATFORM_TOKEN``, else the one that ``lang login`` stored.
    """
    credentials = Credentials()
    address = (url or os.environ.get("PLATFORM_URL") or credentials.last_url or "").rstrip("/")
    if not address:
        raise Failure("no platform is known: run `lang login --url https://...`, or set PLATFORM_URL")
    token = os.environ.get("PLATFORM_TOKEN") or credentials.token(address)
    if signed_in and not token:
        raise Failure(f"not signed in to {address}: run `lang login --url {address}`, or set PLATFORM_TOKEN")
    return Client(address, token)


def _refused(error: urllib.error.HTTPError, url: str) -> Failure:
    try:
        answer = json.loads(error.read(LARGEST_EVENT))
    except (ValueError, RecursionError, OSError, http.client.HTTPException):
        answer = {}
    if not isinstance(answer, dict) or not isinstance(answer.get("error"), str):
        where = f" to {error.headers.get('Location')}" if 300 <= error.code < 400 else ""
        return Failure(f"{url} answered {error.code}{where}, but not as a platform: check the address")
    return Failure(answer["error"], answer | {"status": error.code})


def _json(body: bytes, url: str) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Failure(f"{url} did not answer as a platform: check the address")
    return value
