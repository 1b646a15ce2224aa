"""A project's own webhook for gates: the runner sends what the interpreter would, to addresses of the public network alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpx

from language import is_public_address, webhook_signature

URL, SECRET, PUBLIC_URL = "PLATFORM_HUMAN_WEBHOOK", "PLATFORM_HUMAN_WEBHOOK_SECRET", "PLATFORM_HUMAN_PUBLIC_URL"
SECONDS = 10.0
#: Deliveries of a project at one time.
MOST_AT_ONCE = 4

#: The addresses of a name. Raises ``OSError``.
Resolve = Callable[[str, int], Awaitable[list[str]]]


class WebhookRefused(Exception):
    """A webhook that is not sent; the text says why, without its URL."""


def body(gate: Any, public_url: str) -> bytes:
    """What is sent about a gate: the same JSON that the interpreter sends.

    Args:
        gate: as the link tells it.
        public_url: ``PLATFORM_HUMAN_PUBLIC_URL``; the empty text without one.
    """
    fields: dict[str, Any] = {
        "id": gate.id,
        "type": gate.kind,
        "message": gate.message,
        "expires_at": gate.expires_at,
        "token": gate.token,
        "respond_path": f"/approvals/{gate.id}",
    }
    if gate.options is not None:
        fields["options"] = list(gate.options)
    if public_url:
        address = f"{public_url.rstrip('/')}/approvals/{gate.id}"
        page = f"{address}/{gate.token}"
        fields |= {
            "respond_url": address,
            "respond_page": page,
            "respond_link_yes": page + "?d=yes",
            "respond_link_no": page + "?d=no",
        }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class Webhook:
    """The webhook of one version of a project.

    Args:
        settings: its variables and secrets.
        allowed: ``address:port`` outside of the public network that may be reached all the same.
        resolve: the resolver of the project.
    """

    def __init__(self, settings: Mapping[str, str], allowed: tuple[str, ...], resolve: Resolve) -> None:
        self._url = settings.get(URL) or ""
        self._secret = settings.get(SECRET) or None
        self._public_url = settings.get(PUBLIC_URL) or ""
        self._allowed = allowed
        self._resolve = resolve
        self._slots = asyncio.Semaphore(MOST_AT_ONCE)

    @property
    def is_set(self) -> bool:
        """Whether there is one."""
        return bool(self._url)

    async def send(self, gate: Any) -> None:
        """Sends it, once.

        Errors: ``WebhookRefused``.
        """
        content = body(gate, self._public_url)
        headers = {"Content-Type": "application/json"}
        if self._secret is not None:
            headers["X-Platform-Signature"] = webhook_signature(self._secret, content)
        try:
            url = httpx.URL(self._url)
        except (httpx.InvalidURL, ValueError):
            raise WebhookRefused(f"{URL} is no URL") from None
        if url.scheme not in ("http", "https") or not url.host or url.userinfo:
            raise WebhookRefused(f"{URL} is no http or https URL")
        host, port = url.raw_host.decode("ascii"), url.port or (443 if url.scheme == "https" else 80)
        headers["Host"] = url.netloc.decode("ascii")
        async with self._slots:
            target = url.copy_with(host=await self._address(host, port), port=port, fragment=None)
            try:
                async with httpx.AsyncClient(trust_env=False, follow_redirects=False, timeout=SECONDS) as client:
                    extensions = {"sni_hostname": host} if url.scheme == "https" else {}
                    request = client.build_request("POST", target, content=content, headers=headers, extensions=extensions)
                    answer = await asyncio.wait_for(client.send(request, stream=True), SECONDS)
                    await answer.aclose()
            except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
                raise WebhookRefused(f"{type(error).__name__}") from None
        if not 200 <= answer.status_code < 300:
            raise WebhookRefused(f"it was answered with {answer.status_code}")

    async def _address(self, host: str, port: int) -> str:
        try:
            addresses = await asyncio.wait_for(self._resolve(host, port), SECONDS)
        except (OSError, UnicodeError):  # a limit of time is an OSError
            raise WebhookRefused(f"{host} is not known") from None
        for address in addresses:
            place = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
            literal = host == address and place in self._allowed
            if not literal and not is_public_address(address):
                raise WebhookRefused(f"{host} is not of the public network")
        if not addresses:
            raise WebhookRefused(f"{host} has no address")
        return addresses[0]
