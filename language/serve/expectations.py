"""``expect body``, ``expect form`` and ``expect query``: checks the fields of a request and converts them to their types."""

from __future__ import annotations

from language.values import type_of
from language.values.declared_types import MOST_DIGITS, READERS, WRITTEN_AS, converted, got, takes, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    #: Name, type, and whether it is optional.
    Field = tuple[str, str, bool]
    Fields = tuple[Field, ...]


class Unexpected(ValueError):
    """A request that is not as declared. Its text is for the client. ``field`` is wrong; ``None`` for the whole body."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


def checked_body(fields: Fields, body: Any, exact: Callable[[], Any]) -> dict[str, Any]:
    """The fields of a JSON body, each with its declared type.

    Args:
        fields: what is declared.
        body: the parsed body, ``None`` for none.
        exact: gives the body with each number that has a point or an exponent as the text that was sent; called for decimals
            and for integers that are written so.

    Returns: the declared fields. An optional one that is absent or null is ``nothing``.

    Raises: :class:`Unexpected` for the first field, in the declared order, that is not as declared.
    """
    if body.__class__ is not dict:
        raise Unexpected("expected a JSON object body")
    found: dict[str, Any] = {}
    for name, wanted, optional in fields:
        value = body.get(name)
        if optional and value is None:
            found[name] = None
            continue
        if name not in body:
            raise Unexpected(f"missing field '{name}'", name)
        try:
            exactly = whole(value, exact()[name]) if wanted == "integer" and value.__class__ is float else value
            if not takes(wanted, exactly):
                raise Unexpected(f"field '{name}' must be {wanted}, got {got(wanted, value)}", name)
            value = exactly
            found[name] = converted(wanted, value, lambda name=name: exact()[name])  # type: ignore[misc]
        except Unexpected:
            raise
        except ValueError:
            raise Unexpected(f"field '{name}' must be {wanted}, got a number of more than {MOST_DIGITS} digits", name) from None
    return found


def checked_texts(place: str, fields: Fields, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a query or a form, each with its declared type.

    Args:
        place: ``query`` or ``form``, for the message.
        fields: what is declared.
        given: the fields that were sent: texts; lists of texts for list fields; maps for files of a form.

    Returns: the declared fields. One of another type than text that was left empty counts as absent; an optional one is then
    ``nothing``.

    Raises: :class:`Unexpected` for the first field, in the declared order, that is not as declared.
    """
    found: dict[str, Any] = {}
    for name, wanted, optional in fields:
        value = given.get(name)
        if value is None or (wanted != "text" and value.__class__ is str and not value.strip(" \t")):
            if not optional:
                raise Unexpected(f"missing field '{name}' in the {place}", name)
            found[name] = None
            continue
        reader = READERS.get(wanted)
        read = value if type_of(value) == wanted else None
        if reader is not None:
            read = reader(value.strip(" \t")) if value.__class__ is str else None
        if read is None:
            form = f" ({WRITTEN_AS[wanted]})" if wanted in WRITTEN_AS else ""
            raise Unexpected(f"field '{name}' of the {place} must be {wanted}{form}", name)
        found[name] = read
    return found
