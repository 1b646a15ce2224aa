"""Validation of values against a schema."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values.schemas import Misfit, read, schema_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

family = Family("validation", "Validation", pure=True)


@family.builtin("validate(value, schema)", result="map")
def validate(value: Any, schema: Any) -> dict[str, Any]:
    """Validates the map `value` against `schema` and gives the validated map. A mismatch is an error that names the place:
    `validate: field 'lines[2].price' must be decimal, got text`.

    `schema` is a map of field name → `{type, description, required, enum, default, items, params}`, as the arguments of a tool
    are described for `mcp_reply`, or a `type`. The type of a field is `text`, `number`, `integer`, `decimal`, `bool`, `list`,
    `map`, `date`, `datetime` or `duration`; `enum` lists the values that it may have; `items` describes each element of a list,
    `params` the fields of a map. A field is required unless `"required": false` or a `default` says otherwise; one that is
    absent or `nothing` gets its default. A field of a `type` may have another `type` of the same file as its type; with any
    other type name it accepts every value.

    The result has only the fields of the schema, in its order. For an `integer` a whole number is accepted, for a `decimal` any
    number, and for a `date`, `datetime` or `duration` a text in ISO 8601; these are converted. Nothing else is converted: the
    text `"2"` is not a number.

    `validate(json_decode(body), {"name": {"type": "text"}, "count": {"type": "integer", "default": 1}})`
    """
    wanted = schema_of("validate: the schema", schema)
    try:
        return read(wanted, value)
    except Misfit as misfit:
        raise RuntimeFault(f"validate: {misfit.told('field')}", kind="value") from None
