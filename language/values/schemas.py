"""Schemas of maps from outside: read from a map of parameters or a ``type``, exported as JSON Schema, and used to validate
values.

The tools of a tool server, the tools and answers of a model, and ``validate`` are all described in this form.
"""

from __future__ import annotations

from language.errors import FILE_MARK, RuntimeFault
from language.values import Bool, as_map, type_of
from language.values.declared_types import READERS, WRITTEN_AS, converted, got, takes, whole
from language.values.display import display, quote
from language.values.operators import is_decimal, same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    #: The parameters of a map by name, in order.
    Schema = Mapping[str, "Param"]

#: The types by the program's name, with their JSON Schema.
SCHEMA_TYPES: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "number": {"type": "number"},
    "integer": {"type": "integer"},
    "decimal": {"type": "number"},
    "bool": {"type": "boolean"},
    "list": {"type": "array"},
    "map": {"type": "object"},
    "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"},
    "duration": {"type": "string", "format": "duration"},
}
#: The global of a compiled file that holds the fields of its types, by ``name@line:column``.
DECLARED_TYPES = "·types"
#: The type of a field that accepts every value: one that a ``type`` declares with neither a type above nor another ``type`` of
#: its file.
ANY = "any value"
#: The deepest nesting of ``items`` and ``params``.
MOST_LEVELS = 32
_MEMBERS = ("description", "required", "enum", "default", "items", "params")


class Misfit(ValueError):
    """A value that does not match its schema. ``place`` is the path to it (``address.street``, ``rows[2]``), empty for the
    whole value.
    """

    def __init__(self, place: str, rest: str, missing: bool = False) -> None:
        self.place = place
        self._rest = rest
        self._missing = missing
        super().__init__(self.told("field"))

    def told(self, noun: str) -> str:
        """The error message. ``noun`` says what a place is called: ``argument``, ``field``."""
        if self._missing:
            return f"missing {noun} '{self.place}'"
        return f"{noun} '{self.place}' {self._rest}" if self.place else f"the value {self._rest}"


