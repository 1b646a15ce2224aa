"""The plain description of a service, from which the documents about it are made."""

from __future__ import annotations

from typing import NamedTuple

from language.serve.routes import split

DEFAULT_TITLE = "Program service"
DEFAULT_VERSION = "0.0.0"
WINDOWS = {1: "second", 60: "minute", 3600: "hour"}


class RouteInfo(NamedTuple):
    """One route as it is published.

    ``path`` is its pattern; ``kind`` is ``handler``, ``stream``, ``socket`` or ``proxy``; ``gives`` are forms with blanks
    between them: ``json``, ``html``, ``content`` (HTML, Markdown or JSON as asked), ``redirect``, media types, each with ``@``
    and its status where that is not 200; ``expect`` are the fields of its body with their types; ``limit`` is how many requests
    in how many seconds, ``timeout`` is in seconds; ``capabilities`` are those it may use (``net:api.x.com``).
    """

    method: str
    path: str
    auth: bool = False
    kind: str = "handler"
    gives: str = "json"
    expect: tuple[tuple[str, str], ...] | None = None
    limit: tuple[float, int] | None = None
    timeout: float | None = None
    capabilities: tuple[str, ...] = ()

    @property
    def spec(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def segments(self) -> list[str]:
        return split(self.path)

    @property
    def has_parameters(self) -> bool:
        return any(segment[0] in ":*" for segment in self.segments)


class Service(NamedTuple):
    """One table of routes and what the program says of it; ``domain`` is the name it is known by, where one is declared."""

    routes: tuple[RouteInfo, ...] = ()
    about: str | None = None
    intent: str | None = None
    api: tuple[str, ...] = ()
    version: str | None = None
    domain: str | None = None
    private: bool = False
    docs: bool = True

    @property
    def title(self) -> str:
        return self.about or self.intent or DEFAULT_TITLE

    @property
    def summary(self) -> str | None:
        """The intent of the program, unless it is the title."""
        return self.intent if self.intent and self.intent != self.title else None

    @property
    def sorted_routes(self) -> list[RouteInfo]:
        return sorted(self.routes, key=lambda route: (route.path, route.method))

    def note_of(self, route: RouteInfo) -> str | None:
        """The entry of ``api`` that starts with exactly the route."""
        for entry in self.api:
            if entry.startswith(route.spec) and not entry[len(route.spec) :][:1].strip():
                return entry
        return None
