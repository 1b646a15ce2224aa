"""Finds the route that answers a request. Patterns are tried by specificity, not in the order of declaration
(docs/serve.md).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from language.serve.expectations import Fields

LITERAL, PARAMETER, REST = 0, 1, 2
#: Candidates are cached for paths with at most this many segments; longer paths are rare.
_REMEMBERED = 32


class Route:
    """One route. ``handler`` is the index of its handler among the functions of the application.

    ``rate`` is ``(amount, seconds)``, ``None`` to inherit that of the block, ``()`` for no limit; ``timeout`` is in seconds,
    ``None`` to inherit, 0 for none. ``target`` is where a proxy route goes: host, port, base path.
    """

    __slots__ = (
        "at", "auth", "expect", "fields", "gives", "handler", "kind", "limiter", "method", "names", "path", "rate",
        "segments", "target", "templates", "timeout", "tools", "uses",
    )  # fmt: skip

    def __init__(self, facts: dict[str, Any], at: tuple[int, int], path: str) -> None:
        self.method: str = facts["method"]
        self.path = path
        self.at = at
        self.auth: bool = facts["auth"]
        self.kind: str = facts["kind"]
        self.names: tuple[str, ...] = facts["names"]
        self.fields: tuple[str, ...] | None = facts["fields"]
        #: the fields that `expect` declares, for each of `body`, `form` and `query`
        self.expect: tuple[tuple[str, Fields], ...] = facts["expect"]
        self.gives: str = facts["gives"]
        self.templates: tuple[str, ...] = facts["templates"]
        #: whether it gives `mcp_reply`
        self.tools: bool = facts["tools"]
        #: names of the capabilities that it may use
        self.uses: tuple[str, ...] = facts["uses"]
        self.segments = parse_pattern(path)
        self.handler = -1
        self.rate: tuple[float, int] | tuple[()] | None = None
        self.timeout: float | None = None
        self.target: tuple[str, int, str] | None = None
        self.limiter: Any = None

    @property
    def spec(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def key(self) -> tuple[int, ...]:
        """The ranks of its segments: routes are tried in ascending order."""
        return tuple(rank for rank, _ in self.segments)

    @property
    def ends_in_parameter(self) -> bool:
        return bool(self.segments) and self.segments[-1][0] == PARAMETER

    def match(self, parts: list[str]) -> dict[str, Any] | None:
        """The parameters if the segments of a path match, else ``None``."""
        params: dict[str, Any] = {}
        for index, (rank, text) in enumerate(self.segments):
            if rank == REST:
                rest = parts[index:]
                if not rest:
                    return None
                params[text] = "/".join([decoded(part) for part in rest])
                return params
            if index >= len(parts):
                return None
            if rank == LITERAL:
                if parts[index] != text:
                    return None
            else:
                params[text] = decoded(parts[index])
        return params if len(parts) == len(self.segments) else None


def parse_pattern(path: str) -> tuple[tuple[int, str], ...]:
    """The segments of a route's path, each with its rank; ``/a``, ``/a/`` and ``//a`` are one path."""
    segments = []
    for part in split(path):
        if part.startswith(":"):
            segments.append((PARAMETER, part[1:]))
        elif part.startswith("*"):
            segments.append((REST, part[1:]))
        else:
            segments.append((LITERAL, part))
    return tuple(segments)


def split(path: str) -> list[str]:
    """The segments of a path, empty ones dropped."""
    return [part for part in path.split("/") if part]


def decoded(text: str) -> str:
    """A path segment, percent-decoded as UTF-8 with replacement characters. ``+`` is not decoded."""
    if "%" not in text:
        return text
    from urllib.parse import unquote

    return unquote(text, errors="replace")


class RouteTable:
    """The routes of one host, indexed for the search."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = sorted(routes, key=lambda route: route.key)  # a stable sort: equal ranks keep the order of declaration
        self._literal: dict[str, list[Route]] = {}
        self._patterns: list[Route] = []
        for route in self.routes:
            if all(rank == LITERAL for rank, _ in route.segments):
                self._literal.setdefault("/" + "/".join(text for _, text in route.segments), []).append(route)
            else:
                self._patterns.append(route)
        self._by_length: dict[int, list[Route]] = {}
        self._exact = {(route.method, path): route for path, found in self._literal.items() for route in reversed(found)}

    def find(self, method: str, path: str) -> tuple[Route, dict[str, Any]] | None:
        """The route and its parameters; ``None`` if no route matches path and method."""
        route = self._exact.get((method, path))
        if route is not None:
            return route, {}
        parts = split(path)
        route = self._exact.get((method, "/" + "/".join(parts)))
        if route is not None:
            return route, {}
        for route in self._candidates(len(parts)):
            if route.method == method:
                params = route.match(parts)
                if params is not None:
                    return route, params
        return None

    def methods(self, path: str) -> list[str]:
        """The methods under which a path is known, sorted; empty for an unknown path."""
        parts = split(path)
        found = {route.method for route in self._literal.get("/" + "/".join(parts), ())}
        found.update(route.method for route in self._candidates(len(parts)) if route.match(parts) is not None)
        return sorted(found)

    def _candidates(self, length: int) -> list[Route]:
        known = self._by_length.get(length)
        if known is None:
            known = [
                route
                for route in self._patterns
                if (len(route.segments) <= length if route.segments[-1][0] == REST else len(route.segments) == length)
            ]
            if length <= _REMEMBERED:
                self._by_length[length] = known
        return known
