"""The values of content trees: nodes, and trees that a route returns for content negotiation."""

from __future__ import annotations

from language.values.operators import contains, eq, index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from language.values import Secret

    class Drawn(Protocol):
        """The content of a node beyond its fields: a chart."""

        def svg(self) -> str:
            """The drawing as SVG."""

        def markdown(self) -> str:
            """The data as a table."""

        def fields(self) -> dict[str, Any]:
            """The data as the fields of the node."""


class Fields(dict):  # type: ignore[type-arg]
    """The fields of a node as a map.

    ``type`` is a keyword of the language, so programs can also read the kind of a node as ``kind``. ``kind`` is not an entry of
    the map, unless the node has a field of that name (a chart).
    """

    __slots__ = ()

    language_type = "map"

    def __missing__(self, name: str) -> Any:
        if name == "kind":
            return self["type"]
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return name == "kind" or dict.__contains__(self, name)

    def as_map(self) -> dict[str, Any]:
        return dict(self)

    def rebuilt(self, change: Callable[[Any], Any]) -> Fields:
        """The same fields with each value replaced by ``change(value)``."""
        return Fields({name: change(value) for name, value in self.items()})


class ContentNode:
    """One node of a content tree: an immutable value. Programs see it as the map of its JSON form.

    ``kind`` is the name of its builder. ``values`` are its fields in the order of the JSON form, without those that are
    ``nothing``. ``drawn`` is set on charts, whose fields come from it.
    """

    __slots__ = ("drawn", "kind", "values")

    language_type = "map"

    def __init__(self, kind: str, values: dict[str, Any], drawn: Drawn | None = None) -> None:
        self.kind = kind
        self.values = {name: value for name, value in values.items() if value is not None}
        self.drawn = drawn

    def rebuilt(self, change: Callable[[Any], Any]) -> ContentNode:
        """The same node with each field replaced by ``change(field)``."""
        return ContentNode(self.kind, {name: change(value) for name, value in self.values.items()}, self.drawn)

    def as_map(self) -> dict[str, Any]:
        """The JSON form; inner nodes stay nodes."""
        values = self.values if self.drawn is None else self.drawn.fields()
        return Fields({"type": self.kind, **values})

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
        """The names of the fields, which ``each`` iterates over."""
        return list(self.as_map())

    def display(self) -> str:
        from language.values.display import display

        return display(self.as_map())


class ContentValue:
    """A tree for content negotiation: its reply is HTML, Markdown or JSON, as the client prefers. Programs see the tree."""

    __slots__ = ("tree",)

    language_type = "map"
    negotiable = True

    def __init__(self, tree: ContentNode) -> None:
        self.tree = tree

    def rendered(
        self, form: str, on_secret: Callable[[Secret], None] | None = None, stylesheet: str | None = None
    ) -> tuple[str, str]:
        """The ``Content-Type`` and the body for ``html``, ``markdown`` or ``json``.

        ``on_secret`` is called for each secret that the body shows redacted; ``stylesheet`` is the URL for a page that
        names none.
        """
        from stdlib.content_forms import render_content

        return render_content(self.tree, form, on_secret, stylesheet)

    def rebuilt(self, change: Callable[[Any], Any]) -> ContentValue:
        """The same content with the tree replaced by ``change(tree)``."""
        return ContentValue(change(self.tree))

    def as_map(self) -> dict[str, Any]:
        return self.tree.as_map()

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
        return self.tree.iterate()

    def display(self) -> str:
        return self.tree.display()
