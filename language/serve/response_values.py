"""The values that the response helpers (``html``, ``respond``, ``redirect``, ...) return: a body with its status and header
fields.

``type_of`` returns ``map`` for them and their fields can be read, but patterns of maps do not match them. They are immutable:
every helper makes a new one, so they can be shared, stored and used twice.
"""

from __future__ import annotations

from language.values.operators import contains, eq, index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class ResponseValue:
    """One response. ``kind`` is ``raw`` (``value`` is the body, text or bytes), ``envelope`` (``value`` is any value, which is
    shaped as if the route had given it) or ``redirect`` (``value`` is the URL). ``headers`` are further header fields in order.
    """

    __slots__ = ("compressible", "content_type", "headers", "kind", "status", "value")

    language_type = "map"

    def __init__(
        self,
        kind: str,
        value: Any,
        status: int,
        content_type: str = "",
        headers: tuple[tuple[str, str], ...] = (),
        *,
        compressible: bool = True,
    ) -> None:
        self.kind = kind
        self.value = value
        self.status = status
        self.content_type = content_type
        self.headers = headers
        self.compressible = compressible

    def with_field(self, name: str, value: str) -> ResponseValue:
        """The same response with one more header field."""
        headers = (*self.headers, (name, value))
        return ResponseValue(self.kind, self.value, self.status, self.content_type, headers, compressible=self.compressible)

    def with_status(self, status: int) -> ResponseValue:
        """The same response with another status."""
        return ResponseValue(self.kind, self.value, status, self.content_type, self.headers, compressible=self.compressible)

    def rebuilt(self, change: Callable[[Any], Any]) -> ResponseValue:
        """The same response with the result of ``change`` for its value."""
        value = change(self.value)
        if value is self.value:
            return self
        return ResponseValue(self.kind, value, self.status, self.content_type, self.headers, compressible=self.compressible)

    def as_map(self) -> dict[str, Any]:
        """The fields that a program can read; inside of JSON the response is written as this map."""
        if self.kind == "raw":
            return {"body": self.value, "content_type": self.content_type, "status": self.status}
        if self.kind == "redirect":
            return {"redirect": self.value, "status": self.status}
        return {"status": self.status, "value": self.value}

    def __getitem__(self, key: Any) -> Any:
        return index(self, key)

    def __contains__(self, item: Any) -> bool:
        return contains(self, item)

    def __len__(self) -> int:
        return len(self.as_map())

    def __eq__(self, other: object) -> bool:
        return eq(self, other)

    __hash__ = None  # type: ignore[assignment]

    def iterate(self) -> list[str]:
        """The names of the fields, over which ``each`` iterates."""
        return list(self.as_map())

    def display(self) -> str:
        from language.values.display import display

        return display(self.as_map())


def text_response(body: str, content_type: str = "text/html; charset=utf-8", status: int = 200) -> ResponseValue:
    """A raw response of text, as ``html``, ``respond`` and ``render`` return it."""
    return ResponseValue("raw", body, status, content_type)
