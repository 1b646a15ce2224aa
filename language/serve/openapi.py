"""The service as an OpenAPI 3.1.0 document (7.12 of the manual)."""

from __future__ import annotations

from language.serve.description import DEFAULT_VERSION, WINDOWS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.serve.description import RouteInfo, Service

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

_SCHEMA_TYPES = {"text": "string", "number": "number", "bool": "boolean", "list": "array", "map": "object"}

_SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "sid", "description": "The cookie that the service sets on sign-in."},
}
_ERROR_SCHEMA = {
    "type": "object",
    "properties": {"error": {"type": "string"}, "status": {"type": "integer"}},
    "required": ["error", "status"],
}
_BAD_BODY_SCHEMA = {
    "type": "object",
    "properties": {
        "error": {"type": "string"},
        "status": {"type": "integer"},
        "field": {"type": ["string", "null"], "description": "The field at fault; null when the body itself is."},
    },
    "required": ["error", "status"],
}


def openapi(service: Service, base: str) -> str:
    """The document as JSON text with a final line break; ``base`` is the URL of the service without a slash at its end."""
    import json

    return json.dumps(openapi_document(service, base), ensure_ascii=False, indent=2) + "\n"


def openapi_document(service: Service, base: str) -> dict[str, Any]:
    """The document as data."""
    info: dict[str, Any] = {"title": service.title}
    if service.summary is not None:
        info["description"] = service.summary
    info["version"] = service.version or DEFAULT_VERSION
    return {
        "openapi": "3.1.0",
        "info": info,
        "servers": [{"url": base}],
        "paths": _paths(service),
        "components": {
            "schemas": {"Error": _ERROR_SCHEMA, "BadBody": _BAD_BODY_SCHEMA},
            "securitySchemes": _SECURITY_SCHEMES,
        },
    }


def _paths(service: Service) -> dict[str, Any]:
    found: dict[str, dict[str, tuple[RouteInfo, list[str]]]] = {}
    for route in service.routes:
        if route.method in METHODS:
            template, names = _template(route)
            found.setdefault(template, {}).setdefault(route.method, (route, names))
    paths: dict[str, Any] = {}
    used: set[str] = set()
    for template in sorted(found):
        item: dict[str, Any] = {}
        for method in METHODS:
            if method in found[template]:
                route, names = found[template][method]
                identifier = _unused(operation_id(route), used)
                item[method.lower()] = _operation(service, route, names, identifier)
        paths[template] = item
    return paths


def _template(route: RouteInfo) -> tuple[str, list[str]]:
    """The path with its parameters in braces, and their names; a name that comes twice gets a number, as it may not."""
    segments, names = [], []
    used: set[str] = set()
    for segment in route.segments:
        if segment[0] in ":*":
            name = "".join(c if c.isalnum() or c in "_-" else "_" for c in segment[1:])
            name = _unused(name or "parameter", used)
            names.append(name)
            segments.append(f"{{{name}}}")
        else:
            segments.append(segment.replace("{", "%7B").replace("}", "%7D"))
    return "/" + "/".join(segments), names


def operation_id(route: RouteInfo) -> str:
    """``get_blog_slug`` for ``GET /blog/:slug``, ``get_root`` for ``GET /``."""
    words = [segment.lstrip(":*") for segment in route.segments] or ["root"]
    text = "_".join([route.method, *words]).lower()
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in text)


def _unused(name: str, used: set[str]) -> str:
    found, number = name, 1
    while found in used:
        number += 1
        found = f"{name}_{number}"
    used.add(found)
    return found


def _operation(service: Service, route: RouteInfo, names: list[str], identifier: str) -> dict[str, Any]:
    operation: dict[str, Any] = {"operationId": identifier}
    description = service.note_of(route)
    if description is not None:
        operation["description"] = description
    if names:
        operation["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
        ]
    responses = _success(route)
    if route.expect is not None:
        schema = {
            "type": "object",
            "properties": {name: {"type": _SCHEMA_TYPES[kind]} for name, kind in route.expect},
            "required": list(dict(route.expect)),
        }
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
        responses["400"] = _failure("The body is not what is expected", "BadBody")
    if route.auth:
        operation["security"] = [{"bearer": []}, {"cookie": []}]
        responses["401"] = _failure("Not signed in", "Error")
    if route.limit is not None:
        amount, seconds = route.limit
        whole = int(amount) if amount == int(amount) else amount
        operation["x-platform-rate-limit"] = {"limit": whole, "window": WINDOWS.get(seconds, f"{seconds}s")}
        responses["429"] = _failure("Too many requests", "Error")
        responses["429"]["headers"] = {
            "Retry-After": {"description": "Seconds until the next request is let through", "schema": {"type": "integer"}}
        }
    # Whatever else goes wrong has one form: what no route takes, a failed handler, a timeout, a server that stops.
    responses["default"] = _failure("An error", "Error")
    if route.kind == "proxy":
        responses["default"]["content"]["*/*"] = {}
    operation["responses"] = dict(sorted(responses.items()))
    return operation


def _success(route: RouteInfo) -> dict[str, Any]:
    text = {"schema": {"type": "string"}}
    if route.kind == "socket":
        return {
            "101": {"description": "The connection becomes a WebSocket"},
            "426": {"description": "The request asks for no WebSocket"},
        }
    if route.kind == "stream":
        return {"200": {"description": "Success", "content": {"text/event-stream": text}}}
    if route.kind == "proxy":
        return {"200": {"description": "Success", "content": {"*/*": {}}}}
    responses: dict[str, Any] = {}
    for given in route.gives.split():
        form, _, status = given.partition("@")
        if form == "redirect":
            responses["3XX"] = {"description": "Another address"}
            continue
        description = "An error" if status[:1] in ("4", "5") else "Success"
        content = responses.setdefault(status or "200", {"description": description, "content": {}})["content"]
        if form == "json":
            content["application/json"] = {"schema": {}}
        elif "/" in form:
            content[form] = text if form.startswith("text/") else {}
        else:
            content["text/html"] = text
            if form == "content":
                content |= {"text/markdown": text, "application/json": {"schema": {}}}
    return responses


def _failure(description: str, schema: str) -> dict[str, Any]:
    return {
        "description": description,
        "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}},
    }
