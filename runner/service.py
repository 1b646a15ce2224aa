"""The service as the runner sees it: poll, report, packages, over HTTP. Nothing here decides anything."""

from __future__ import annotations

import asyncio
import random
import ssl
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from runner.protocol import (
    LONGEST_WAIT,
    PREFIX,
    Batch,
    PackageAnswer,
    PollAnswer,
    PollRequest,
    ProtocolError,
    ReportAnswer,
    ReportRequest,
    RunnerState,
    dumps,
    loads,
)
from runner.settings import RunnerSettings

#: Seconds after a failure before the service is asked again: the first time, and at most. After the service is back, requests
#: may still wait as long.
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 5.0
#: Seconds that an answer may take beside the wait that was asked for.
ANSWER_SECONDS = 30.0

R = TypeVar("R")


class ServiceAway(Exception):
    """The service does not answer, or not with what the protocol says. Asking again later may help.

    ``status`` is that of HTTP, 0 without an answer.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class ServiceRefuses(Exception):
    """The service has answered with a refusal. ``status`` is that of HTTP, ``code`` that of the service."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class BackOff:
    """Pauses that double with each failure, each drawn from the upper half of its length: many runners do not come at once."""

    def __init__(self, first: float = FIRST_PAUSE, longest: float = LONGEST_PAUSE) -> None:
        self._first, self._longest = first, longest
        self._length = first

    def next(self) -> float:
        """Seconds to wait after one more failure."""
        length = self._length
        self._length = min(2 * length, self._longest)
        return length * random.uniform(0.5, 1.0)

    def reset(self) -> None:
        """Starts again with the shortest pause, after a success."""
        self._length = self._first


class Service:
    """A client of the service.

    Args:
        instance: made once for the folder that this runner keeps its state in.
    """

    def __init__(self, settings: RunnerSettings, instance: str) -> None:
        self._instance = instance
        headers = {"Authorization": f"Bearer {settings.token}", "Content-Type": "application/json"}
        if settings.base_url != settings.service:
            headers["Host"] = urlsplit(settings.base_url).netloc
        verify: ssl.SSLContext | bool = True
        if settings.ca_file is not None:
            verify = ssl.create_default_context(cafile=str(settings.ca_file))
        self._client = httpx.AsyncClient(
            base_url=settings.service + PREFIX,
            headers=headers,
            verify=verify,
            trust_env=False,  # a proxy that is configured for this machine must not see secrets
            timeout=httpx.Timeout(ANSWER_SECONDS, connect=10.0),
            follow_redirects=False,
        )

    async def poll(self, state: RunnerState, cursor: str, wait: int) -> PollAnswer:
        """What changed since the cursor.

        Errors: ``ServiceAway``, ``ServiceRefuses``.
        """
        wait = min(wait, LONGEST_WAIT)
        return await self._ask(PollAnswer, "/poll", PollRequest(runner=state, cursor=cursor, wait=wait), wait)

    async def report(self, batches: Mapping[str, list[tuple[int, Mapping[str, Any]]]]) -> ReportAnswer:
        """Says what was seen: the items of each stream, with their numbers.

        Errors: ``ServiceAway``, ``ServiceRefuses``.
        """
        streams = tuple(Batch(stream=name, items=tuple(items)) for name, items in batches.items())
        return await self._ask(ReportAnswer, "/report", ReportRequest(instance=self._instance, batches=streams))

    async def package(self, package_hash: str) -> PackageAnswer:
        """The files of the package with that hash, not verified.

        Errors: ``ServiceAway``, ``ServiceRefuses``.
        """
        return await self._ask(PackageAnswer, f"/packages/{package_hash}", None)

    async def close(self) -> None:
        """Ends the connections."""
        await self._client.aclose()

    async def _ask(self, record: type[R], path: str, body: object, wait: int = 0) -> R:
        method = "GET" if body is None else "POST"
        content = None if body is None else await asyncio.to_thread(dumps, body)
        timeout = httpx.Timeout(ANSWER_SECONDS + wait, connect=10.0)
        try:
            answer = await self._client.request(method, path, content=content, timeout=timeout)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ServiceAway(f"{type(error).__name__}: {error}") from None
        if answer.status_code != 200:
            raise _refusal(answer)
        try:
            return await asyncio.to_thread(loads, record, answer.content)
        except ProtocolError as error:
            raise ServiceAway(f"its answer is not what the protocol says: {error}") from None


def _refusal(answer: httpx.Response) -> ServiceAway | ServiceRefuses:
    if answer.status_code >= 500 or answer.status_code == 429:
        return ServiceAway(f"it answers with {answer.status_code}", answer.status_code)
    try:
        told = answer.json()
        return ServiceRefuses(answer.status_code, str(told["code"]), str(told["error"]))
    except (ValueError, KeyError, TypeError):
        said = f"it answers with {answer.status_code}, and not as the service does: is the URL right?"
        return ServiceAway(said, answer.status_code)