class Param:
    """The schema of one value of a map, or of every element of a list.

    ``type`` is a key of :data:`SCHEMA_TYPES`, or :data:`ANY`; ``choices`` are the values that it may have, ``None`` for any;
    ``default`` is the value if none is sent; ``items`` describes the elements of a list, ``params`` the values of a map.
    """

    __slots__ = ("choices", "default", "description", "items", "params", "required", "type")

    def __init__(
        self,
        type: str,
        description: str | None = None,
        required: bool = True,
        choices: list[Any] | None = None,
        default: Any = None,
        items: Param | None = None,
        params: Schema | None = None,
    ) -> None:
        self.type = type
        self.description = description
        self.required = required
        self.choices = choices
        self.default = default
        self.items = items
        self.params = params

    def takes(self, value: Any) -> bool:
        """Whether a value is of the type; its content is not checked."""
        return self.type == ANY or takes(self.type, value) or (self.type == "number" and is_decimal(value))

    def offers(self, value: Any) -> bool:
        """Whether the value is one of the choices; true without choices."""
        return self.choices is None or any(same(choice, value) for choice in self.choices)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this value."""
        schema: dict[str, Any] = {} if self.type == ANY else {**SCHEMA_TYPES[self.type]}
        if self.params is not None:
            schema = object_schema(self.params)
        if self.items is not None:
            schema["items"] = self.items.schema()
        if self.description is not None:
            schema["description"] = self.description
        if self.choices is not None:
            schema["enum"] = _as_json(self.choices)
        if self.default is not None:
            schema["default"] = _as_json(self.default)
        return schema

    def read(self, value: Any, place: str, exact: Any, texts: bool) -> Any:
        """Validates the value and converts it to the type. See :func:`read`."""
        if self.type == ANY:
            return value
        if texts and value.__class__ is str and self.type in READERS:
            value = _read_text(self.type, value)
        try:
            exactly = whole(value, exact) if self.type == "integer" else value
        except ValueError:
            raise Misfit(place, "has too many digits") from None
        if not self.takes(exactly):
            raise Misfit(place, f"must be {self.type}, got {got(self.type, value)}")
        value = exactly
        try:
            value = converted(self.type, value, lambda: exact)
        except ValueError:
            raise Misfit(place, "has too many digits") from None
        if not self.offers(value):
            raise Misfit(place, f"must be one of {', '.join(map(display, self.choices or []))}")
        if self.items is not None:
            item = self.items
            parts = exact if type(exact) is list and len(exact) == len(value) else [None] * len(value)
            return [item.read(part, f"{place}[{at}]", sent, texts) for at, (part, sent) in enumerate(zip(value, parts))]
        if self.params is not None:
            return read(self.params, value, exact, texts=texts, place=place)
        return value


def read(schema: Schema, value: Any, exact: Any = None, *, texts: bool = False, place: str = "") -> dict[str, Any]:
    """Validates a map and converts its values.

    Args:
        schema: the schema of the map.
        value: the value, from JSON or of the program.
        exact: the same value with each number that has a point or an exponent as the text that was sent, where it is known:
            decimals and integers are taken from there.
        texts: whether the text of a number or a bool is accepted where the schema requires one.
        place: the path of the value within a larger one.

    Returns: only the values in the schema. A missing one gets its default; an optional one without a default is left out.

    Raises: :class:`Misfit` for the first value, in the order of the schema, that does not match.
    """
    fields = as_map(value)
    if fields is None:
        raise Misfit(place, f"must be map, got {type_of(value)}")
    sent = exact if type(exact) is dict else {}
    found: dict[str, Any] = {}
    for name, param in schema.items():
        given = fields.get(name)
        within = f"{place}.{name}" if place else name
        if given is None and not param.required:
            if param.default is not None:
                found[name] = param.default
            continue
        if name not in fields:
            raise Misfit(within, "", missing=True)
        found[name] = param.read(given, within, sent.get(name), texts)
    return found


def object_schema(schema: Schema) -> dict[str, Any]:
    """The JSON Schema of a map."""
    return {
        "type": "object",
        "properties": {name: param.schema() for name, param in schema.items()},
        "required": [name for name, param in schema.items() if param.required],
    }


def holds_exact(param: Param) -> bool:
    """Whether the value is or contains a decimal or an integer, for which the exact digits that were sent are needed."""
    inner = [*([] if param.items is None else [param.items]), *(param.params or {}).values()]
    return param.type in ("decimal", "integer") or any(map(holds_exact, inner))


def schema_of(who: str, value: Any) -> dict[str, Param]:
    """The schema that a program passes as a value: a map of parameters, or a ``type``.

    Error messages begin with ``who`` (``validate: the schema``). Raises ``RuntimeFault`` that names the wrong member.
    """
    fields = as_map(value)
    if fields is not None:
        return {name: _param(f"{who}, field '{name}'", entry, 1) for name, entry in fields.items()}
    found = _of_type(value)
    if found is None:
        raise RuntimeFault(f"{who} must be a map of parameters or a type, got {type_of(value)}", kind="type")
    return found


def params_of(who: str, value: Any) -> dict[str, Param]:
    """The parameters of a tool, from a map of the program. Error messages begin with ``who`` (``mcp_reply: tool 'add'``).

    Raises ``RuntimeFault`` that names the wrong argument and member.
    """
    fields = as_map(value)
    if fields is None:
        raise RuntimeFault(f"{who}: member 'params' must be a map, got {type_of(value)}")
    return {name: _param(f"{who}, argument '{name}'", entry, 1) for name, entry in fields.items()}


def members(who: str, value: Any, needed: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, Any]:
    """The members of a map that are not ``nothing``; none may be missing or unknown. Raises ``RuntimeFault``."""
    fields = as_map(value)
    if fields is None:
        raise RuntimeFault(f"{who}: must be a map, got {type_of(value)}")
    for name in fields:
        if name not in needed and name not in optional:
            raise RuntimeFault(f"{who}: unknown member {quote(name)} (members: {', '.join(needed + optional)})")
    for name in needed:
        if fields.get(name) is None:
            raise RuntimeFault(f"{who}: member '{name}' is missing")
    return {name: member for name, member in fields.items() if member is not None}


def text_member(who: str, name: str, value: Any) -> str:
    """A member that is text. Raises ``RuntimeFault``."""
    if type(value) is not str:
        raise RuntimeFault(f"{who}: member '{name}' must be text, got {type_of(value)}")
    return value


def _param(who: str, value: Any, level: int) -> Param:
    if level > MOST_LEVELS:
        raise RuntimeFault(f"{who}: 'items' and 'params' lie in each other more than {MOST_LEVELS} deep")
    fields = members(who, value, ("type",), _MEMBERS)
    kind = fields["type"]
    if type(kind) is not str or kind not in SCHEMA_TYPES:
        shown = quote(kind) if type(kind) is str else type_of(kind)
        raise RuntimeFault(f"{who}: member 'type' must be one of {', '.join(SCHEMA_TYPES)}, got {shown}")
    required = fields.get("required")
    if required is not None and type(required) is not Bool:
        raise RuntimeFault(f"{who}: member 'required' must be bool, got {type_of(required)}")
    description = None if "description" not in fields else text_member(who, "description", fields["description"])
    choices, default = fields.get("enum"), fields.get("default")
    needed = default is None if required is None else bool(required)
    param = Param(kind, description, needed, choices, default)
    for member, holder in (("items", "list"), ("params", "map")):
        if member in fields and kind != holder:
            raise RuntimeFault(f"{who}: member '{member}' is for the type {holder}, not for {kind}")
    if "items" in fields:
        param.items = _param(f"{who}: items", fields["items"], level + 1)
    if "params" in fields:
        inner = as_map(fields["params"])
        if inner is None:
            raise RuntimeFault(f"{who}: member 'params' must be a map, got {type_of(fields['params'])}")
        param.params = {name: _param(f"{who}: params: '{name}'", entry, level + 1) for name, entry in inner.items()}
    if choices is not None and (type(choices) is not list or not choices or not all(map(param.takes, choices))):
        raise RuntimeFault(f"{who}: member 'enum' must be a list of values of the type {kind}")
    if kind in WRITTEN_AS:
        param.choices = None if choices is None else [converted(kind, choice, lambda: None) for choice in choices]
        if default is not None and param.takes(default):
            default = param.default = converted(kind, default, lambda: None)
    if default is not None and not (param.takes(default) and param.offers(default)):
        out = " out of its enum" * (choices is not None)
        raise RuntimeFault(f"{who}: member 'default' must be a value of the type {kind}{out}")
    if default is not None and needed:
        raise RuntimeFault(f"{who}: an argument with a default is not required")
    return param


def _of_type(value: Any) -> dict[str, Param] | None:
    """The fields of a ``type``; ``None`` for any other value."""
    code = getattr(value, "__code__", None)
    if code is None or FILE_MARK not in value.__globals__ or not code.co_name.startswith("type:"):
        return None
    types: dict[str, tuple[tuple[str, str], ...]] = value.__globals__.get(DECLARED_TYPES, {})
    return _fields(types, code.co_name[len("type:") : code.co_name.index("#")], ())


def _fields(types: dict[str, tuple[tuple[str, str], ...]], place: str, inside: tuple[str, ...]) -> dict[str, Param]:
    return {name: _field(types, kind, (*inside, place)) for name, kind in types.get(place, ())}


def _field(types: dict[str, tuple[tuple[str, str], ...]], kind: str, inside: tuple[str, ...]) -> Param:
    """The schema of a field. Its type is one for values from outside, or another ``type`` of the same file that is defined only
    once. A recursive type is a map whose content is not checked.
    """
    if kind in SCHEMA_TYPES:
        return Param(kind)
    places = [place for place in types if place.partition("@")[0] == kind]
    if len(places) != 1:
        return Param(ANY)
    if places[0] in inside or len(inside) >= MOST_LEVELS:
        return Param("map")
    return Param("map", params=_fields(types, places[0], inside))


def _as_json(value: Any) -> Any:
    """The value with dates, datetimes and durations replaced by their texts, because JSON has no such values."""
    if type_of(value) in WRITTEN_AS:
        return display(value)
    if type(value) is list:
        return [_as_json(item) for item in value]
    fields = as_map(value)
    return value if fields is None else {name: _as_json(field) for name, field in fields.items()}


def _read_text(kind: str, text: str) -> Any:
    read_as = READERS[kind](text.strip(" \t"))
    return text if read_as is None else read_as
