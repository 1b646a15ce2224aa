"""The Docker Engine's HTTP API, as far as the engines use it. Podman's compatible socket answers to the same."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from runner.engines import EngineAway, EngineError

DEFAULT_HOST = "unix:///var/run/docker.sock"
#: Seconds for an answer of a daemon that is busy starting other containers.
ANSWER_SECONDS = 120.0
#: Seconds between two pieces of what is sent to it, and for what it does with all of it.
SEND_SECONDS = 600.0
#: The newest version of the API that is written for here; older daemons are asked in their own.
NEWEST = (1, 47)


class DockerFault(EngineError):
    """The daemon refused. ``status`` is that of its answer, 0 where there was none."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class DaemonAway(DockerFault, EngineAway):
    """No answer: what was asked may have been done or not, and what there is may be as before."""

    def __init__(self, reason: str) -> None:
        super().__init__(0, reason)


def docker_host() -> str:
    """The address of the daemon that Docker's own client would use."""
    return os.environ.get("DOCKER_HOST") or DEFAULT_HOST


def _place(host: str) -> tuple[str, str | None, ssl.SSLContext]:
    """The base URL, the Unix socket where there is one, and what the daemon's certificate is checked with.

    Without TLS there is none, so no authorities are read: they take milliseconds, and memory of each client.
    """
    scheme, _, rest = host.partition("://")
    if scheme == "unix":
        return "http://docker", rest, ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if scheme == "tcp":
        if not os.environ.get("DOCKER_TLS_VERIFY"):
            return f"http://{rest}", None, ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        folder = Path(os.environ.get("DOCKER_CERT_PATH") or Path.home() / ".docker")
        try:
            context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
            context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
        except (OSError, ssl.SSLError) as error:
            raise EngineError(f"DOCKER_CERT_PATH ({folder}) has no ca.pem, cert.pem and key.pem to use: {error}") from error
        return f"https://{rest}", None, context
    raise EngineError(f"the Docker daemon's address must begin with unix:// or tcp://, not {scheme}://")


def blocking_client(host: str) -> httpx.Client:
    """For what is asked outside of the loop: whether the daemon is there, making an image."""
    base, socket, verify = _place(host)
    return httpx.Client(
        base_url=base,
        transport=httpx.HTTPTransport(uds=socket, verify=verify),
        timeout=httpx.Timeout(ANSWER_SECONDS, connect=5),
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
        base, socket, verify = _place(host)
        self._client = httpx.AsyncClient(
            base_url=base + version,
            transport=httpx.AsyncHTTPTransport(uds=socket, verify=verify, limits=httpx.Limits(max_connections=None)),
            timeout=httpx.Timeout(ANSWER_SECONDS, connect=5),
        )

    async def ask(
        self, method: str, path: str, *, body: object = None, seconds: float | None = ANSWER_SECONDS, **query: str
    ) -> Any:
        """What the daemon answers, from JSON; ``None`` where it answers nothing. ``seconds``: ``None`` waits for ever.

        Raises:
            DockerFault: it refuses; ``DaemonAway``: it does not answer.
        """
        timeout = httpx.Timeout(seconds, connect=5)
        try:
            answer = await self._client.request(method, path, params=query or None, json=body, timeout=timeout)
        except httpx.HTTPError as error:
            raise DaemonAway(f"the Docker daemon does not answer: {error or type(error).__name__}") from error
        checked(answer)
        try:
            return answer.json() if answer.content else None
        except ValueError:
            raise DaemonAway(f"what answers at {path} is no Docker daemon") from None

    async def send(self, method: str, path: str, content: bytes | AsyncIterator[bytes], /, **query: str) -> None:
        """Hands a tar to the daemon, and reads its answer to the end. Raises ``DockerFault``."""
        headers = {"Content-Type": "application/x-tar"}
        timeout = httpx.Timeout(SEND_SECONDS, connect=5)
        try:
            answer = await self._client.request(
                method, path, params=query or None, content=content, headers=headers, timeout=timeout
            )
        except httpx.HTTPError as error:
            raise DaemonAway(f"the Docker daemon does not answer: {error or type(error).__name__}") from error
        checked(answer)

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
            raise DaemonAway(f"the Docker daemon does not answer: {error or type(error).__name__}") from error

    async def close(self) -> None:
        await self._client.aclose()


class AwaitedApi(DockerApi):
    """The API of a daemon that has not been reached yet.

    Attributes:
        found: what everything is asked of, once it is there; until then nothing answers.
    """

    def __init__(self) -> None:
        self.found: DockerApi | None = None

    def _there(self) -> DockerApi:
        if self.found is None:
            raise DaemonAway("the Docker API of the machine does not answer yet")
        return self.found

    async def ask(
        self, method: str, path: str, *, body: object = None, seconds: float | None = ANSWER_SECONDS, **query: str
    ) -> Any:
        return await self._there().ask(method, path, body=body, seconds=seconds, **query)

    async def send(self, method: str, path: str, content: bytes | AsyncIterator[bytes], /, **query: str) -> None:
        await self._there().send(method, path, content, **query)

    @asynccontextmanager
    async def stream(self, path: str, **query: str) -> AsyncIterator[AsyncIterator[bytes]]:
        async with self._there().stream(path, **query) as pieces:
            yield pieces

    async def close(self) -> None:
        if self.found is not None:
            await self.found.close()


def limits(info: Mapping[str, Any]) -> dict[str, bool]:
    """What a daemon holds containers to, from what ``/info`` tells."""
    return {
        "system_calls": "seccomp" in " ".join(info.get("SecurityOptions") or ()),
        "processes": bool(info.get("PidsLimit")),
        "memory": bool(info.get("MemoryLimit")),
        "cpu": bool(info.get("CpuCfsQuota") or info.get("CPUCfsQuota")),
    }


def filters(**wanted: list[str]) -> str:
    """The value of a query's ``filters``."""
    return json.dumps(wanted)
