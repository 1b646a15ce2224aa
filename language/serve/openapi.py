"""The service as an OpenAPI 3.1.0 document (docs/serve.md)."""

from __future__ import annotations

from language.serve.description import DEFAULT_VERSION, WINDOWS
from language.values.schemas import SCHEMA_TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.serve.description import RouteInfo, Service

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

_FILE = {"type": "string", "contentMediaType": "application/octet-stream"}

_SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "sid", "description": "The cookie that the service sets on sign-in."},
}
#: Statuses whose replies never have a body.
_BODILESS = frozenset(("204", "205", "304"))
_NUMBER = r"\d+(\.\d+)?"
#: A duration as ``expect`` takes it: weeks, days and a time, a fraction in the last number alone.
_DURATION = rf"^[-+]?(?!.*\.\d+[WDHM]T?\d)P(?=.)({_NUMBER}W)?({_NUMBER}D)?(T(?=\d)({_NUMBER}H)?({_NUMBER}M)?({_NUMBER}S)?)?$"
_FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")
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
        "field": {"type": ["string", "null"], "description": "The field that is wrong; null if the whole body is."},
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
    """The path with its parameters in braces, and their names. A repeated name gets a number, because names must be unique."""
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
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
    ]
    parameters += [
        {"name": name, "in": "query", "required": not optional, "schema": _texts_schema(kind)}
        for name, kind, optional in {field[0]: field for field in route.expected("query") or ()}.values()
    ]
    if parameters:
        operation["parameters"] = parameters
    responses = _success(route)
    content = _body_content(route)
    if content:
        operation["requestBody"] = {"required": True, "content": content}
    if route.expect:
        responses["400"] = _failure(f"The {' or the '.join(dict(route.expect))} is not what is expected", "BadBody")
    if route.auth:
        operation["security"] = [{"bearer": []}, {"cookie": []}]
        responses["401"] = _failure("Not signed in", "Error")
    if route.limit is not None:
        amount, seconds = route.limit
        whole = int(amount) if amount == int(amount) else amount
        operation["x-platform-rate-limit"] = {"limit": whole, "window": WINDOWS.get(seconds, f"{seconds}s")}
        responses["429"] = _failure("Too many requests", "Error")
        responses["429"]["headers"] = {
            "Retry-After": {"description": "Seconds until the next request is allowed", "schema": {"type": "integer"}}
        }
    # All other errors have one form: an unknown path, a failed handler, a timeout, a server that stops.
    responses["default"] = _failure("An error", "Error")
    if route.kind == "proxy":
        responses["default"]["content"]["*/*"] = {}
    operation["responses"] = dict(sorted(responses.items()))
    return operation


def _body_content(route: RouteInfo) -> dict[str, Any]:
    """The types of the body: JSON, or a form in each encoding that can represent its fields."""
    content: dict[str, Any] = {}
    fields = route.expected("body")
    if fields is not None:
        content["application/json"] = {"schema": _object_schema(fields, texts=False)}
    fields = route.expected("form")
    if fields is not None:
        has_files = any(kind == "map" for _, kind, _ in fields)
        for media_type in ("multipart/form-data",) if has_files else _FORM_TYPES:
            content[media_type] = {"schema": _object_schema(fields, texts=True)}
    return content


def _object_schema(fields: tuple[tuple[str, str, bool], ...], *, texts: bool) -> dict[str, Any]:
    properties = {}
    for name, kind, optional in fields:
        schema = _texts_schema(kind) if texts else _schema(kind)
        # An optional field of JSON may be null.
        properties[name] = {**schema, "type": [schema["type"], "null"]} if optional and not texts else schema
    required = dict.fromkeys(name for name, _, optional in fields if not optional)
    return {"type": "object", "properties": properties, "required": list(required)}


def _texts_schema(kind: str) -> dict[str, Any]:
    """The schema of a field of a query or form: a list is a list of texts, a map is a file."""
    if kind == "list":
        return {"type": "array", "items": {"type": "string"}}
    return _FILE if kind == "map" else _schema(kind)


def _schema(kind: str) -> dict[str, Any]:
    """The schema of a type. Of a duration it says which ones are taken: the format ``duration`` has years and months too."""
    return {"type": "string", "pattern": _DURATION} if kind == "duration" else SCHEMA_TYPES[kind]


def _success(route: RouteInfo) -> dict[str, Any]:
    text = {"schema": {"type": "string"}}
    if route.kind == "socket":
        return {
            "101": {"description": "The connection becomes a WebSocket"},
            "426": {"description": "The request does not ask for a WebSocket"},
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
        if status in _BODILESS:
            responses.setdefault(status, {"description": "Success, without a body"})
            continue
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
