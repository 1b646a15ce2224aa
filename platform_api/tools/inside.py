"""Asking the routes of ``/api/v1`` within the process: the checks of a request from outside hold for these as well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec

from platform_api.api.requests import ApiRequest
from platform_api.gateway import API, refuse_nul
from platform_api.refusals import Refusal

if TYPE_CHECKING:
    from platform_api.accounts.principal import Principal
    from platform_api.platform import Platform

#: What tools may ever do, whatever a token may do besides. Deciding for a person and secrets are not among it.
SCOPES = frozenset({"read", "deploy"})
#: How deploys and the history of a project name the way that an assistant takes.
CHANNEL = "mcp"


class Refused(Exception):
    """A route that answered with an error.

    Args:
        body: the error answer.
    """

    def __init__(self, body: Mapping[str, Any]) -> None:
        super().__init__(body.get("error", ""))
        self.body = body


def for_tools(principal: Principal) -> Principal:
    """The caller with no more rights than tools have. What is done so is recorded as done by an assistant."""
    return replace(principal, scopes=principal.scopes & SCOPES, via=CHANNEL)


class Inside:
    """The routes, asked on behalf of the caller of a tool.

    Args:
        request: the request that the tool came with.

    Attributes:
        principal: the caller, as ``for_tools`` has it.
        platform: the service.
    """

    def __init__(self, request: ApiRequest) -> None:
        self._request = request
        self.principal = for_tools(request.principal)
        self.platform: Platform = request.platform

    async def ask(self, method: str, template: str, values: Mapping[str, Any]) -> Any:
        """The decoded answer of a route.

        Args:
            template: the path below ``/api/v1``. Its parameters are taken out of the values; they hold no ``/``.
            values: what is left of them is the query of a ``GET``, else the body. ``None`` is left out.

        Errors: ``Refused``.
        """
        rest = {name: value for name, value in values.items() if value is not None}
        parts = [str(rest.pop(part[1:-1])) if part.startswith("{") else part for part in template.split("/")]
        path = f"{API}{'/'.join(parts)}"
        query = urlencode(rest).encode() if method == "GET" else b""
        try:
            refuse_nul(path, query)
        except Refusal as refusal:
            raise Refused(refusal.body()) from None
        body = b"" if method == "GET" else msgspec.json.encode(rest)
        answer = _Answer(body)
        await self._request.app(self._scope(method, path, query), answer.receive, answer.send)
        found = msgspec.json.decode(bytes(answer.body))
        if answer.status != 200:
            raise Refused(found)
        return found

    def _scope(self, method: str, path: str, query: bytes) -> Any:
        outer = self._request.scope
        return {
            "type": "http",
            "asgi": outer["asgi"],
            "http_version": outer["http_version"],
            "scheme": outer["scheme"],
            "server": outer["server"],
            "client": outer["client"],
            "root_path": "",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query,
            "headers": [(b"content-type", b"application/json")],
            "extensions": {},
            "state": {"principal": self.principal, "request_id": outer["state"]["request_id"]},
        }


class _Answer:
    """The two ends of a request: its body goes in, the answer is collected."""

    def __init__(self, content: bytes) -> None:
        self._content: bytes | None = content
        self.status = 500
        self.body = bytearray()

    async def receive(self) -> Any:
        content, self._content = self._content, None
        if content is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self.body += message.get("body", b"")
