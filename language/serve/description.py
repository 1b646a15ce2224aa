"""The description of a service, from which its documents (OpenAPI, ``llms.txt``, the reference page) are made."""

from __future__ import annotations

from typing import NamedTuple

from language.serve.routes import split

DEFAULT_TITLE = "Program service"
DEFAULT_VERSION = "0.0.0"
WINDOWS = {1: "second", 60: "minute", 3600: "hour"}


class RouteInfo(NamedTuple):
    """One route as it is published.

    Args:
        path: its pattern.
        kind: ``handler``, ``stream``, ``socket`` or ``proxy``.
        gives: the forms of its replies, separated by blanks: ``json``, ``html``, ``content`` (HTML, Markdown or JSON as the
            client asks), ``redirect``, media types; each with ``@`` and its status unless that is 200.
        expect: the declared fields (name, type, whether optional) of each of ``body``, ``form`` and ``query``.
        limit: how many requests in how many seconds.
        timeout: in seconds.
        capabilities: those it may use (``net:api.x.com``).
        tools: whether it is a tool server.
    """

    method: str
    path: str
    auth: bool = False
    kind: str = "handler"
    gives: str = "json"
    expect: tuple[tuple[str, tuple[tuple[str, str, bool], ...]], ...] = ()
    limit: tuple[float, int] | None = None
    timeout: float | None = None
    capabilities: tuple[str, ...] = ()
    tools: bool = False

    def expected(self, place: str) -> tuple[tuple[str, str, bool], ...] | None:
        """The declared fields of ``body``, ``form`` or ``query``; ``None`` without a declaration."""
        return dict(self.expect).get(place)

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
    """One table of routes and what the program describes of it; ``domain`` is its host name, if one is declared."""

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
        """The entry of ``api`` that starts with the method and path of the route."""
        for entry in self.api:
            if entry.startswith(route.spec) and not entry[len(route.spec) :][:1].strip():
                return entry
        return None
