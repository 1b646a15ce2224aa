"""The Docker Engine's HTTP API, as far as the engine ``docker`` uses it. Podman's compatible socket answers to the same."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

from runner.engines import EngineError

DEFAULT_HOST = "unix:///var/run/docker.sock"
#: Seconds for an answer of a daemon that is busy starting other containers.
ANSWER_SECONDS = 120.0
#: The newest version of the API that is written for here; older daemons are asked in their own.
NEWEST = (1, 47)


class DockerFault(EngineError):
    """The daemon refused. ``status`` is that of its answer, 0 where there was none."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def docker_host() -> str:
    """The address of the daemon that Docker's own client would use."""
    return os.environ.get("DOCKER_HOST") or DEFAULT_HOST


def _place(host: str) -> tuple[str, str | None]:
    """The base URL, and the Unix socket where there is one."""
    scheme, _, rest = host.partition("://")
    if scheme == "unix":
        return "http://docker", rest
    if scheme == "tcp":
        return f"http://{rest}", None
    raise EngineError(f"the Docker daemon's address must begin with unix:// or tcp://, not {scheme}://")


def blocking_client(host: str) -> httpx.Client:
    """For what is asked outside of the loop: whether the daemon is there, making an image."""
    base, socket = _place(host)
    return httpx.Client(
        base_url=base, transport=httpx.HTTPTransport(uds=socket), timeout=httpx.Timeout(ANSWER_SECONDS, connect=5)
    )


def checked(answer: httpx.Response) -> httpx.Response:
    """An answer that has been read. Raises ``DockerFault`` for one that is a refusal."""
    if answer.status_code < 400:
        return answer
    try:
        reason = str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        reason = answer.text[:500]
    raise DockerFault(answer.status_code, reason.strip())


def api_version(told: Mapping[str, Any]) -> str:
    """The path that requests begin with, from what ``/version`` tells."""
    theirs = tuple(int(part) for part in str(told["ApiVersion"]).split("."))
    return "/v" + ".".join(map(str, min(theirs, NEWEST)))


class DockerApi:
    """Arguments: ``host`` as in ``DOCKER_HOST``; ``version`` is the path that ``api_version`` gives."""

    def __init__(self, host: str, version: str) -> None:
        base, socket = _place(host)
        self._client = httpx.AsyncClient(
            base_url=base + version,
            transport=httpx.AsyncHTTPTransport(uds=socket, limits=httpx.Limits(max_connections=None)),
            timeout=httpx.Timeout(ANSWER_SECONDS, connect=5),
        )

    async def ask(
        self, method: str, path: str, *, body: object = None, seconds: float | None = ANSWER_SECONDS, **query: str
    ) -> Any:
        """What the daemon answers, from JSON; ``None`` where it answers nothing. ``seconds``: ``None`` waits for ever.

        Raises:
            DockerFault: it refuses, or does not answer.
        """
        timeout = httpx.Timeout(seconds, connect=5)
        try:
            answer = await self._client.request(method, path, params=query or None, json=body, timeout=timeout)
        except httpx.HTTPError as error:
            raise DockerFault(0, f"the Docker daemon does not answer: {error or type(error).__name__}") from error
        checked(answer)
        return answer.json() if answer.content else None

    @asynccontextmanager
    async def stream(self, path: str, **query: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """The pieces of an answer as they arrive. Raises ``DockerFault``."""
        timeout = httpx.Timeout(None, connect=5)
        try:
            async with self._client.stream("GET", path, params=query, timeout=timeout) as answer:
                if answer.status_code >= 400:
                    await answer.aread()
                    checked(answer)
                yield answer.aiter_raw()
        except httpx.HTTPError as error:
            raise DockerFault(0, f"the Docker daemon does not answer: {error or type(error).__name__}") from error

    async def close(self) -> None:
        await self._client.aclose()


def filters(**wanted: list[str]) -> str:
    """The value of a query's ``filters``."""
    return json.dumps(wanted)
