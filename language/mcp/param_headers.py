"""Arguments that a tool's schema wants in header fields as well (``x-mcp-header``), so that proxies can route by them."""

from __future__ import annotations

from language.mcp.protocol import header_value
from language.values import FALSE, TRUE, as_map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KEY = "x-mcp-header"
_TYPES = frozenset(("string", "integer", "boolean"))
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
#: The most fields of one tool, and the longest name of one.
_MOST_FIELDS = 64
_LONGEST_NAME = 128
#: The most parts of one schema that are searched.
_MOST_PARTS = 100_000


class BadAnnotation(Exception):
    """A schema that asks for an impossible header field. A client must not use the tool."""


def wanted_fields(schema: Any) -> list[tuple[tuple[str, ...], str]]:
    """The arguments that a schema wants in header fields: the names that lead to each, and the name of its field.

    Raises ``BadAnnotation`` for one that is not reached by ``properties`` alone, whose type is not ``string``, ``integer`` or
    ``boolean``, whose field name is not a token or occurs twice, and for too many fields.
    """
    found: list[tuple[tuple[str, ...], str]] = []
    names: set[str] = set()
    pending: list[tuple[tuple[str, ...] | None, Any]] = [((), schema)]
    for _ in range(_MOST_PARTS):
        if not pending:
            return found
        path, part = pending.pop()
        if type(part) is list:
            pending += [(None, item) for item in part]
        if type(part) is not dict:
            continue
        if _KEY in part:
            name = _name(path, part)
            if name.lower() in names or len(found) == _MOST_FIELDS:
                raise BadAnnotation
            names.add(name.lower())
            found.append((path or (), name))
        for key, value in part.items():
            if key == "properties" and type(value) is dict:
                pending += [(None if path is None else (*path, inner), one) for inner, one in value.items()]
            elif key not in ("default", "examples", "const", "enum"):  # data, not schemas
                pending.append((None, value))
    raise BadAnnotation


def _name(path: tuple[str, ...] | None, part: dict[str, Any]) -> str:
    """The name of the field that a part of a schema asks for."""
    name, kind = part[_KEY], part.get("type")
    if not path or type(name) is not str or type(kind) is not str or kind not in _TYPES:
        raise BadAnnotation
    if not 0 < len(name) <= _LONGEST_NAME or not _TOKEN.issuperset(name):
        raise BadAnnotation
    return name


def fields_of(wanted: list[tuple[tuple[str, ...], str]], arguments: dict[str, Any]) -> list[tuple[str, str]]:
    """The header fields of one call. An argument that is missing or ``null`` has none."""
    fields = []
    for path, name in wanted:
        value: Any = arguments
        for key in path:
            inner = as_map(value)
            value = None if inner is None else inner.get(key)
        written = _written(value)
        if written is not None:
            fields.append((f"Mcp-Param-{name}", header_value(written)))
    return fields


def _written(value: Any) -> str | None:
    if value is TRUE or value is FALSE:
        return "true" if value is TRUE else "false"
    if type(value) is str:
        return value
    if type(value) in (int, float):
        from language.values.json_encoding import encode

        return encode(value)
    return None
