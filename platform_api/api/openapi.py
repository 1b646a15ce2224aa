"""The OpenAPI 3.1 document: what the framework finds in the routes, and what holds for all of them."""

from __future__ import annotations

import copy
import json
import re
from typing import TYPE_CHECKING, Any

import msgspec
from litestar import MediaType, Response, Router, get
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import OpenAPIRenderPlugin

from platform_api.api.requests import ApiRequest
from platform_api.api.schemas.shared import ErrorAnswer
from platform_api.api.scopes import plain, scope_of
from platform_api.gateway import API, OPEN

if TYPE_CHECKING:
    from litestar import Request
    from litestar.handlers import HTTPRouteHandler

    from platform_api.platform import Platform

PATH = "/openapi.json"
#: The version of the interface, whatever the version of the package.
VERSION = "0.1.0"
_ERROR = "#/components/schemas/ErrorAnswer"
_SENTENCE = re.compile(r"(.+?\.)(\s|$)", re.DOTALL)


def complete(found: dict[str, Any], base_url: str) -> dict[str, Any]:
    """The document of the framework with the service's address, its tokens and its errors.

    Args:
        found: what the framework made of the routes.
        base_url: how clients reach the service.
    """
    document = copy.deepcopy(found)
    document["servers"] = [{"url": base_url}]
    components = document.setdefault("components", {})
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer", "description": "An API token."}}
    _, schemas = msgspec.json.schema_components([ErrorAnswer], ref_template="#/components/schemas/{name}")
    components.setdefault("schemas", {}).update(schemas)
    components["responses"] = {"Error": {"description": "A refusal.", "content": _json({"$ref": _ERROR})}}
    document["security"] = [{"token": []}]
    for path, item in document.get("paths", {}).items():
        for method, operation in item.items():
            _complete_operation(method.upper(), path, operation, components["schemas"])
    return document


def _complete_operation(method: str, path: str, operation: dict[str, Any], schemas: dict[str, Any]) -> None:
    if (method, plain(path)) in OPEN:
        operation["security"] = []
    elif path.startswith(API):
        scope = scope_of(method, path)
        operation["security"] = [{"token": [scope] if scope else []}]
    if description := operation.get("description"):
        sentence = _SENTENCE.match(description)
        operation["summary"] = " ".join((sentence[1] if sentence else description).split()).removesuffix(".")
    operation["responses"] = {
        **{status: answer for status, answer in operation["responses"].items() if status < "4"},
        "4XX": {"$ref": "#/components/responses/Error"},
        "5XX": {"$ref": "#/components/responses/Error"},
    }
    if body := operation.get("requestBody"):
        # A body without a field that must be there may be left out.
        schema = body.get("content", {}).get("application/json", {}).get("schema", {})
        named = schemas.get(schema.get("$ref", "").rpartition("/")[2], schema)
        body["required"] = bool(named.get("required"))


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _operation_id(_handler: HTTPRouteHandler, method: Any, components: list[Any]) -> str:
    """``getProjectsByProjectId`` for ``GET /api/v1/projects/{project_id}``."""
    words = [str(method.value if hasattr(method, "value") else method).lower()]
    for component in components:
        name = component if isinstance(component, str) else f"by_{component.name}"
        if name not in ("api", "v1"):
            words += [word.capitalize() for word in re.split(r"[^A-Za-z0-9]+", name) if word]
    return "".join(words)


class _Rendered(OpenAPIRenderPlugin):
    """Serves the document at ``/openapi.json`` in place of the framework's pages."""

    def __init__(self) -> None:
        super().__init__(path=["/", PATH], media_type=MediaType.JSON)

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        return _written(request, openapi_schema)


def openapi_config() -> OpenAPIConfig:
    """What the framework is told of the document."""
    return OpenAPIConfig(
        title="Platform",
        version=VERSION,
        path=PATH,
        render_plugins=[_Rendered()],
        operation_id_creator=_operation_id,
        use_handler_docstrings=True,
    )


def _written(request: Request[Any, Any, Any], found: dict[str, Any] | None = None) -> bytes:
    """The document as JSON, made once for an address: that takes a while, and who asks for it needs no token.

    Args:
        found: what the framework made of the routes, where it is at hand.
    """
    state = request.app.state
    platform: Platform = state.platform
    base_url = platform.settings.base_url
    if state.get("described", ("",))[0] != base_url:
        document = complete(request.app.openapi_schema.to_schema() if found is None else found, base_url)
        state.described = (base_url, json.dumps(document).encode())
    written: bytes = state.described[1]
    return written


@get(PATH, include_in_schema=False)
async def described(request: ApiRequest) -> Response[bytes]:
    """The OpenAPI document of this interface."""
    return Response(_written(request), media_type=MediaType.JSON)


router = Router(path="/", route_handlers=[described])
