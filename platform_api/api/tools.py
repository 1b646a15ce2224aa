"""The tools for assistants: one route that takes messages of the Model Context Protocol, and where its tokens are described."""

from __future__ import annotations

import json
from typing import Any

from litestar import MediaType, Response, Router, get, post

from platform_api.accounts.principal import Principal
from platform_api.api.requests import ApiRequest, PlatformRequest
from platform_api.gateway import TOOLS, TOOLS_METADATA
from platform_api.tools.calls import answered
from platform_api.tools.inside import SCOPES, Inside

_PARSE_ERROR = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "parse error"}}


@post(TOOLS, status_code=200, include_in_schema=False)
async def message(request: ApiRequest) -> Response[Any]:
    """Answers one message. Nothing is kept between two: any replica answers any of them."""
    assert isinstance(request.scope["state"].get("principal"), Principal)
    try:
        sent = _decoded(await request.body())
    except (ValueError, RecursionError):
        return Response(_PARSE_ERROR, status_code=400, media_type=MediaType.JSON)
    status, reply, called = await answered(Inside(request), sent, _fields(request), request.scope["state"]["request_id"])
    if called:
        request.scope["path_template"] = f"{TOOLS} {called}"  # the log and the figures name the tool
    if reply is None:
        return Response(b"", status_code=status, media_type=MediaType.JSON)
    return Response(reply, status_code=status, media_type=MediaType.JSON)


@get([TOOLS_METADATA, f"{TOOLS_METADATA}{TOOLS}"], include_in_schema=False)
async def metadata(request: PlatformRequest) -> dict[str, Any]:
    """Where the tools are and what a token for them can be limited to (RFC 9728). The tokens are API tokens of an account."""
    base = request.platform.settings.base_url
    return {
        "resource": f"{base}{TOOLS}",
        "resource_name": "Platform",
        "bearer_methods_supported": ["header"],
        "scopes_supported": sorted(SCOPES),
    }


def _fields(request: ApiRequest) -> Any:
    """The header fields; one that is sent several times is all of its values, which are then no single one that counts."""

    def field(name: str) -> str | None:
        values = request.headers.getall(name, [])
        return ", ".join(values) if values else None

    return field


def _decoded(body: bytes) -> Any:
    """The message. Errors: ``ValueError``, ``RecursionError`` for what is not JSON or no text."""
    text = body.decode()
    message = json.loads(text, parse_constant=_no_number)
    if "\\ud" in text or "\\uD" in text:
        json.dumps(message, ensure_ascii=False).encode()  # fails for a lone surrogate, which JSON can hold and UTF-8 cannot
    return message


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


router = Router(path="/", route_handlers=[message, metadata], request_class=ApiRequest)
